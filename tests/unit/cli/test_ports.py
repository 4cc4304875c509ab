"""Ports that stay ours."""

import gc
import socket

import pytest

from stud_cli.local.ports import Port


def test_a_port_is_free_for_us_and_for_nobody_else():
    port = Port()
    with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
        stranger.bind(("127.0.0.1", port.number))
    with socket.socket() as ours:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        ours.bind(("127.0.0.1", port.number))
        ours.listen()
        with pytest.raises(OSError, match="in use"):  # somebody listens there
            Port(port.number)
        with socket.create_connection(("127.0.0.1", port.number)):
            assert port.address == f"127.0.0.1:{port.number}"


def test_nobody_is_given_it_by_chance():
    """Neither as a free port nor as the near end of a connection, however many are asked for."""
    held = {Port().number for _ in range(200)}
    assert len(held) > 100  # given back at once, so some come twice
    ports = [Port() for _ in range(300)]
    numbers = {port.number for port in ports}
    assert len(numbers) == 300
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = [socket.create_connection(server.getsockname()) for _ in range(50)]
        assert not numbers & {end.getsockname()[1] for end in near}
        for end in near:
            end.close()


def test_it_is_given_back_with_the_object():
    port = Port()
    number = port.number
    del port
    gc.collect()
    with socket.socket() as anybody:
        anybody.bind(("127.0.0.1", number))
