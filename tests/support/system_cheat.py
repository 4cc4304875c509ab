"""A table service or a dealer that cheats at tables whose id says so: `python -m tests.support.system_cheat`.

STUD_TEST_SERVICE says which of the two. It writes forged events into the first hand of "cheat-award-…" (the pot goes to
a loser, and everything adds up), "cheat-card-…" (two players' cards of fourth street change places at the table) and
"cheat-deck-…" (they change places at the dealer's). The first sitting of "cheat-claim-…" claims more than it has when
it leaves. All that follows builds on what was written, as a cheat's would.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

import dealer_service.listening
import table_service.actor
from dealer_service.app import DealerApp
from stud_core import deck_events as de
from stud_core import events as ev
from stud_core.evolve import evolve
from stud_core.state import Table
from stud_service.run import run
from stud_wire.commits import commit_message
from table_service import commits
from table_service.app import TableApp

Forge = Callable[[Table, list[Any]], list[Any]]
replace = msgspec.structs.replace


def moved_award(before: Table, events: list[Any]) -> list[Any]:
    """Pays the main pot to another live player, and settles the hand accordingly."""
    award = next((event for event in events if isinstance(event, ev.PotAwarded)), None)
    if award is None or before.hand is None:
        return events
    share = award.shares[0]
    loser = next(seat for seat in before.hand.order if before.hand.live[seat] and seat != share.seat)
    numbers = {share.seat: -share.amount, loser: share.amount}

    def forge(event: Any) -> Any:
        if event is award:
            stack = next(e.stack for e in end.stacks if e.seat == loser) + share.amount
            return replace(event, shares=(ev.Share(loser, share.amount, stack),))
        if event is end:
            by = {before.seats[seat]: amount for seat, amount in numbers.items()}
            stacks = tuple([replace(e, stack=e.stack + by.get(e.sitting_no, 0)) for e in event.stacks])
            return replace(
                event,
                stacks=stacks,
                deltas=tuple([replace(d, delta=d.delta + by.get(d.sitting_no, 0)) for d in event.deltas]),
            )
        return event

    end = next(event for event in events if isinstance(event, ev.HandEnded))
    return [forge(event) for event in events]


def swapped(up: Sequence[ev.UpCard]) -> tuple[ev.UpCard, ...]:
    """The cards of the first two seats change places."""
    first, second, *rest = up
    return (replace(first, card=second.card), replace(second, card=first.card), *rest)


def swapped_cards(_: Table, events: list[Any]) -> list[Any]:
    return [
        replace(event, up=swapped(event.up)) if isinstance(event, ev.CardsDealt) and event.street == 4 else event
        for event in events
    ]


def greater_claim(_: Table, events: list[Any]) -> list[Any]:
    return [
        replace(event, claim=event.claim + 1_000)
        if isinstance(event, ev.CashOutRequested) and event.sitting_no == 1 and event.claim is not None
        else event
        for event in events
    ]


WHEN_LEAVING: dict[str, Forge] = {"cheat-claim": greater_claim}
AT_THE_TABLE: dict[str, Forge] = {"cheat-award": moved_award, "cheat-card": swapped_cards}


def cheating_table() -> type:
    honest = commits.prepare

    def prepare(before: Table, command: Any, ctx: Any, meta: Any, open_cards: Any, feed: str) -> Any:
        made = honest(before, command, ctx, meta, open_cards, feed)
        kind = before.config.table_id.rpartition("-")[0] if before.config is not None else ""
        first_hand = before.hand is not None and before.hand.hand_no == 1
        forge = WHEN_LEAVING.get(kind) or (AT_THE_TABLE.get(kind) if first_hand else None)
        if forge is None or not isinstance(made, commits.Prepared):
            return made
        events = forge(before, made.events)
        message = commit_message(events, meta)
        after = evolve(before, events, ctx.version)
        return commits.Prepared(events, after, message, commits._outbox(events, message.events, feed))

    table_service.actor.prepare = prepare  # type: ignore[attr-defined]
    return TableApp


def cheating_dealer() -> type:
    honest = dealer_service.listening.decide_deal  # type: ignore[attr-defined]

    def decide_deal(deck: Any, request: Any, ref: Any, *rest: Any) -> Any:
        made = honest(deck, request, ref, *rest)
        if "cheat-deck" not in ref.stream or (request.hand_no, request.street) != (1, 4) or not isinstance(made, list):
            return made
        return [replace(e, up=swapped(e.up)) if isinstance(e, de.DeckCardsDealt) else e for e in made]

    dealer_service.listening.decide_deal = decide_deal  # type: ignore[assignment,attr-defined]
    return DealerApp


if __name__ == "__main__":
    service = os.environ["STUD_TEST_SERVICE"]
    sys.exit(run(service, cheating_table() if service == "table" else cheating_dealer()))
