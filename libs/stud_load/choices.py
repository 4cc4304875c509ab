"""What bots choose: one of the legal actions, what to sit down with, and commands that are wrong on purpose."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb

_WEIGHTS: Final = {
    seat_pb2.VERB_FOLD: 2,
    seat_pb2.VERB_CHECK: 8,
    seat_pb2.VERB_CALL: 9,
    seat_pb2.VERB_BRING_IN: 8,
    seat_pb2.VERB_OPEN: 2,
    seat_pb2.VERB_COMPLETE: 3,
    seat_pb2.VERB_BET: 5,
    seat_pb2.VERB_RAISE: 2,
}
_STAYING: Final = frozenset({seat_pb2.VERB_CHECK, seat_pb2.VERB_CALL, seat_pb2.VERB_BRING_IN})
SHOWS: Final = 0.3
"""How often a bot shows when it may."""


def choose(options: Sequence[seat_pb2.Option], rng: random.Random) -> seat_pb2.Option:
    """Return one of the legal actions; a bot never folds when it may check."""
    verbs = {option.verb for option in options}
    sensible = [o for o in options if not (o.verb == seat_pb2.VERB_FOLD and seat_pb2.VERB_CHECK in verbs)]
    weights = [_WEIGHTS.get(option.verb, 1) for option in sensible]
    return rng.choices(sensible, weights)[0]


def stay(options: Sequence[seat_pb2.Option], rng: random.Random) -> seat_pb2.Option:
    """Return the action that stays in the hand for the least."""
    cheap = [option for option in options if option.verb in _STAYING]
    return cheap[0] if cheap else choose(options, rng)


def buy_in(view: pb.TableView) -> int:
    """Return what bots sit down with: twice the minimum, within the maximum, minor units."""
    config = view.config
    rules = config.ruleset
    least = rules.min_buy_in.amount or rules.min_buy_in.small_bets * config.small_bet
    if not rules.HasField("max_buy_in"):
        return 2 * least
    most = rules.max_buy_in.amount or rules.max_buy_in.small_bets * config.small_bet
    return min(2 * least, most)


def wrong_action(table: str, turn_id: int, rng: random.Random) -> pb.ActRequest:
    """Return an action on a turn that no rule allows: another turn, no verb, or more than anybody has."""
    wrong = rng.randrange(3)
    if wrong == 0:
        return pb.ActRequest(table=table, turn_id=turn_id + 1_000_000, verb=seat_pb2.VERB_CALL)
    if wrong == 1:
        return pb.ActRequest(table=table, turn_id=turn_id)
    return pb.ActRequest(table=table, turn_id=turn_id, verb=seat_pb2.VERB_RAISE, to=10**15)
