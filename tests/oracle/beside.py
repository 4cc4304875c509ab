"""Our table with PokerKit beside it: after every action both say who is next, what he may do, and where the chips are.

Where their rules differ, the place and PokerKit's other answer are known beforehand (``rules.md`` B, ``interop.md``).
``Beside`` then checks that PokerKit says exactly that, notes the name of the difference, and goes on for as long as
what is done is legal in both; a hand that is not is compared no further.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.betting import is_wager
from stud_core.ranks import board_strength
from stud_core.ruleset import OddUnits, TableConfig
from stud_core.state import Hand
from tests.oracle.peer import Menu, Peer, menu_of
from tests.support.clear_dealer import ClearDealer
from tests.support.core_table import CoreTable

CAPPED = "No more completion, betting, or raising is permitted."
TOO_SHORT = "Short all-in cannot be raised."


class Beside(CoreTable):
    """Plays at our table; ``apart`` says why PokerKit no longer follows this hand, ``met`` counts differences."""

    def __init__(self, config: TableConfig) -> None:
        self.met: Counter[str] = Counter()
        self.apart = ""
        self.dealing = False
        self.dealer: ClearDealer = ClearDealer()
        super().__init__(config, self.dealer)

    # --- following -----------------------------------------------------------

    def written(self, version: int, events: list[Any]) -> None:
        for event in events:
            if isinstance(event, ev.HandStarted):
                self._begin(event)
            elif isinstance(event, ev.ActionTaken) and not self.apart:
                self._action(event)
        if self.dealing and not self.apart:
            self._compare(events)

    def _begin(self, event: ev.HandStarted) -> None:
        order = tuple([player.seat for player in event.dealt_in])
        stacks = {player.seat: player.stack + self.hand.paid[player.seat] for player in event.dealt_in}
        self.apart = ""
        self.peer = Peer(self.state.rules, order, stacks)
        self.dealing = True
        self.all_in = any(player.stack == 0 for player in event.dealt_in)
        self.short = 0  # street of the last all-in that was too short to count (B.8)

    def dealt(self, request: ev.DealRequested, answer: cmd.RecordCards) -> None:
        """The dealer's positions; who is dealt what comes from there, whatever the table makes of it."""
        if self.apart:
            return
        taken, order = self.dealer.taken, self.dealer.order
        if taken.community is not None and not self.peer.state.board_dealing_count:
            self._part("mucked cards are dealt again")
            return
        seats = [seat for seat in self.hand.order if seat in request.targets]
        pairs = (*taken.down, *taken.up)
        cards = {seat: [order[position] for to, position in pairs if to == seat] for seat in seats}
        self.peer.deal(cards, None if taken.community is None else order[taken.community])

    def _action(self, action: ev.ActionTaken) -> None:
        menu = self.peer.menu
        self.all_in = self.all_in or action.all_in
        if is_wager(action.verb) and not action.counts:
            self.short = self.hand.street
        if action.verb is ev.Verb.FOLD and not menu.fold:
            self._part("the first player in may not fold")
        elif is_wager(action.verb) and action.to not in menu.wagers:
            self._part(self._refusal(action))
        else:
            self.peer.act(action)

    def _refusal(self, action: ev.ActionTaken) -> str:
        """Why PokerKit does not take a wager of ours; fails for a reason that is not known."""
        why = self.peer.why_no_wager
        if why == TOO_SHORT:
            return "a short all-in reopens nothing"
        if why == CAPPED:
            return "two players are capped too"
        assert action.size is ev.Size.HIGH, (why, action)
        return "no higher limit for an open pair"

    def _part(self, why: str) -> None:
        self.met[why] += 1
        self.apart = why

    # --- comparing -----------------------------------------------------------

    def _compare(self, events: list[Any]) -> None:
        hand = self.state.hand
        if hand is not None and hand.turn_seat:
            self._compare_turn(hand)
            return
        if self.peer.turn:
            self._pass_for_the_last()
        assert self.peer.turn == 0, "PokerKit asks somebody"
        if hand is None:
            self.dealing = False
            self._compare_end(events)

    def _pass_for_the_last(self) -> None:
        """B.21: the last player with chips is not asked when there is nothing to call; PokerKit lets him check."""
        peer = self.peer
        assert [seat for seat in peer.order if peer.stacks[seat] and peer.is_live(seat)] == [peer.turn]
        menu = peer.menu
        assert (menu.call, menu.wagers) == (0, frozenset())
        peer.state.check_or_call()
        self.met["a question to the last player"] += 1

    def _compare_turn(self, hand: Hand) -> None:
        peer, order = self.peer, hand.order
        assert not peer.over
        if peer.turn != hand.turn_seat:
            self._compare_first(hand)
            return
        assert peer.in_the_middle == sum(hand.paid)
        assert peer.bets == {seat: hand.bet[seat] for seat in order}
        assert peer.stacks == {seat: self.state.at(seat).stack for seat in order}
        if not any(hand.bet):
            assert peer.pots == [(pot.amount, set(pot.eligible)) for pot in hand.pots]
        self._compare_menus(menu_of(hand.options), peer)

    def _compare_first(self, hand: Hand) -> None:
        """B.13: our boards take in the community card, PokerKit's do not."""
        assert hand.community is not None
        assert self.state.rules.ruleset.community_counts_for_first
        assert not any(hand.bet)
        alone = {seat: board_strength(hand.up[seat]) for seat in hand.order if hand.live[seat]}
        leader = max(alone, key=alone.__getitem__)
        start = hand.order.index(leader)
        assert self.peer.turn == next(s for s in hand.order[start:] + hand.order[:start] if self.can_act(hand, s))
        self._part("the community card counts for who is first")

    @staticmethod
    def can_act(hand: Hand, seat: int) -> bool:
        return hand.live[seat] and not hand.all_in[seat]

    def _compare_menus(self, ours: Menu, peer: Peer) -> None:
        """Equal, or different as is known for this kind of position."""
        theirs, hand = peer.menu, self.hand
        if ours == theirs:
            return
        if hand.street == 3 and hand.level == 0:
            self._compare_openings(ours, theirs)
        elif hand.street == 3 and hand.level > max(hand.bet):
            self._compare_short_bring_in(theirs)
        elif self._uncounted():
            self._compare_after_short_all_in(theirs)
        else:
            assert (ours.fold, ours.call, ours.bring_in) == (theirs.fold, theirs.call, theirs.bring_in)
            assert ours.wagers
            if theirs.wagers:
                assert hand.pair_option
                assert theirs.wagers < ours.wagers or hand.locked
                self.met["one size with an open pair"] += 1
                if hand.locked:
                    self.apart = "one size with an open pair"
            else:
                why = peer.why_no_wager
                assert why in {CAPPED, TOO_SHORT}
                if why == CAPPED and self.short == hand.street:  # it was counted, and completed since
                    self._part("a short all-in counts")
                    return
                assert why != CAPPED or (hand.uncapped and hand.wagers > self.state.rules.ruleset.max_raises)
                self.met[f"offered by us alone: {why}"] += 1

    def _compare_openings(self, ours: Menu, theirs: Menu) -> None:
        """B.4: who comes after an all-in low card may fold; a stack below the bring-in cannot complete."""
        hand = self.hand
        stack = self.state.at(hand.turn_seat).stack
        assert (ours.call, ours.bring_in) == (theirs.call, theirs.bring_in)
        if ours.fold:
            assert not theirs.fold
            self.met["fold first in"] += 1
        if ours.wagers != theirs.wagers:
            assert stack <= self.state.rules.bring_in
            assert not ours.wagers
            assert theirs.wagers == {stack}
            self.met["a completion below the bring-in"] += 1

    def _compare_short_bring_in(self, theirs: Menu) -> None:
        """B.4: the price is the bring-in, though who brought it in had less; PokerKit asks for what he had."""
        hand = self.hand
        seat = hand.turn_seat
        assert theirs.call == min(max(hand.bet) - hand.bet[seat], self.state.at(seat).stack)
        self._part("a short bring-in is the price")

    def _uncounted(self) -> bool:
        """Whether an all-in of this round was too short to count (B.8)."""
        return self.hand.level > self.hand.full_level

    def _compare_after_short_all_in(self, theirs: Menu) -> None:
        """B.8: ours completes the bet, PokerKit adds a full one to what was put in, and counts it."""
        hand, rules = self.hand, self.state.rules
        seat = hand.turn_seat
        size = rules.small_bet if hand.street < 5 else rules.big_bet
        reach = hand.bet[seat] + self.state.at(seat).stack
        assert not theirs.wagers or theirs.wagers == {min(hand.level + size, reach)}
        self._part("a short all-in counts")

    def _compare_end(self, events: list[Any]) -> None:
        assert self.peer.over, "PokerKit plays on"
        ended = next(event for event in events if isinstance(event, ev.HandEnded))
        ours = {entry.seat: entry.stack for entry in ended.stacks}
        if ours != self.peer.stacks:
            self._compare_odd_units(self.peer, ours)
        told = [event.seat for event in events if isinstance(event, ev.HandShown | ev.HandMucked)]
        if len(told) > 1 and not self.all_in:
            # With nobody all-in there is one pot and one order to show in (P37-P40); PokerKit turns the cards of an
            # all-in hand up at once.
            assert told == self.peer.shown

    def _compare_odd_units(self, peer: Peer, ours: dict[int, int]) -> None:
        """B.14: PokerKit gives all that is left over to the first in deal order."""
        assert self.state.rules.ruleset.odd_units is not OddUnits.ALL_TO_FIRST_LEFT
        moved = {seat: ours[seat] - stack for seat, stack in peer.stacks.items() if ours[seat] != stack}
        assert sum(moved.values()) == 0
        winners = max(len(shares) for shares in peer.pushed)
        assert max(map(abs, moved.values())) < winners * len(peer.pushed)
        self.met["odd units"] += 1
