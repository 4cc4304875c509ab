"""Rule vectors C.9: showdown, show and muck (rows 117-127)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.rejection import Reason
from stud_core.ruleset import Ruleset
from tests.support.core_table import STACK, account, knobs, none, only
from tests.support.table_driver import TableDriver, deal
from tests.vectors.positions import LEADER, both, playnow

# With the boards of LEADER: nothing for anybody, and what makes each the winner.
NOTHING = {1: "5s 4h 3d", 2: "5d 4c 3c", 3: "9d Th Js"}
WINNING = {1: "As Ad 2h", 2: "Qs Qd Qh", 3: "2d 2h 2s"}


def on_the_river(rules: Ruleset, best: int, players: int = 3, **options: Any) -> TableDriver:
    """All checked to the river; S1 is first; ``best`` has the winning hand, the others have nothing."""
    seats = range(1, players + 1)
    down = {seat: (WINNING if seat == best else NOTHING)[seat] for seat in seats}
    table = deal(rules, up={seat: LEADER[seat] for seat in seats}, down=down, **options)
    table.passively_to(7)
    assert table.turn == 1
    return table


def told(table: TableDriver) -> set[int]:
    """Every card number that an event of this hand showed of somebody's down cards."""
    return {card for event in table.events(ev.HandShown) for card in event.cards}


@playnow
def test_vector_117_the_bettor_shows_first(rules: Ruleset):
    """The row; as S1 folds it does not tell the bettor from who comes first after S1: the two tests below do."""
    table = on_the_river(rules, best=3)
    table.play("1 check", "2 bet 1000", "3 call", "1 fold")
    assert table.showdown() == [("shown", 2), ("shown", 3)]


@pytest.mark.rules("P37", "P39")
@playnow
def test_vector_117_the_bettor_shows_before_a_caller_who_acted_first_and_wins(rules: Ruleset):
    table = on_the_river(rules, best=1)
    table.play("1 check", "2 bet 1000", "3 fold", "1 call")
    assert table.showdown() == [("shown", 2), ("shown", 1)]


@pytest.mark.rules("P37", "P39")
@playnow
def test_vector_117_the_bettor_shows_before_who_acted_first(rules: Ruleset):
    table = on_the_river(rules, best=2, showing=[1])
    table.play("1 check", "2 check", "3 bet 1000", "1 call", "2 call")
    table.timeout()
    assert table.showdown() == [("shown", 3), ("asked", 1), ("shown", 2), ("mucked", 1)]


@pytest.mark.rules("P40", "P54")
@playnow
def test_vector_118_the_raiser_shows_first(rules: Ruleset):
    """He shows before the bettor."""
    table = on_the_river(rules, best=2, players=2)
    table.play("1 check", "2 bet 1000", "1 raise 2000", "2 call")
    assert table.showdown() == [("shown", 1), ("shown", 2)]


@pytest.mark.rules("P37", "P40")
@playnow
def test_vector_118_the_raiser_shows_before_bettor_and_first_to_act(rules: Ruleset):
    table = on_the_river(rules, best=2, showing=[1])
    table.play("1 check", "2 bet 1000", "3 raise 2000", "1 call", "2 call")
    table.timeout()
    assert table.showdown() == [("shown", 3), ("asked", 1), ("shown", 2), ("mucked", 1)]


@pytest.mark.rules("P38")
@playnow
def test_vector_119_the_first_option_shows_first(rules: Ruleset):
    boards = {1: LEADER[3], 2: LEADER[2], 3: LEADER[1]}
    table = deal(rules, up=boards, down={1: "9d 5s 4h", 2: "Qs Qd Qh", 3: "Ad 2d 4c"})
    table.passively_to(7)
    assert table.turn == 3
    table.play("3 check", "1 check", "2 check")
    assert [seat for _, seat in table.showdown()] == [3, 1, 2]
    assert table.showdown()[0] == ("shown", 3)


@pytest.mark.rules("P37", "P38")
@playnow
def test_a_bet_of_an_earlier_round_makes_nobody_show_first(rules: Ruleset):
    """S2 bet sixth street; on the river everybody checks, and S1 was asked first."""
    table = deal(rules, up={seat: LEADER[seat] for seat in (1, 2, 3)}, down=NOTHING | {1: WINNING[1]})
    table.passively_to(6)
    table.play("1 check", "2 bet 1000", "3 call", "1 call", "1 check", "2 check", "3 check")
    assert table.showdown() == [("shown", 1), ("mucked", 2), ("mucked", 3)]


@pytest.mark.rules("P37", "P43")
@playnow
def test_vector_120_the_last_aggressor_always_shows(rules: Ruleset):
    """S2 bets last and loses to S1, who acted first: he shows all the same, and before S1."""
    table = on_the_river(rules, best=1)
    hidden = table.dealer.open(table.hand.down[2])
    table.play("1 check", "2 bet 1000", "3 fold", "1 raise 2000", "2 raise 3000", "1 call")
    assert table.state.sittings[2].muck_losing
    assert set(table.won()) == {1}
    assert table.showdown() == [("shown", 2), ("shown", 1)]
    assert set(table.events(ev.HandShown)[0].cards) == set(hidden)
    assert none(table.events(), ev.ShowPrompted)


@pytest.mark.rules("P43", "P44")
@playnow
def test_vector_121_a_losing_caller_mucks_by_himself(rules: Ruleset):
    table = on_the_river(rules, best=2)
    hidden = set(table.dealer.open(table.hand.down[3]))
    table.play("1 check", "2 bet 1000", "3 call", "1 fold")
    assert table.showdown() == [("shown", 2), ("mucked", 3)]
    assert none(table.events(), ev.ShowPrompted)
    assert not hidden & told(table)
    only(table.events(), ev.HandEnded)


@pytest.mark.rules("P43", "P45")
@playnow
@pytest.mark.parametrize("answer", ["timeout", "muck", "show"])
def test_vector_122_a_losing_caller_is_asked(rules: Ruleset, answer: str):
    table = on_the_river(rules, best=2, showing=[3])
    hidden = set(table.dealer.open(table.hand.down[3]))
    last = table.play("1 check", "2 bet 1000", "3 call", "1 fold")
    prompt = only(last, ev.ShowPrompted)
    assert (prompt.seat, prompt.kind, prompt.deadline_ms) == (3, ev.PromptKind.LOSER, table.now_ms + 10_000)
    if answer == "timeout":
        table.timeout()
    else:
        table.choose(3, show=answer == "show")
    if answer == "show":
        assert table.showdown() == [("shown", 2), ("asked", 3), ("shown", 3)]
        assert hidden <= told(table)
    else:
        assert table.showdown() == [("shown", 2), ("asked", 3), ("mucked", 3)]
        assert not hidden & told(table)
    only(table.events(), ev.HandEnded)
    assert none(table.events(), ev.SatOut), "a missed show prompt sits nobody out (B.18)"


@pytest.mark.rules("P44", "P45")
@playnow
@pytest.mark.parametrize("showing", [[], [3]])
def test_muck_losing_hands_is_switched_off_and_on(rules: Ruleset, showing: list[int]):
    """Until he says otherwise it is as he chose when he sat down; his last word counts."""
    table = on_the_river(rules, best=2, showing=showing)
    table.send(cmd.SetPreferences(account(3), muck_losing=bool(showing)))
    table.play("1 check", "2 bet 1000", "3 call", "1 fold")
    assert table.showdown() == [("shown", 2), ("mucked" if showing else "asked", 3)]


@pytest.mark.rules("P44", "P45")
@pytest.mark.knob("muck_losing_default", True, False)
@playnow
@pytest.mark.parametrize("default", [None, True, False])
def test_who_says_nothing_mucks_losing_hands_where_the_ruleset_says_so(rules: Ruleset, default: bool | None):
    """The page's own setting is on."""
    turned = rules if default is None else knobs(rules, muck_losing_default=default)
    table = TableDriver(turned, {1: STACK, 2: STACK}, up=LEADER, down=NOTHING | {2: WINNING[2]})
    asked = only(table.send(cmd.TakeSeat(account(3), 3, STACK, auto_post=True)), ev.BuyInRequested)
    table.send(cmd.RecordFunding(asked.sitting_no, STACK))
    table.start()
    table.passively_to(7)
    table.play("1 check", "2 bet 1000", "3 call", "1 fold")
    assert table.showdown() == [("shown", 2), ("asked" if default is False else "mucked", 3)]


@pytest.mark.rules("P46")
@playnow
@pytest.mark.parametrize("showing", [[], [3]])
def test_vector_123_a_winning_caller_is_shown(rules: Ruleset, showing: list[int]):
    table = on_the_river(rules, best=3, showing=showing)
    table.play("1 check", "2 bet 1000", "3 call", "1 fold")
    assert table.showdown() == [("shown", 2), ("shown", 3)]
    assert set(table.won()) == {3}
    assert none(table.events(), ev.ShowPrompted)


@pytest.mark.rules("P41", "P42")
@playnow
@pytest.mark.parametrize("answer", ["timeout", "muck", "show"])
def test_vector_124_an_uncalled_winner_chooses(rules: Ruleset, answer: str):
    table = on_the_river(rules, best=1)
    down = table.dealer.open(table.hand.down[1])
    assert len(down) == 3
    last = table.play("1 bet 1000", "2 fold", "3 fold")
    assert none(last, ev.HandShown)
    prompt = only(last, ev.ShowPrompted)
    assert (prompt.seat, prompt.kind) == (1, ev.PromptKind.UNCALLED_WINNER)
    assert prompt.deadline_ms == table.now_ms + 10_000
    only(last, ev.PotAwarded)  # the pot is paid before the answer (B.15)
    if answer == "timeout":
        table.timeout()
    else:
        table.choose(1, show=answer == "show")
    shown = table.events(ev.HandShown)
    if answer == "show":
        assert [(e.seat, set(e.cards)) for e in shown] == [(1, set(down))]
    else:
        assert shown == []
    only(table.events(), ev.HandEnded)


@playnow
def test_vector_124_others_cannot_answer_their_prompt(rules: Ruleset):
    table = on_the_river(rules, best=1)
    last = table.play("1 bet 1000", "2 fold", "3 fold")
    number = only(last, ev.ShowPrompted).prompt_id
    assert table.reject(cmd.ChooseShow(account(2), number, show=True, cards=(0, 1, 2))).reason is Reason.NO_PROMPT
    assert table.reject(cmd.ChooseShow(account(1), number - 1, show=False)).reason is Reason.STALE_PROMPT


@both
def test_vector_125_the_side_pot_is_settled_first(rules: Ruleset):
    """S1 is all-in with the best board and the best hand; S2 and S3 play on."""
    table = deal(
        rules,
        up={1: "Ac Kd Jh 9s", 2: "Qc Td 8h 6s", 3: "2c 7d 5h 3s"},
        down={1: "As Ad 2h", 2: "Qs Qd 4c", 3: "7s 7h 4d"},
        stacks={1: 50},
    )
    table.passively_to(7)
    assert table.hand.first in {1, 2}
    table.play("2 bet 1000", "3 call")
    assert [seat for _, seat in table.showdown()] == [2, 3, 1]
    assert table.showdown()[0] == ("shown", 2)
    assert table.showdown()[-1] == ("shown", 1)


@both
def test_vector_125_also_where_the_all_in_player_sits_between(rules: Ruleset):
    """S3 bets last; clockwise S1 would come before S2, but S2 and S3 settle the side pot first."""
    table = deal(
        rules,
        up={1: "Ac Kd Jh 9s", 2: "Qc Td 8h 6s", 3: "2c 7d 5h 3s"},
        down={1: "As Ad 2h", 2: "Qs Qd 4c", 3: "7s 7h 4d"},
        stacks={1: 50},
    )
    table.passively_to(7)
    table.play("2 check", "3 bet 1000", "2 call")
    assert table.showdown() == [("shown", 3), ("shown", 2), ("shown", 1)]


@both
def test_vector_126_no_card_is_turned_before_the_showdown(rules: Ruleset):
    called = {1: 50 + 250 + 1000, 2: 50 + 250 + 1000, 3: 50 + 250 + 1000}
    # S2 pairs his queen on sixth street, which takes the lead from S1.
    up = {1: "Ac Kd Jh 9s", 2: "Qc Td 8h Qd", 3: "2c 7d 5h 3s"}
    down = {1: "As 6d 2h", 2: "4s 6c 2d", 3: "7s 7h 4d"}
    table = deal(rules, up=up, down=down, stacks=called, bring_in=250)
    table.passively_to(5)
    table.play("1 bet 1000", "2 call", "3 call")
    events = table.events()
    river = max(i for i, e in enumerate(events) if isinstance(e, ev.CardsDealt))
    shown = [i for i, e in enumerate(events) if isinstance(e, ev.HandShown)]
    assert shown
    assert min(shown) > river
    assert only(events[river:], ev.CardsDealt).street == 7
    assert [a for a in events[shown[0] :] if isinstance(a, ev.ActionTaken)] == []
    assert [seat for _, seat in table.showdown()] == [2, 3, 1]
    assert table.showdown()[0] == ("shown", 2)


@pytest.mark.rules("P46", "W23")
@both
def test_vector_127_a_winning_called_hand_cannot_be_folded(rules: Ruleset):
    table = on_the_river(rules, best=3, showing=[1, 2, 3])
    turn = table.hand.turn_id
    table.play("1 check", "2 bet 1000", "3 call", "1 call")
    # S1 is asked whether he shows; the winner is not, and has nothing left to give away.
    assert set(table.won()) == {3}
    assert [e.seat for e in table.events(ev.ShowPrompted)] == [1]
    number = table.events(ev.ShowPrompted)[0].prompt_id
    photo = msgspec.msgpack.encode(table.state)
    table.reject(cmd.Act(account(3), turn, ev.Verb.FOLD))
    table.reject(cmd.ChooseShow(account(3), number, show=False))
    assert msgspec.msgpack.encode(table.state) == photo
    table.timeout()
    ended = only(table.events(), ev.HandEnded)
    assert {d.account: d.delta > 0 for d in ended.deltas} == {"a1": False, "a2": False, "a3": True}
