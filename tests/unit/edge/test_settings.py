"""What can be set for the edge."""

from __future__ import annotations

from pathlib import Path

import pytest

from edge_service.settings import EdgeSettings, load_settings
from stud_service.settings import SettingsError
from stud_topology.services import EDGE


def test_nothing_is_needed():
    settings = load_settings([], {})
    assert settings == EdgeSettings()
    assert (settings.listen, settings.metrics_port) == (EDGE.address, EDGE.metrics_port)


@pytest.mark.parametrize(
    ("environ", "arguments", "listen"),
    [
        ({"STUD_LISTEN": "h:1"}, [], "h:1"),
        ({"STUD_LISTEN": "h:1", "STUD_EDGE_LISTEN": "h:2"}, [], "h:2"),
        ({"STUD_EDGE_LISTEN": "h:2"}, ["--listen", "h:3"], "h:3"),
    ],
)
def test_where_it_listens_is_said_as_to_a_service(environ: dict[str, str], arguments: list[str], listen: str):
    assert load_settings(arguments, environ).listen == listen


def test_origins_are_told_as_browsers_send_them():
    text = "https://play.example.com, http://localhost:5173,https://play.example.com"
    settings = load_settings([], {"STUD_EDGE_ORIGINS": text})
    assert settings.edge_origins == ("https://play.example.com", "http://localhost:5173")
    assert load_settings([], {"STUD_EDGE_ORIGINS": "*"}).edge_origins == ("*",)


@pytest.mark.parametrize(
    ("variable", "text", "wanted"),
    [
        ("STUD_EDGE_ORIGINS", "play.example.com", "want origins such as"),
        ("STUD_EDGE_ORIGINS", "https://play.example.com/", "want origins such as"),
        ("STUD_EDGE_ORIGINS", "https://a b", "want"),
        ("STUD_EDGE_ORIGINS", "https://h:0", "want a port"),
        ("STUD_EDGE_TLS_CERT", "/nonexistent/cert.pem", "want a file"),
        ("STUD_EDGE_SEND_WITHIN_MS", "0", "want a whole number from 1"),
        ("STUD_EDGE_CONNECTIONS_PER_ADDRESS", "many", "want a whole number from 1"),
    ],
)
def test_what_cannot_be_used_is_told_by_its_variable(variable: str, text: str, wanted: str):
    with pytest.raises(SettingsError, match=f"{variable}: .*{wanted}"):
        load_settings([], {variable: text})


def test_a_certificate_and_its_key_come_together(tmp_path: Path):
    (tmp_path / "cert.pem").touch()
    with pytest.raises(SettingsError, match="want both or neither"):
        load_settings([], {"STUD_EDGE_TLS_CERT": str(tmp_path / "cert.pem")})
    assert load_settings([], {"STUD_EDGE_TLS_CERT": "", "STUD_EDGE_PAGES": ""}) == EdgeSettings()


def test_help_names_every_variable(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        load_settings(["--help"], {})
    said = capsys.readouterr().out
    assert [name for name in EdgeSettings.__struct_fields__ if f"STUD_{name.upper()} " not in said] == []
