"""``stud keys``: the development key gets a successor, tokens are revoked; what services trust is what it writes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stud_cli.main import app
from stud_service.refusals import Refused
from stud_service.revocations import revoked_in
from stud_service.rotating import rotate
from stud_service.settings import ServiceSettings
from stud_service.signing_keys import key_name, load_private_key
from stud_service.tokens import Verifier, mint
from stud_service.trust import Trust
from tests.support.issuer import ED_KEY, jwk, jwks

KEYS = Path("var/keys")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: str) -> Any:
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})


def told(*words: str) -> dict[str, Any]:
    ended = run(*words, "--json")
    assert ended.exit_code == 0, ended.output
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def says(token: str) -> str:
    try:
        Verifier(Trust(ServiceSettings(build="t")).trusted).caller_of(token)
    except Refused as why:
        return why.reason
    return "fine"


def test_tokens_of_the_old_key_are_good_until_it_is_forgotten():
    tokens = [told("token", "alice")["token"]]
    kids = []
    for _ in range(2):
        kids.append(told("keys", "rotate")["kid"])
        tokens.append(told("token", "alice")["token"])
    assert [says(token) for token in tokens] == ["fine"] * 3
    assert [row["kid"] for row in told("keys", "show")["keys"]][:2] == kids[::-1]
    kids.append(told("keys", "rotate", "--forget")["kid"])
    assert [says(token) for token in tokens] == ["UNAUTHENTICATED"] * 3
    assert says(told("token", "alice")["token"]) == "fine"
    assert {row["kid"] for row in told("keys", "show")["keys"]} == {"", kids[-1]}


def test_the_new_key_is_published_before_it_signs():
    told("token", "alice")
    seen: list[tuple[int, str]] = []

    def published() -> None:
        token = mint("alice", ["player"], 60, load_private_key(KEYS))
        seen.append((len(json.loads((KEYS / "jwks.json").read_text())["keys"]), says(token)))

    before = load_private_key(KEYS).public_key()
    kid = rotate(ServiceSettings(build="t"), forget=False, published=published)
    assert seen == [(2, "fine")]
    assert kid == key_name(load_private_key(KEYS).public_key()) != key_name(before)


def test_the_file_of_keys_does_not_grow_for_ever():
    first = told("token", "alice")["token"]
    for _ in range(9):
        told("keys", "rotate")
    assert len(json.loads((KEYS / "jwks.json").read_text())["keys"]) == 8
    assert says(first) == "UNAUTHENTICATED"


@pytest.mark.parametrize("done", ["jwks.json", "jwks.json jwt-public.pem"])
def test_a_rotation_that_was_cut_short_shuts_nobody_out(done: str):
    """Only the first of the three files were written."""
    old = told("token", "alice")["token"]
    before = {path.name: path.read_bytes() for path in KEYS.iterdir()}
    told("keys", "rotate")
    for name, data in before.items():
        if name not in done.split():
            (KEYS / name).write_bytes(data)
    assert says(old) == "fine"
    assert says(told("token", "alice")["token"]) == "fine"
    told("keys", "rotate")
    assert says(old) == "fine"


def test_keys_of_an_issuer_elsewhere_are_for_it_to_rotate():
    told("token", "alice")
    (KEYS / "jwks.json").write_bytes(jwks(jwk(ED_KEY, "theirs")))
    before = {path.name: path.read_bytes() for path in KEYS.iterdir()}
    ended = run("keys", "rotate")
    assert ended.exit_code == 2
    assert "an issuer elsewhere" in ended.stderr
    assert {path.name: path.read_bytes() for path in KEYS.iterdir()} == before
    (KEYS / "jwt-private.pem").unlink()
    assert "there is no jwt-private.pem" in run("keys", "rotate").stderr


def test_a_token_is_revoked_by_its_id_or_by_itself():
    told("token", "init")
    key = load_private_key(KEYS)
    tokens = [mint("alice", ["player"], 600, key, token_id=token_id) for token_id in ("a", "b", "c")]
    Path("b.token").write_text(tokens[1] + "\n")
    assert told("keys", "revoke", "a")["on_the_list"] == 1
    assert told("keys", "revoke", "--token-file", "b.token")["on_the_list"] == 2
    assert [says(token) for token in tokens] == ["TOKEN_REVOKED", "TOKEN_REVOKED", "fine"]
    assert set(told("keys", "show")["revoked"]) == {"a", "b"}
    ends = revoked_in((KEYS / "revoked.txt").read_bytes())
    assert abs(ends["b"] - time.time() - 600) < 60  # as long as the token itself
    assert ends["a"] - time.time() > 300 * 86_400  # nobody knows: as long as one may be
    assert told("keys", "revoke", "a", "--ttl", "5")["on_the_list"] == 2
    assert revoked_in((KEYS / "revoked.txt").read_bytes())["a"] == ends["a"]  # never for less than before


def test_what_has_ended_leaves_the_list():
    told("token", "init")
    (KEYS / "revoked.txt").write_text("old 1000\n")
    assert told("keys", "revoke", "a", "--ttl", "60")["on_the_list"] == 1


@pytest.mark.parametrize(
    "words", [[], ["two words"], ["x" * 129], ["a\nb"], ["--token-file", "nowhere"], ["--token-file", "junk"]]
)
def test_what_cannot_be_revoked_is_told(words: list[str]):
    told("token", "init")
    Path("junk").write_text("junk")
    ended = run("keys", "revoke", *words)
    assert ended.exit_code == 2
    assert "want" in ended.stderr
    assert not (KEYS / "revoked.txt").exists()


def test_a_list_that_nobody_understands_is_not_written_over():
    told("token", "init")
    (KEYS / "revoked.txt").write_text("what is this?")
    assert "line 1: want" in run("keys", "revoke", "a").stderr
    assert (KEYS / "revoked.txt").read_text() == "what is this?"
    assert "line 1: want" in run("keys", "show").stderr
