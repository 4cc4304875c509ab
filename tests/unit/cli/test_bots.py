"""What bots choose and what they sit down with."""

from random import Random

import pytest

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_load.choices import buy_in, choose


def options(*verbs: seat_pb2.Verb.ValueType) -> list[seat_pb2.Option]:
    return [seat_pb2.Option(verb=verb) for verb in verbs]


def test_a_bot_never_folds_when_it_may_check():
    legal = options(seat_pb2.VERB_FOLD, seat_pb2.VERB_CHECK, seat_pb2.VERB_BET)
    chosen = {choose(legal, Random(seed)).verb for seed in range(200)}
    assert chosen == {seat_pb2.VERB_CHECK, seat_pb2.VERB_BET}


def test_a_bot_does_everything_that_is_legal_sometimes():
    legal = options(seat_pb2.VERB_FOLD, seat_pb2.VERB_CALL, seat_pb2.VERB_RAISE)
    assert {choose(legal, Random(seed)).verb for seed in range(200)} == {option.verb for option in legal}


def view(**limits: int) -> pb.TableView:
    """Limits of a table with a small bet of 500: amounts, or numbers of small bets."""
    made = pb.TableView()
    made.config.small_bet = 500
    rules = made.config.ruleset
    rules.min_buy_in.amount = limits.get("least", 0)
    rules.min_buy_in.small_bets = limits.get("least_bets", 0)
    if "most" in limits or "most_bets" in limits:
        rules.max_buy_in.amount = limits.get("most", 0)
        rules.max_buy_in.small_bets = limits.get("most_bets", 0)
    return made


@pytest.mark.parametrize(
    ("limits", "amount"),
    [
        ({"least": 7000}, 14_000),
        ({"least_bets": 10}, 10_000),
        ({"least": 7000, "most": 9000}, 9000),
        ({"least_bets": 10, "most_bets": 15}, 7500),
        ({"least_bets": 10, "most_bets": 100}, 10_000),
    ],
)
def test_bots_buy_in_for_twice_the_least_within_the_limits(limits: dict[str, int], amount: int):
    assert buy_in(view(**limits)) == amount
