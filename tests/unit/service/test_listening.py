"""Whoever cannot listen is told why."""

import errno
import socket

import pytest

from stud_service.listening import why_cannot_listen


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "[::1]")])
def test_a_port_that_is_taken(family: socket.AddressFamily, host: str):
    with socket.create_server((host.strip("[]"), 0), family=family) as taken:
        assert why_cannot_listen(f"{host}:{taken.getsockname()[1]}") == "it is in use"


@pytest.mark.parametrize("host", ["192.0.2.1", "203.0.113.9", "[2001:db8::1]"])
def test_an_address_of_another_machine(host: str):
    assert why_cannot_listen(f"{host}:7101") == f"{host} is no address of this machine"


@pytest.mark.parametrize("host", ["foo.invalid", "no-such-host.invalid", "[::1%nowhere]"])
def test_a_host_that_is_unknown(host: str):
    assert why_cannot_listen(f"{host}:7101").startswith(f"{host} cannot be resolved (")


def test_what_is_free_again():
    assert why_cannot_listen("127.0.0.1:0") == "it was in use a moment ago"


def test_what_is_forbidden(monkeypatch: pytest.MonkeyPatch):
    class Forbidden(socket.socket):
        def bind(self, *_: object) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket, "socket", Forbidden)
    assert why_cannot_listen("127.0.0.1:80") == "permission denied"
