"""`stud replay --as` on a log: own cards are opened, or why they are not is said, wherever somebody looks."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from stud.common.v1 import card_pb2
from stud.dealer.v1 import dealer_service_pb2 as pb
from stud_cli.local.log_server import EmbeddedServer
from stud_cli.replay.own_cards import Services
from stud_client import StudError
from stud_core import events as ev
from stud_service.keyring import ensure_dev_keys
from tests.component.test_cli_on_a_log import HISTORY, asked, run, write
from tests.support.history import TABLE, T


@pytest.fixture
def url(valkey_server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A log with a closed table, named by STUD_REDIS_URL; no keys at hand."""
    asyncio.run(write(valkey_server.url, HISTORY))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STUD_REDIS_URL", valkey_server.url)
    return valkey_server.url


def test_through_a_players_eyes_cards_of_a_finished_hand_are_asked_for_and_why_not_is_said(
    url: str, monkeypatch: pytest.MonkeyPatch
):
    """In the middle of a hand that was finished later: nobody says who asks, or there is no dealer."""
    ensure_dev_keys(Path("keys"))
    monkeypatch.setenv("STUD_KEYS_DIR", "keys")
    at = str(HISTORY.version_of(TABLE, ev.CardsDealt, 3))
    for words, why in (
        ((), "no --reason was given"),
        (("--reason", "asked"), "nobody can be asked to open them: say who asks"),
        (
            ("--reason", "asked", "--auditor", "ann", "--endpoints", "dealer=127.0.0.1:1"),
            "the dealer does not open them: U",
        ),
    ):
        shown = run("replay", T, "--at", at, "--as", "ada", *words)
        assert shown.exit_code == 0, shown.output
        assert f"cards of ada stay face down: {why}" in " ".join(shown.stdout.split())
        steps = run("replay", T, "--hand", "1", "--as", "ada", *words)
        assert steps.stdout.count("cards of ada stay face down") == 1
        code, told = asked("replay", T, "--at", at, "--as", "ada", *words)
        assert (code, why in told["sealed"], "down" in told["mine"]) == (0, True, False)
        assert (told["log"]["actor"], told["log"]["cause"]) == ("", None)


def steps_of_ada(*words: str) -> tuple[str, list[dict[str, Any]]]:
    """What a replay through ada's eyes prints, and its JSON lines."""
    words = ("replay", T, *words, "--as", "ada", "--auditor", "ann", "--reason", "asked")
    shown, lines = run(*words), run(*words, "--json")
    assert (shown.exit_code, lines.exit_code) == (0, 0), shown.output + lines.output
    return " ".join(shown.stdout.split()), [json.loads(line) for line in lines.stdout.splitlines()]


async def three_spades(*_: object) -> pb.AuditDownCardsResponse:
    return pb.AuditDownCardsResponse(cards=[card_pb2.CARD_4S, card_pb2.CARD_5S, card_pb2.CARD_6S], proven=True)


@pytest.mark.parametrize("place", ["--at", "--range", "--hand"])
def test_every_look_into_a_finished_hand_opens_its_cards_wherever_it_ends(
    url: str, monkeypatch: pytest.MonkeyPatch, place: str
):
    """Whether a hand is over is what the whole log says, not how far somebody looks."""
    monkeypatch.setattr(Services, "AuditDownCards", three_spades)
    dealt = HISTORY.version_of(TABLE, ev.CardsDealt, 1)
    words = {"--at": (str(dealt),), "--range": (str(dealt - 1), str(dealt)), "--hand": ("1",)}[place]
    text, lines = steps_of_ada(place, *words)
    assert "ada has [4♠ 5♠] face down" in text
    assert ("[4♠ 5♠ 6♠] face down" in text) == (place == "--hand")
    assert "is not over" not in text
    assert not any(line.get("sealed") for line in lines)
    opened = [line["mine"]["down"] for line in lines if line.get("mine", {}).get("down")]
    assert opened[0] == ["CARD_4S", "CARD_5S"]


def test_steps_say_why_a_player_of_the_hand_may_not_look(url: str, monkeypatch: pytest.MonkeyPatch):
    async def refused(*_: object) -> pb.AuditDownCardsResponse:
        raise StudError("OWN_INTEREST", "ann was dealt into hand 1")

    monkeypatch.setattr(Services, "AuditDownCards", refused)
    text, lines = steps_of_ada("--hand", "1")
    assert "cards of ada stay face down: the dealer does not open them: OWN_INTEREST" in text
    assert any("OWN_INTEREST" in line.get("sealed", "") for line in lines)


def test_a_version_at_which_a_player_had_no_cards_says_so(url: str):
    at = HISTORY.version_of(TABLE, ev.HandEnded, 1)
    text, _ = steps_of_ada("--at", str(at))
    assert f"ada has no cards at version {at}: --hand N shows" in text
    assert "ada has no cards in versions 1 to 3: --hand N shows" in steps_of_ada("--range", "1", "3")[0]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--reason", "x"], "name the player with --as"),
        (["--auditor", "x"], "name the player with --as"),
        (["--reason", ""], "name the player with --as"),
        (["--as", "ada", "--reason", " "], "--reason: reason is empty: want 1 to 500 characters"),
        (["--as", "ada", "--reason", ""], "--reason: reason is empty: want 1 to 500 characters"),
        (["--as", "ada", "--reason", "x" * 600], "--reason: reason has 600 characters: want 1 to 500"),
        (["--as", "ada", "--events"], "want --hand or --range with --as"),
        (["--as", "ada", "--diff", "3", "5"], "--diff and --index say what everybody saw"),
        (["--as", "ada", "--index"], "--diff and --index say what everybody saw"),
        (["--as", "nobody"], "nobody was dealt into no hand of table t-1"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_eyes_that_cannot_be_looked_through(url: str, words: list[str], told: str):
    ended = run("replay", T, *words)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert told in " ".join(ended.stderr.split())
