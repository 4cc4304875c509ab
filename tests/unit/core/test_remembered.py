"""Accepted calls, small enough to be kept for good."""

import tracemalloc
from hashlib import sha256

from stud_core.remembered import CONTENT_SIZE, NAME_SIZE, First, Generations, Remembered, name_of

CONTENT, OTHER = sha256(b"content").digest(), sha256(b"other").digest()


def test_the_first_answer_is_kept_and_its_content_told_apart():
    known = Remembered()
    known.put(name_of("ada", "r"), CONTENT, 7, 2**62)
    first = known.get(name_of("ada", "r"))
    assert first == First(CONTENT[:CONTENT_SIZE], 7, 2**62)
    assert first is not None
    assert first.repeats(CONTENT)
    assert not first.repeats(OTHER)
    assert known.get(name_of("bea", "r")) is None


def test_a_name_is_one_callers_one_request():
    calls = [("a", "bc"), ("ab", "c"), ("1:a", "b"), ("", "abc"), ("abc", ""), ("a", "b"), ("1", "1"), ("11", "")]
    names = {name_of(caller, request_id) for caller, request_id in calls}
    assert len(names) == len(calls)
    assert {len(name) for name in names} == {NAME_SIZE}


def test_what_is_forgotten_is_not_known():
    known = Remembered()
    for version in range(5):
        known.put(name_of("ada", str(version)), CONTENT, version)
    known.keep(3)
    assert [known.get(name_of("ada", str(version))) is not None for version in range(5)] == [False] * 2 + [True] * 3
    known.forget(name_of("ada", "4"))
    known.forget(name_of("ada", "4"))
    assert len(known) == 2


def test_what_is_put_without_its_name_is_forgotten_with_its_hand():
    known = Generations()
    known.put_unnamed("ada", "r", CONTENT, 1)
    known.turn()
    assert known.get(name_of("ada", "r")) == First(CONTENT[:CONTENT_SIZE], 1)
    known.put_unnamed("ada", "s", CONTENT, 2)
    known.turn()
    assert [known.get(name_of("ada", request)) is not None for request in "rs"] == [False, True]


def test_what_is_put_without_its_name_is_found_by_it():
    named, unnamed = Remembered(), Remembered()
    for version, request in enumerate("rsr"):
        named.put(name_of("ada", request), CONTENT, version, 9)
        unnamed.put_unnamed("ada", request, CONTENT, version, 9)
    assert unnamed.get(name_of("ada", "r")) == First(CONTENT[:CONTENT_SIZE], 2, 9)
    assert unnamed == named
    assert len(unnamed) == 2
    unnamed.put_unnamed("ada", "t", CONTENT, 3)
    unnamed.keep(1)
    assert unnamed.get(name_of("ada", "r")) is None
    unnamed.put_unnamed("ada", "u", CONTENT, 4)
    unnamed.forget(name_of("ada", "u"))
    assert len(unnamed) == 1


def test_equal_is_what_remembers_the_same():
    one, two = Remembered(), Remembered()
    one.put(name_of("ada", "r"), CONTENT, 1)
    assert one != two
    two.put(name_of("ada", "r"), CONTENT, 1)
    assert one == two
    assert one != {}


def test_a_call_costs_no_more_than_is_promised():
    """tracemalloc counts what is asked for; the allocator rounds 61 bytes up to 64."""
    calls = [(f"player-{number % 97}", f"{number:032x}") for number in range(100_000)]
    tracemalloc.start()
    known = Remembered()
    for number, (caller, request_id) in enumerate(calls):
        known.put(name_of(caller, request_id), CONTENT, number, 1)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 100 < used / len(calls) < 175


def test_two_hands_are_remembered_and_no_third():
    calls = Generations()
    for hand in range(1, 5):
        calls.turn()
        calls.put(name_of("ada", str(hand)), CONTENT, hand, 10 * hand)
        found = [calls.get(name_of("ada", str(no))) for no in range(1, hand + 1)]
        assert [first.number for first in found if first is not None] == [
            10 * no for no in range(max(1, hand - 1), hand + 1)
        ]
    assert len(calls) == 2


def test_of_one_hand_no_more_than_so_many_where_that_is_said():
    calls = Generations()
    for version in range(5):
        calls.put(name_of("ada", str(version)), CONTENT, version, most=2)
    calls.turn()
    for version in range(5, 10):
        calls.put(name_of("ada", str(version)), CONTENT, version, most=2)
    assert [no for no in range(10) if calls.get(name_of("ada", str(no)))] == [3, 4, 8, 9]


def test_generations_are_equal_when_both_hands_are():
    one, two = Generations(), Generations()
    one.put(name_of("ada", "r"), CONTENT, 1)
    assert one != two
    two.put(name_of("ada", "r"), CONTENT, 1)
    assert one == two
    one.turn()
    assert one != two
    assert one != Remembered()
