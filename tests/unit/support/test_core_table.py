"""The harness of the core: what a command writes, what a refusal leaves, and a dealer that deals once."""

from collections import Counter
from random import Random

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.cards import DECK_SIZE
from stud_core.presets import PLAYNOW, RULESETS, table_config
from stud_core.rejection import Reason, Rejection
from stud_core.ruleset import Ruleset
from tests.support import core_table
from tests.support.choosing import LIVELY, STAY, Weights, choose
from tests.support.clear_dealer import ClearDealer
from tests.support.core_table import FREE, CoreTable, Refused, kinds, knobs
from tests.support.table_dealer import Dealer


def table(players: int = 3, rules: Ruleset = PLAYNOW) -> CoreTable:
    found = CoreTable(table_config(knobs(rules, **FREE), currency="XTS"), ClearDealer())
    found.sit_all(dict.fromkeys(range(1, players + 1), 10_000))
    return found


def play_out(of: CoreTable, rng: Random, weights: Weights = STAY) -> None:
    while of.running:
        if of.turn is None:
            of.timeout()
        else:
            of.take(choose(rng, of.hand.options, weights, other=0))


def test_a_showdown_is_part_of_the_commit_that_led_to_it():
    ours = table()
    ours.start()
    play_out(ours, Random(1))
    (last,) = [events for _, events in ours.log if any(isinstance(event, ev.HandEnded) for event in events)]
    names = kinds(last)
    assert names[0] == "ActionTaken"
    assert names.index("HandShown") < names.index("PotAwarded") < names.index("HandEnded")


def test_versions_follow_one_another():
    ours = table()
    ours.start()
    play_out(ours, Random(1))
    assert [version for version, _ in ours.log] == list(range(1, ours.state.version + 1))


def test_a_showdown_that_is_refused_is_a_fault():
    """Cards that lie on the table already cannot be anybody's down cards."""

    class Twice(ClearDealer):
        def open(self, down: tuple[ev.DownCard, ...]) -> tuple[int, ...]:
            return super().open(down[:1]) * len(down)

    ours = CoreTable(table_config(knobs(PLAYNOW, **FREE), currency="XTS"), Twice())
    ours.sit_all({1: 10_000, 2: 10_000})
    ours.start()
    with pytest.raises(Refused, match="Showdown"):
        play_out(ours, Random(1))
    assert ours.turn, "nothing of the commit was taken over"


def test_what_is_refused_leaves_nothing():
    ours = table()
    before, length = ours.state, len(ours.log)
    answer = ours.offer(cmd.TakeSeat("a9", 1, 10_000))
    assert isinstance(answer, Rejection)
    assert (ours.state, len(ours.log)) == (before, length)
    with pytest.raises(Refused, match="SEAT_TAKEN") as refused:
        ours.send(cmd.TakeSeat("a9", 1, 10_000))
    assert refused.value.rejection.reason is Reason.SEAT_TAKEN


def test_an_illegal_action_says_what_would_have_been_legal():
    ours = table()
    ours.start()
    with pytest.raises(Refused, match=r"legal \['bring_in"):
        ours.send(cmd.Act(ours.on_turn, ours.hand.turn_id, ev.Verb.RAISE, 77))


def test_a_command_of_which_nothing_comes_is_no_commit():
    ours = table()
    length = len(ours.log)
    assert ours.send(cmd.Tick()) == []
    assert len(ours.log) == length


def test_the_dealer_deals_once_however_often_it_is_asked():
    ours = table()
    ours.auto_deal = False
    ours.start()
    ahead = [ours.dealt_ahead]
    first = ours.answer()
    assert ours.answer() is first
    ahead.append(ours.dealt_ahead)
    ours.commit(first)
    assert [*ahead, ours.dealt_ahead] == [False, True, False]
    assert ours.turn is not None


def test_a_deck_of_which_nothing_was_dealt_stays():
    ours = table(2)
    ours.send(cmd.SetPreferences("a2", auto_post=False))
    ours.start()
    ours.send(cmd.PostAnte("a2", ours.hand.prompts[0].prompt_id, post=False))
    assert ours.happened(ev.AntesReturned)
    ours.send(cmd.SitIn("a2"))
    ours.send(cmd.SetPreferences("a2", auto_post=True))
    ours.start()
    assert ours.turn is not None
    assert len(ours.happened(ev.DeckReady)) == 1


def test_time_does_not_go_back_when_a_clock_runs_out():
    ours = table()
    ours.start()
    late = ours.now_ms = ours.hand.deadline_ms + 60_000
    ours.timeout()
    assert ours.now_ms == late + 1


@pytest.mark.parametrize("rules", RULESETS.values(), ids=lambda rules: rules.name)
@pytest.mark.parametrize("players", [2, 7, 8])
def test_the_clear_dealer_deals_what_the_checking_one_does(rules: Ruleset, players: int):
    """Seat by seat and card by card: eight who stay run the deck short."""

    class Both(ClearDealer):
        def __init__(self) -> None:
            super().__init__()
            self.other = InOrder(rules.burns, {}, {}, None, Random(0))

        def new_deck(self) -> None:
            super().new_deck()
            if hasattr(self, "other"):
                self.other.new_deck()
                self.other.river_rank = list(self.river_rank)

        def answer(self, request: ev.DealRequested) -> cmd.RecordCards:
            ours, theirs = super().answer(request), self.other.answer(request)
            assert (ours.up, ours.community) == (theirs.up, theirs.community)
            assert [(box.seat, box.pos) for box in ours.down] == [(box.seat, box.pos) for box in theirs.down]
            assert self.open(ours.down) == self.other.open(theirs.down)
            return ours

    class InOrder(Dealer):
        def choose(self, position: int, wanted: list[int] | None) -> int:
            return dealer.order[position]

    dealer = Both()
    ours = CoreTable(table_config(knobs(rules, **FREE), currency="XTS"), dealer)
    ours.sit_all(dict.fromkeys(range(1, players + 1), 10_000))
    rng = Random(players)
    dealer.bring(rng.sample(range(DECK_SIZE), DECK_SIZE), rng.sample(range(DECK_SIZE), DECK_SIZE))
    ours.start()
    play_out(ours, rng)
    assert len(ours.happened(ev.HandEnded)) == 1


def test_a_choice_keeps_to_its_weights():
    options = [ev.Option(verb, 0, 0, None, all_in=False) for verb in (ev.Verb.FOLD, ev.Verb.CALL, ev.Verb.RAISE)]
    rng = Random(3)
    chosen = Counter(choose(rng, options, LIVELY, other=0).verb for _ in range(400))
    assert 200 < chosen[ev.Verb.CALL] < 400
    assert chosen[ev.Verb.FOLD] + chosen[ev.Verb.CALL] == 400
    assert {choose(rng, options, STAY, other=0).verb for _ in range(50)} == {ev.Verb.CALL}
    assert {choose(rng, options).verb for _ in range(100)} == {ev.Verb.FOLD, ev.Verb.CALL, ev.Verb.RAISE}


def test_only_and_none_mean_it():
    with pytest.raises(AssertionError, match="2 x Tick"):
        core_table.only([cmd.Tick(), cmd.Tick()], cmd.Tick)
    assert core_table.none([cmd.Tick()], cmd.StartHand)
    assert not core_table.none([cmd.Tick()], cmd.Tick)
