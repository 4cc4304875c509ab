"""A finished hand from its commits: what everybody could see of it, and its down cards in their boxes.

It is folded from the hand's own range and nothing else: a look at an old hand costs no more than one at the last.
"""

from __future__ import annotations

from collections.abc import Sequence

from stud.events.v1 import commit_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as ev
from stud_core.state import Hand, Phase
from table_service.public_events import put_public

MOST_STEPS = 2_000
"""More than any hand has: what players do beside it could make it long."""


class ToldHand:
    """What is known of a hand after some of its commits."""

    def __init__(self, hand_no: int) -> None:
        self.hand = Hand(hand_no=hand_no, phase=Phase.ANTES, from_version=0)
        self.commitment = b""
        self.steps: list[pb.HandStep] = []

    def fold(self, version: int, at_ms: int, events: Sequence[ev.Event], messages: Sequence[commit_pb2.Event]) -> None:
        """Take in the next commit: its events, and the same as they were written."""
        for event in events:
            self._event(event)
        step = pb.HandStep(version=version, at_ms=at_ms)
        put_public(step, messages)
        if step.events and len(self.steps) < MOST_STEPS:
            self.steps.append(step)

    def _event(self, event: ev.Event) -> None:
        hand = self.hand
        if isinstance(event, ev.DeckReady):
            self.commitment = event.commitment
        elif isinstance(event, ev.AntesOpened):  # an attempt before it may have come to nothing
            self.hand = Hand(hand_no=event.hand_no, phase=Phase.ANTES, from_version=0)
            self.steps.clear()
        elif isinstance(event, ev.AntePosted):
            hand.live[event.seat] = True
            hand.paid[event.seat] = event.amount
        elif isinstance(event, ev.HandStarted):
            hand.button, hand.dealt_in = event.button, event.dealt_in
        elif isinstance(event, ev.CardsDealt):
            self._dealt(event)
        elif isinstance(event, ev.ActionTaken):
            hand.paid[event.seat] += event.amount
            hand.live[event.seat] = hand.live[event.seat] and event.verb is not ev.Verb.FOLD
        elif isinstance(event, ev.UncalledReturned):
            hand.paid[event.seat] -= event.amount
            hand.uncalled += (event,)
        elif isinstance(event, ev.HandShown):
            hand.shown[event.seat], hand.ranks[event.seat] = event.cards, event.rank
        elif isinstance(event, ev.PotAwarded):
            hand.rake += event.rake
            hand.paid_pots += (event,)
        elif isinstance(event, ev.HandVoided):
            hand.refunds = event.refunds

    def _dealt(self, event: ev.CardsDealt) -> None:
        hand = self.hand
        hand.street = event.street
        for card in event.up:
            hand.up[card.seat] += (card.card,)
        for box in event.down:
            hand.down[box.seat] += (box,)
        if event.community is not None:
            hand.community = event.community
