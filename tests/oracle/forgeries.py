"""Wrong figures for a table's log. All add up: whoever checks sums only would find nothing.

Each function takes the events of one commit and returns what is written instead, or the same list where there is
nothing to falsify.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from rules_service.findings import Code
from stud_core import events as ev
from tests.support.referee_court import moved

Events = list[Any]


def _first(events: Events, kind: type, where: Callable[[Any], bool] = lambda _: True) -> int:
    """Where the first such event is, -1 if there is none."""
    return next((at for at, event in enumerate(events) if isinstance(event, kind) and where(event)), -1)


def _paid_otherwise(events: Events, at: int, loser: int, winner: int, amount: int) -> Events:
    """Chips of a pot go from one seat to another; stacks and results follow."""
    pot = events[at]
    shares = {share.seat: [share.amount, share.stack] for share in pot.shares}
    end = _first(events, ev.HandEnded)
    had = {entry.seat: entry.stack for entry in events[end].stacks}
    shares.setdefault(winner, [0, had[winner]])
    for seat, change in ((loser, -amount), (winner, amount)):
        shares[seat] = [figure + change for figure in shares[seat]]
    forged = list(events)
    forged[at] = replace(pot, shares=tuple(ev.Share(seat, n, stack) for seat, (n, stack) in shares.items() if n))
    forged[end] = moved(events[end], loser, winner, amount)
    return forged


def _end_is_here(events: Events) -> bool:
    return _first(events, ev.HandEnded) >= 0


def award(events: Events) -> Events:
    """One unit of a pot goes to somebody who has not won it."""
    at = _first(events, ev.PotAwarded)
    if at < 0 or not _end_is_here(events):
        return events
    pot = events[at]
    won = {share.seat for share in pot.shares}
    others = [entry.seat for entry in events[_first(events, ev.HandEnded)].stacks if entry.seat not in won]
    return _paid_otherwise(events, at, pot.shares[0].seat, others[0], 1) if others else events


def winner(events: Events) -> Events:
    """A whole pot goes to a player who was still in and had the worse hand."""
    at = _first(events, ev.PotAwarded)
    if at < 0 or not _end_is_here(events):
        return events
    pot = events[at]
    won = {share.seat for share in pot.shares}
    told = [event.seat for event in events if isinstance(event, ev.HandShown | ev.HandMucked)]
    losers = [seat for seat in told if seat not in won]
    share = pot.shares[0]
    return _paid_otherwise(events, at, share.seat, losers[0], share.amount) if losers else events


def odd_units(events: Events) -> Events:
    """Of two equal hands the other one gets what cannot be split."""
    at = _first(events, ev.PotAwarded, lambda pot: len({share.amount for share in pot.shares}) > 1)
    if at < 0 or not _end_is_here(events):
        return events
    most = max(events[at].shares, key=lambda share: share.amount)
    least = min(events[at].shares, key=lambda share: share.amount)
    return _paid_otherwise(events, at, most.seat, least.seat, most.amount - least.amount)


def rake(events: Events) -> Events:
    """The house takes one unit more than its due."""
    at = _first(events, ev.PotAwarded)
    if at < 0 or not _end_is_here(events):
        return events
    pot, end = events[at], _first(events, ev.HandEnded)
    share = pot.shares[0]
    result = events[end]
    number = next(entry.sitting_no for entry in result.stacks if entry.seat == share.seat)
    stacks = tuple([replace(s, stack=s.stack - (s.sitting_no == number)) for s in result.stacks])
    deltas = tuple([replace(d, delta=d.delta - (d.sitting_no == number)) for d in result.deltas])
    forged = list(events)
    less = replace(share, amount=share.amount - 1, stack=share.stack - 1)
    forged[at] = replace(pot, rake=pot.rake + 1, shares=(less, *pot.shares[1:]))
    forged[end] = replace(result, stacks=stacks, deltas=deltas, rake=result.rake + 1)
    return forged


def pot(events: Events) -> Events:
    """A pot is said to hold one unit more than was paid into it."""
    at = _first(events, ev.PotAwarded)
    if at < 0:
        return events
    paid = events[at]
    share = paid.shares[0]
    more = replace(share, amount=share.amount + 1, stack=share.stack + 1)
    return [*events[:at], replace(paid, amount=paid.amount + 1, shares=(more, *paid.shares[1:])), *events[at + 1 :]]


def uncalled(events: Events) -> Events:
    """One unit of an uncalled bet stays in the middle."""
    at = _first(events, ev.UncalledReturned, lambda returned: returned.amount > 1)
    if at < 0:
        return events
    returned = events[at]
    less = replace(returned, amount=returned.amount - 1, stack=returned.stack - 1)
    return [*events[:at], less, *events[at + 1 :]]


def kept(events: Events) -> Events:
    """An uncalled bet is not returned at all."""
    return [event for event in events if not isinstance(event, ev.UncalledReturned)]


def refund(events: Events) -> Events:
    """A void hand gives one player's contribution back twice."""
    at = _first(events, ev.HandVoided, lambda voided: bool(voided.refunds))
    if at < 0:
        return events
    back = events[at].refunds[0]
    twice = replace(back, amount=2 * back.amount, stack=back.stack + back.amount)
    return [*events[:at], replace(events[at], refunds=(twice, *events[at].refunds[1:])), *events[at + 1 :]]


def stack(events: Events) -> Events:
    """The last line of a hand moves one unit between two players."""
    at = _first(events, ev.HandEnded)
    if at < 0:
        return events
    one, other = [entry.seat for entry in events[at].stacks][:2]
    return [*events[:at], moved(events[at], one, other, 1), *events[at + 1 :]]


FORGERIES: dict[str, tuple[Callable[[Events], Events], Code]] = {
    "award": (award, Code.WRONG_AWARD),
    "winner": (winner, Code.WRONG_AWARD),
    "odd units": (odd_units, Code.WRONG_AWARD),
    "rake": (rake, Code.WRONG_RAKE),
    "pot": (pot, Code.WRONG_POT),
    "uncalled": (uncalled, Code.WRONG_UNCALLED),
    "kept": (kept, Code.WRONG_UNCALLED),
    "refund": (refund, Code.WRONG_REFUND),
    "stack": (stack, Code.WRONG_STACK),
}
"""What is falsified, and the finding by which it must come out."""
