"""What bots hold the system to: versions, verdicts, money."""

import pytest

from stud_load.checks import Book, HandsCheck, StreamCheck
from stud_load.violations import KEPT, Rule, Violations


def seen(*stream: str) -> list[str]:
    """What is found on a stream: "5" an update, "5r" a full view, "open" a stream that is opened (again)."""
    violations = Violations()
    check = StreamCheck("t v", violations)
    for word in stream:
        if word == "open":
            check.opened()
        else:
            check.take(int(word.rstrip("r")), reset=word.endswith("r"))
    return violations.told


@pytest.mark.parametrize(
    "stream",
    [
        ["open", "5r", "6", "7"],
        ["open", "5r", "5r", "6", "6r", "7"],
        ["open", "5r", "6", "open", "7", "8", "8r", "9"],
        ["open", "5r", "6", "open", "6r", "7"],
        ["open", "5r", "6", "open", "900r", "901"],
    ],
)
def test_what_a_stream_may_bring(stream: list[str]):
    assert seen(*stream) == []


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        (["open", "5r", "7"], "version missed: t v: version 7 came after version 5"),
        (["open", "5r", "6", "6"], "version repeated: t v: version 6 came after version 6"),
        (["open", "5r", "6", "5"], "version repeated: t v: version 5 came after version 6"),
        (["open", "5r", "7r"], "version missed: t v: version 7 came after version 5"),
        (["open", "5r", "6", "4r"], "version repeated: t v: version 4 came after version 6"),
        (["open", "5r", "6", "open", "8", "8r"], "version missed: t v: version 8 came after version 6"),
        (["open", "5r", "6", "open", "6", "6r"], "version repeated: t v: version 6 came after version 6"),
        (["open", "5r", "6", "open", "7", "9r"], "version missed: t v: version 9 came after version 7"),
        (["open", "5r", "6", "open", "5r"], "version repeated: t v: version 5 came after version 6"),
    ],
)
def test_what_it_must_not_bring(stream: list[str], said: str):
    assert seen(*stream) == [said]


def test_a_book_that_agrees():
    violations = Violations()
    book = Book("ada")
    book.deposited, book.results = 1000, -300
    book.check(700, 0, violations)
    assert violations.told == []


@pytest.mark.parametrize(("balance", "at_tables"), [(701, 0), (699, 0), (600, 100), (0, 700)])
def test_a_book_that_does_not(balance: int, at_tables: int):
    violations = Violations()
    book = Book("ada")
    book.deposited, book.results = 1000, -300
    book.check(balance, at_tables, violations)
    assert violations.counts == {Rule.BOOK: 1}
    assert f"the wallet has {balance} and {at_tables}" in violations.told[0]


def test_hands_that_were_not_verified():
    violations = Violations()
    hands = HandsCheck("t", violations)
    hands.hand_began(1)
    assert hands.hand_ended(1)
    assert not hands.hand_ended(1)
    hands.hand_verified(1)
    hands.hand_began(2)
    hands.check_end()
    assert violations.told == []
    hands.hand_ended(2)
    hands.check_end()
    hands.hand_began(3)
    hands.disputed(3)
    assert violations.counts == {Rule.VERDICT: 3}


def test_hands_that_nobody_saw():
    hands = HandsCheck("t", Violations())
    hands.hand_ended(4)
    assert hands.unseen == 3


def test_not_everything_is_told_but_all_is_counted():
    violations = Violations()
    for number in range(2 * KEPT):
        violations.add(Rule.MISSED, str(number))
    assert len(violations.told) == KEPT
    assert violations.counts[Rule.MISSED] == 2 * KEPT
