"""Random hands with everything that can happen at a table: the invariants of ``House`` after every event."""

from __future__ import annotations

from random import Random

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.decide import decide
from stud_core.evolve import fold
from stud_core.gate import hand_gate
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.rejection import Rejection
from stud_core.ruleset import HeadsUp, OddUnits, OpenPair, RiverShortage, Ruleset, ShortAllIn, TopUp
from stud_core.state import Life, Phase, Sit
from tests.support.core_table import FREE, knobs
from tests.support.deep import either
from tests.unit.core.house import House

RULESETS = {
    "playnow": PLAYNOW,
    "william_hill": WILLIAM_HILL,
    "loose": knobs(
        PLAYNOW,
        **FREE,
        heads_up=HeadsUp.ROUND_START,
        open_pair=OpenPair.HOLDER_ONLY,
        short_all_in=ShortAllIn.FULL_BET,
        river_shortage=RiverShortage.COMMUNITY,
        river_burn_reserve=2,
        odd_units=OddUnits.HIGH_CARD_BY_SUIT,
        completion_counts_as_raise=True,
        rake_bps=500,
        rake_cap=90,
        no_rake_before_fourth=False,
    ),
    "strict": knobs(
        WILLIAM_HILL,
        **FREE,
        heads_up=HeadsUp.HAND_START,
        short_all_in=ShortAllIn.ANY,
        river_shortage=RiverShortage.RECYCLE_THEN_COMMUNITY,
        max_raises=1,
        away_folds_now=True,
        rake_bps=300,
    ),
}


class RandomHouse(House):
    def __init__(self, ruleset: Ruleset, rng: Random) -> None:
        self.rng = rng
        super().__init__(knobs(ruleset, **FREE, top_up=TopUp.ANY_AMOUNT), up={}, rng=rng)
        for seat in range(1, rng.randint(2, 8) + 1):
            self.join(seat)

    def join(self, seat: int | None = None) -> None:
        rng = self.rng
        stack = rng.choice([30, 120, 333, 777, 1_000, 2_500, 4_321, 20_000])
        sitting = self.sit(seat, stack, auto_post=rng.random() < 0.8, muck_losing=rng.random() < 0.6)
        assert sitting.stack == stack

    def attempt(self, command: cmd.Command) -> None:
        """Send a command that may be refused."""
        if isinstance(decide(self.state, command, self.ctx()), Rejection):
            self.reject(command)
        else:
            self.send(command)

    def act_somehow(self) -> None:
        hand, rng = self.hand, self.rng
        option = rng.choices(hand.options, [1 if o.verb is ev.Verb.FOLD else 4 for o in hand.options])[0]
        account = self.state.at(hand.turn_seat).account
        self.send(cmd.Act(account, hand.turn_id, option.verb, option.to, option.size))

    def answer_somehow(self) -> None:
        prompt = self.rng.choice(self.hand.prompts)
        account = self.state.at(prompt.seat).account
        yes = self.rng.random() < 0.7
        if self.hand.phase is Phase.ANTES:
            self.send(cmd.PostAnte(account, prompt.prompt_id, post=yes))
        else:
            cards = self.clear(self.hand, prompt.seat)
            self.send(cmd.ChooseShow(account, prompt.prompt_id, show=yes, cards=cards))

    def move(self) -> None:
        """One step of the running hand."""
        hand = self.hand
        if self.rng.random() < 0.03 and (hand.prompts or hand.turn_seat):
            self.tick(10_001)
        elif hand.deal is not None:
            self.send(self.answer())
        elif hand.prompts:
            self.answer_somehow()
        else:
            self.act_somehow()

    def disturb(self) -> None:
        """Something beside the hand."""
        rng, state = self.rng, self.state
        account = f"a{rng.randint(1, 8)}"
        kind = rng.randrange(8)
        if kind == 0:
            self.attempt(cmd.SitOut(account))
        elif kind == 1:
            self.attempt(cmd.SitIn(account))
        elif kind == 2 and rng.random() < 0.3:
            self.attempt(cmd.LeaveSeat(account))
        elif kind == 3:
            self.attempt(cmd.AddChips(account, rng.choice([-1, 5, 500, 4_000])))
        elif kind == 4:
            self.attempt(cmd.SetPreferences(account, auto_post=rng.random() < 0.8, muck_losing=rng.random() < 0.5))
        elif kind == 5:
            self.send(cmd.RestartClocks("test"))
        elif kind == 6 and rng.random() < 0.1 and state.hand is not None:
            self.attempt(cmd.VoidHand(state.hand.hand_no, "test", "op"))
        else:
            self.answer_the_wallet()

    def answer_the_wallet(self) -> None:
        rng = self.rng
        for sitting in list(self.state.sittings.values()):
            if sitting.top_up_open and rng.random() < 0.8:
                self.send(cmd.RecordTopUp(sitting.sitting_no, sitting.top_up_no, sitting.top_up_open))
            elif sitting.top_up_open:
                self.send(cmd.RecordTopUpDeclined(sitting.sitting_no, sitting.top_up_no, "INSUFFICIENT_FUNDS"))
            elif sitting.status is Sit.CASHING_OUT:
                self.send(cmd.RecordCashOut(sitting.sitting_no, sitting.claim or 0))

    def between(self) -> None:
        """The verdict, new players, the next deck and its antes."""
        state, rng = self.state, self.rng
        if state.ended_hand > state.verified_hand:
            number = state.ended_hand
            if rng.random() < 0.1:
                self.send(cmd.RecordDispute(number, 1, ("TEST",)))
                choice = ev.ResolutionChoice.VOID if rng.random() < 0.5 else ev.ResolutionChoice.TABLE
                self.send(cmd.RecordResolution(number, 2, choice, ()))
            else:
                self.send(cmd.RecordVerdict(number, 1))
        self.answer_the_wallet()
        for seat in range(1, 9):
            if not self.state.seats[seat] and self.state.of(f"a{seat}") is None and rng.random() < 0.4:
                self.join(seat)
        for sitting in list(self.state.sittings.values()):
            if sitting.sitting_out and rng.random() < 0.7:
                self.attempt(cmd.SitIn(sitting.account))
        self.ready_deck()
        self.attempt(cmd.StartHand())


@pytest.mark.parametrize("seed", range(either(12, 12, 3)))
@pytest.mark.parametrize("name", RULESETS)
def test_random_hands(name: str, seed: int):
    rng = Random(f"{name}-{seed}")
    house = RandomHouse(RULESETS[name], rng)
    steps = 0
    while house.state.hand_no < 12:
        steps += 1
        assert steps < 5_000, "the hands do not come to an end"
        if rng.random() < 0.1:
            house.disturb()
        elif house.state.hand is None:
            house.between()
        else:
            house.move()
    assert house.happened(ev.HandEnded)
    wind_up(house)
    assert fold(house.log) == house.state


def wind_up(house: RandomHouse) -> None:
    """Close the table: everybody is paid, nothing is left but the rake."""
    house.send(cmd.CloseTable("op"))
    while house.state.hand is not None:
        house.move()
    if house.state.ended_hand > house.state.verified_hand:
        house.send(cmd.RecordVerdict(house.state.ended_hand, 1))
    while house.state.sittings:
        house.answer_the_wallet()
    state = house.state
    assert state.life is Life.CLOSED
    assert hand_gate(state) == "CLOSED"
    assert state.paid_in - state.paid_out == state.rake_taken
    for ended in house.happened(ev.HandEnded):
        assert sum(delta.delta for delta in ended.deltas) + ended.rake == 0


def test_the_ranges_of_hands_tile_the_log():
    rng = Random(7)
    house = RandomHouse(PLAYNOW, rng)
    while house.state.ended_hand < 8:
        house.between() if house.state.hand is None else house.move()
    expected = 1
    for version, events in house.log:
        for event in events:
            if isinstance(event, ev.HandEnded | ev.HandVoided):
                assert event.from_version == expected
                expected = version + 1


@pytest.mark.parametrize("name", RULESETS)
def test_rounds_of_nothing_but_raises_end(name: str):
    """Stacks are finite: also uncapped betting comes to an end, with nobody raising what nobody can answer."""
    house = House(knobs(RULESETS[name], **FREE), {1: 30_000, 2: 30_000, 3: 7_000})
    house.start()
    actions = 0
    while house.state.hand is not None:
        option = house.hand.options[-1]
        house.act(house.hand.turn_seat, option.verb.name, option.to, option.size)
        actions += 1
        assert actions < 200
    assert house.happened(ev.HandEnded)
