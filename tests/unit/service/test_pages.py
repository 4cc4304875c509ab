"""Page tokens: they lead on where they were made, and nowhere else, whatever is sent as one."""

import base64
import random
import string

import pytest

from stud_service.pages import MAX_PAGE, MAX_TOKEN, make_token, page_size, read_token
from stud_service.refusals import Refused

QUESTION = ("tables", "EUR", False)
POSITIONS = [
    "t-1",
    "x" * 64,
    "",
    0,
    7,
    2**62,
    (5, "player:ann"),
    (2**62, "escrow:" + "t" * 64 + ":9223372036854775807"),
]


def refused(question: tuple[str | bool, ...], token: str, kind: type) -> None:
    with pytest.raises(Refused) as caught:
        read_token(question, token, kind)
    assert (caught.value.reason, caught.value.metadata) == ("INVALID_FIELD", {"field": "page_token"})
    assert "next_page_token" in caught.value.text


@pytest.mark.parametrize("position", POSITIONS, ids=str)
def test_a_token_leads_back_to_its_position_for_the_same_question_only(position):
    kind = tuple[int, str] if isinstance(position, tuple) else type(position)
    token = make_token(QUESTION, position)
    assert len(token) <= MAX_TOKEN
    assert read_token(QUESTION, token, kind) == position
    others = [("tables", "EUR", True), ("tables", "CAD", False), ("tables", "", False), ("transfers", "EUR", False)]
    for other in [*others, ("tables", "EUR"), ("tables", "EUR", False, "")]:
        refused(other, token, kind)


def test_no_token_is_the_first_page():
    assert read_token(QUESTION, "", str) is None


def spoiled(token: str) -> list[str]:
    data = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    flipped = [bytes([*data[:n], data[n] ^ 1, *data[n + 1 :]]) for n in range(len(data))]
    return [
        *[base64.urlsafe_b64encode(other).decode().rstrip("=") for other in flipped],
        *[token[:n] for n in range(1, len(token))],
        token + "A",
        token + "=",
        token + " ",
        " " + token,
        token.swapcase(),
        token * 2,
        token + "=" * (-len(token) % 4 or 4),
    ]


@pytest.mark.parametrize("position", ["t-1", 7, (5, "player:ann")], ids=str)
def test_a_token_that_was_changed_is_refused(position):
    kind = tuple[int, str] if isinstance(position, tuple) else type(position)
    for other in spoiled(make_token(QUESTION, position)):
        refused(QUESTION, other, kind)


def test_whatever_is_sent_as_a_token_is_refused_and_never_a_fault():
    rng = random.Random(1)
    junk = [
        "0",
        "-1",
        "null",
        "\x00",
        "\u20ac",
        "\U0001f0a1" * 99,
        "=",
        "====",
        "A" * 100_000,
        "/+/+",
        "%41",
        "t-1",
        "[]",
        "{}",
    ]
    junk += ["".join(rng.choices(string.printable, k=rng.randrange(1, 80))) for _ in range(500)]
    junk += [base64.urlsafe_b64encode(rng.randbytes(rng.randrange(80))).decode() or "x" for _ in range(500)]
    for token in junk:
        for kind in (str, int, tuple[int, str]):
            refused(QUESTION, token, kind)


def test_a_page_has_a_size():
    assert [page_size(asked, 100) for asked in (0, 1, 100, MAX_PAGE)] == [100, 1, 100, MAX_PAGE]
    for asked in (-1, MAX_PAGE + 1, -(2**31), 2**31 - 1):
        with pytest.raises(Refused) as caught:
            page_size(asked, 100)
        wanted = {"field": "page_size", "min": "0", "max": str(MAX_PAGE)}
        assert (caught.value.reason, caught.value.metadata) == ("INVALID_FIELD", wanted)
