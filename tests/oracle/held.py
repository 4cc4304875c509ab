"""The core's table with the referee's second implementation reading every commit of it.

The second opinion is given the deck and the recorded events, as in ``rules_service.judge``; signatures, boxes and
hash chains are left out, so that a hundred thousand hands can be played. A hand passes when nothing is found wrong
and pots, rake, awards, ranking, uncalled chips, stacks and results are the same in both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from random import Random
from typing import Any

from rules_service.findings import Code
from rules_service.second_opinion import ranking
from rules_service.second_opinion.account import Account
from rules_service.second_opinion.dealing import Deck
from rules_service.second_opinion.follow import follow
from rules_service.second_opinion.sheet import Sheet
from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.deck_events import DeckCardsDealt, LogRef
from stud_core.ranks import rank_best
from stud_core.ruleset import TableConfig
from stud_core.state import Hand, Phase, Sit
from tests.support.choosing import choose
from tests.support.clear_dealer import ClearDealer
from tests.support.core_table import CoreTable

NOWHERE = LogRef("", 1, 1, b"")
Forge = Callable[[list[Any]], list[Any]]
"""What is written instead of a commit's events; the table itself goes on unharmed."""

Style = dict[ev.Verb, int]


def _may_be_voided(hand: Hand) -> bool:
    """Whether there are cards and no pot is paid yet (B.21)."""
    return hand.street > 0 and hand.phase is not Phase.SHOW_PROMPTS


class Held(CoreTable):
    """``counts`` says what there was in the hands. With ``forge`` the findings go to ``codes`` instead of failing."""

    def __init__(self, config: TableConfig, rng: Random) -> None:
        self.rng = rng
        self.config = config
        self.counts: Counter[str] = Counter()
        self.forge: Forge | None = None
        self.codes: set[Code] = set()
        self.events: list[Any] = []
        self._turn_page(Account(), 1)
        self.dealer: ClearDealer = ClearDealer()
        super().__init__(config, self.dealer)

    # --- reading -------------------------------------------------------------

    def _turn_page(self, account: Account, from_version: int) -> None:
        self.answers: dict[int, DeckCardsDealt] = {}
        self.sheet = Sheet(self.config, account, Deck((), ()), self.answers, from_version)
        self.events.clear()

    def written(self, version: int, events: list[Any]) -> None:
        self.events += events
        if self.codes:
            return  # a forgery was found: nothing after it means anything
        if self.forge is not None:
            follow(self.sheet, version, self.now_ms, self.forge(events))
            self.codes |= {code for code, _ in self.sheet.findings}
            return
        followed = follow(self.sheet, version, self.now_ms, events)
        assert followed, self.sheet.findings
        assert self.sheet.findings == []
        if self.state.hand is None and self.sheet.ended:
            # Behind it whoever has sat out too long may have been sent off, in the same commit.
            self._hand_is_over(next(e for e in reversed(events) if isinstance(e, ev.HandEnded | ev.HandVoided)))
            self._turn_page(self.sheet.account, version + 1)

    def dealt(self, request: ev.DealRequested, answer: cmd.RecordCards) -> None:
        """What the dealer's log would say."""
        taken = self.dealer.taken
        shown = tuple([position for _, position in taken.up])
        positions = shown if taken.community is None else (taken.community,)
        facts = (answer.up, answer.down, answer.community, answer.root)
        self.answers[request.deal_no] = DeckCardsDealt(
            request.hand_no, request.deal_no, NOWHERE, taken.burns, *facts, positions
        )

    def begin(self, order: Sequence[int], river_rank: Sequence[int]) -> None:
        """Start a hand with this deck."""
        self.settle()
        self.sheet.deck = Deck(order, river_rank)
        self.dealer.bring(order, river_rank)
        self.start()

    # --- comparing -----------------------------------------------------------

    def _of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def _hand_is_over(self, end: Any) -> None:
        sheet, counts = self.sheet, self.counts
        counts["hands"] += 1
        modes = {request.mode for request in self._of(ev.DealRequested)}
        counts["recycled river"] += ev.DealMode.RECYCLE in modes
        counts["community river"] += ev.DealMode.COMMUNITY in modes
        if isinstance(end, ev.HandVoided):
            assert sheet.voided
            counts["voids"] += 1
            return
        assert isinstance(end, ev.HandEnded)
        assert sheet.figures is not None
        assert sheet.figures.deltas == end.deltas
        assert sheet.figures.rake == end.rake
        assert sheet.figures.stacks == end.stacks
        assert {entry.sitting_no: entry.stack for entry in end.stacks} == self._stacks(sheet)
        pots = self._of(ev.PotAwarded)
        mine = [(pot.amount, pot.rake, pot.shares) for pot in reversed(sheet.payments)]
        assert mine == [(pot.amount, pot.rake, {s.seat: s.amount for s in pot.shares}) for pot in pots]
        if len(sheet.live) > 1:
            self._compare_ranks(sheet)
        self._count(sheet, pots)

    def _stacks(self, sheet: Sheet) -> dict[int, int]:
        """What the table itself has in front of those who were dealt in."""
        numbers = [player.sitting_no for player in sheet.dealt_in]
        return {n: self.state.sittings[n].stack for n in numbers}

    def _compare_ranks(self, sheet: Sheet) -> None:
        """Every two hands of a showdown, mucked ones too."""
        common = [] if sheet.community is None else [sheet.community]
        cards = {seat: [*sheet.down[seat], *sheet.up[seat], *common] for seat in sheet.live}
        strengths = {seat: ranking.best_of(cards[seat]) for seat in sheet.live}
        ranks = {seat: rank_best(cards[seat]) for seat in sheet.live}
        for one, other in combinations(sheet.live, 2):
            assert (ranks[one] < ranks[other]) == (strengths[one] > strengths[other])
            assert (ranks[one] == ranks[other]) == (strengths[one] == strengths[other])
        for shown in self._of(ev.HandShown):
            assert shown.rank == ranks[shown.seat]

    def _count(self, sheet: Sheet, pots: list[ev.PotAwarded]) -> None:
        counts = self.counts
        antes = [ante for ante in self._of(ev.AntePosted) if ante.all_in]
        actions = self._of(ev.ActionTaken)
        wagers = [action for action in actions if action.verb >= ev.Verb.OPEN]
        split = [pot for pot in pots if len(pot.shares) > 1]
        marks = {
            "all-ins": bool(antes) or any(action.all_in for action in actions),
            "short antes": any(ante.amount < self.config.ante for ante in antes),
            "short wagers": any(wager.all_in and not wager.counts for wager in wagers),
            "side pots": len(pots) > 1,
            "showdowns": len(sheet.live) > 1,
            "uncalled": bool(self._of(ev.UncalledReturned)),
            "rake": any(pot.rake for pot in pots),
            "splits": bool(split),
            "odd units": any((pot.amount - pot.rake) % len(pot.shares) for pot in split),
            "high open pairs": any(wager.size is ev.Size.HIGH for wager in wagers),
            "eight at the river": sheet.street == 7 and len(sheet.live) == 8,
            "time-outs": any(action.by is ev.By.TIMEOUT for action in actions),
            "more time": bool(self._of(ev.ClockExtended)),
            "sent off": any(leave.idle for leave in self._of(ev.LeaveRequested)),
            "leavers": any(action.by is ev.By.LEAVING for action in actions),
        }
        counts.update({name: int(there) for name, there in marks.items()})

    # --- playing -------------------------------------------------------------

    def play_hand(self, order: Sequence[int], river_rank: Sequence[int], style: Style, *, void: bool = False) -> None:
        """Start a hand and play it out; now and then a clock runs out, somebody leaves, or an operator voids it.

        With ``void`` it is voided for certain, once third street is dealt.
        """
        self.begin(order, river_rank)
        while (hand := self.state.hand) is not None:
            if void and _may_be_voided(hand):
                self.send(cmd.VoidHand(hand.hand_no, "test", "op"))
            else:
                self._step(hand, style)

    def _step(self, hand: Hand, style: Style) -> None:
        chance = self.rng.random()
        if chance < 0.008:
            self._interrupt(hand)
        elif hand.prompts:
            self._answer(hand)
        elif chance < 0.014 and hand.deadline_ms:
            self.timeout()
        elif chance < 0.05 and hand.deadline_ms:
            self._extend(hand, chip=chance < 0.03)
        else:
            self.take(choose(self.rng, hand.options, style))

    def _extend(self, hand: Hand, *, chip: bool) -> None:
        """More time for the open turn, where the house gives any."""
        rules, sitting = self.config.ruleset, self.state.at(hand.turn_seat)
        if chip and sitting.time_chips:
            self.send(cmd.UseTimeChip(sitting.account, hand.turn_id))
        elif not chip and rules.reconnect_ms and hand.turn_seat not in hand.protected:
            self.now_ms = hand.deadline_ms
            self.send(cmd.ProtectTurn(hand.turn_id))

    def _answer(self, hand: Hand) -> None:
        prompt = hand.prompts[0]
        account, yes = self.state.at(prompt.seat).account, self.rng.random() < 0.8
        if prompt.deadline_ms and self.rng.random() < 0.1:
            self.timeout()
        elif hand.phase is Phase.ANTES:
            self.send(cmd.PostAnte(account, prompt.prompt_id, yes))
        else:
            self.send(self.showing(prompt, show=yes))

    def _interrupt(self, hand: Hand) -> None:
        sitting = self.state.at(self.rng.choice([s for s in range(1, 9) if self.state.seats[s]]))
        kind = self.rng.randrange(5)
        if kind == 0 and _may_be_voided(hand):
            self.send(cmd.VoidHand(hand.hand_no, "test", "op"))
        elif kind == 1 and sitting.status is Sit.SEATED:
            self.send(cmd.LeaveSeat(sitting.account))
        elif kind == 2 and sitting.status is Sit.SEATED and not sitting.sitting_out:
            self.send(cmd.SitOut(sitting.account))
        else:
            self.send(cmd.RestartClocks("test"))

    def between(self) -> None:
        """Pay out who left, have nearly everybody back who sits out; some are out for too long."""
        self.settle()
        if any(sitting.out_until_ms for sitting in self.state.sittings.values()) and self.rng.random() < 0.1:
            self.now_ms += 5_000
            self.send(cmd.Tick())
        for sitting in list(self.state.sittings.values()):
            if sitting.status is Sit.CASHING_OUT:
                self.send(cmd.RecordCashOut(sitting.sitting_no, sitting.claim or 0))
            elif sitting.status is Sit.SEATED and sitting.sitting_out and sitting.stack and self.rng.random() < 0.9:
                self.send(cmd.SitIn(sitting.account))

    @property
    def can_play(self) -> bool:
        sittings = self.state.sittings.values()
        return sum(s.status is Sit.SEATED and s.stack > 0 and not s.sitting_out for s in sittings) > 1
