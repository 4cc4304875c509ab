"""How a hand ended stays in the view until the next antes: for who saw it and for who comes late."""

from typing import Any

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as ev
from stud_core.events import Verb
from stud_core.state import Phase
from stud_wire.commits import decode_commit
from tests.support.choosing import LIVELY, STAY
from tests.support.playing_memory import Game
from tests.support.streams import Stream
from tests.support.system_memory import MemorySystem, simulated


async def view_of(game: Game, account: str = "eve") -> pb.TableView:
    answer = await game.system.call("GetTable", pb.GetTableRequest(table=game.id), account)
    view: pb.TableView = answer.update.view
    return view


def events_of(game: Game, hand_no: int) -> list[Any]:
    """The events of a hand, from its antes to its end."""
    out: list[Any] = []
    for commit, _ in game.system.store.data.logs[game.actor.stream]:
        for event in decode_commit(commit.body).events:
            if isinstance(event, ev.AntesOpened):
                out = []
            out.append(event)
            if isinstance(event, ev.HandEnded | ev.HandVoided) and event.hand_no == hand_no:
                return out
    raise AssertionError(f"hand {hand_no} has not ended")


def only(events: list[Any], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def numbers(cards: Any) -> tuple[int, ...]:
    return tuple(int(card) - 1 for card in cards)


def check(last: pb.LastHand, events: list[Any]) -> None:
    """Everything that the log has of the end, and no card that nobody showed."""
    (ended,) = only(events, ev.HandEnded)
    assert (last.hand_no, last.voided, last.rake) == (ended.hand_no, False, ended.rake)
    (started,) = only(events, ev.HandStarted)
    assert [seat.seat for seat in last.seats] == [player.seat for player in started.dealt_in]
    shown = {event.seat: (event.cards, event.rank) for event in only(events, ev.HandShown)}
    up: dict[int, tuple[int, ...]] = {}
    for dealt in only(events, ev.CardsDealt):
        for card in dealt.up:
            up[card.seat] = (*up.get(card.seat, ()), card.card)
    folded = {event.seat for event in only(events, ev.ActionTaken) if event.verb is Verb.FOLD}
    deltas = {delta.sitting_no: delta.delta for delta in ended.deltas}
    for seat in last.seats:
        assert (numbers(seat.shown), seat.rank) == shown.get(seat.seat, ((), 0))
        assert numbers(seat.up) == up[seat.seat]
        assert seat.live == (seat.seat not in folded)
        assert seat.won - seat.paid == deltas[seat.sitting_no]
    pots = [(pot.pot_no, pot.amount, pot.rake, [(s.seat, s.amount) for s in pot.shares]) for pot in last.pots]
    assert pots == [
        (pot.pot_no, pot.amount, pot.rake, [(share.seat, share.amount) for share in pot.shares])
        for pot in sorted(only(events, ev.PotAwarded), key=lambda pot: pot.pot_no)
    ]
    assert [pot.pot_no for pot in last.pots] == list(range(len(last.pots)))  # main pot first
    back = [(event.seat, event.amount) for event in only(events, ev.UncalledReturned)]
    assert [(part.seat, part.amount) for part in last.uncalled] == back
    assert sum(seat.paid for seat in last.seats) == sum(seat.won for seat in last.seats) + last.rake


@pytest.mark.parametrize("preset", ["playnow", "william_hill"])
def test_the_commit_that_ends_a_hand_shows_how_and_so_does_every_view_until_the_next_antes(tmp_path, preset):
    @simulated
    async def run() -> None:
        async with MemorySystem(tmp_path) as system:
            game = Game(system, seed=3)
            await game.begin(4, preset, hand_pause_ms=2000)
            eve = Stream(game, "eve", watch=True)
            await game.play(6, LIVELY)
            updates = [eve.answers.get_nowait().update for _ in range(eve.answers.qsize())]
            await eve.close()
            ends = kept = 0
            open_hand = 0
            for update in updates:
                names = [event.WhichOneof("body") for event in update.events]
                if "antes_opened" in names:
                    open_hand = next(e.antes_opened.hand_no for e in update.events if e.HasField("antes_opened"))
                    assert not update.view.HasField("last_hand")
                if "hand_ended" in names:
                    open_hand, ends = 0, ends + 1
                    assert update.view.phase == pb.HAND_PHASE_UNSPECIFIED
                if not open_hand and update.view.hand_no:
                    check(update.view.last_hand, events_of(game, update.view.hand_no))
                    kept += 1
            assert ends == 6
            assert kept > 2 * ends

    run()


@simulated
async def test_who_comes_late_or_after_a_restart_sees_the_same(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system, seed=1)
        await game.begin(3, hand_pause_ms=60_000)
        await game.play(1, STAY)
        before = (await view_of(game)).last_hand
        check(before, events_of(game, 1))
        await system.crash("table")
        await system.start("table")
        await system.actor(game.id)
        assert (await view_of(game)).last_hand == before


@simulated
async def test_while_players_are_asked_whether_to_show_the_pots_are_drawn_once(tmp_path):
    """They are in the stacks already; what is shown meanwhile is added."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system, seed=5)
        await game.open("playnow", hand_pause_ms=60_000)
        await game.operate(pb.PauseTableRequest(reason="seating"))
        for name in ("ada", "bea", "cleo"):
            await game.seat(name, muck_losing=False)
        await game.operate(pb.ResumeTableRequest())
        while game.table.hand is None or game.table.hand.phase is not Phase.SHOW_PROMPTS:
            await game.step(STAY)
        view = await view_of(game)
        assert view.phase == pb.HAND_PHASE_SHOW_PROMPTS
        assert (view.pot_total, len(view.pots)) == (0, 0)
        assert sum(seat.stack for seat in view.seats) + view.last_hand.rake == 30_000
        assert view.last_hand.hand_no == view.hand_no
        assert sum(pot.amount for pot in view.last_hand.pots) == sum(seat.paid for seat in view.last_hand.seats)
        prompt = game.hand.prompts[0]
        asked = game.table.at(prompt.seat).account
        await game.send(asked, pb.ChooseShowRequest(prompt_id=prompt.prompt_id, show=True))
        shown = {seat.seat: numbers(seat.shown) for seat in (await view_of(game)).last_hand.seats}
        assert len(shown[prompt.seat]) == 3


@simulated
async def test_a_hand_that_is_voided_shows_what_everybody_got_back(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3, hand_pause_ms=60_000)
        await game.until_turn(street=4)
        await game.act({Verb.BET: 1, Verb.FOLD: 0, Verb.CHECK: 0})
        await game.operate(pb.VoidHandRequest(hand_no=1, reason="power cut"))
        last = (await view_of(game)).last_hand
        assert (last.voided, len(last.pots), last.rake) == (True, 0, 0)
        assert all(seat.won == seat.paid for seat in last.seats)
        assert sum(seat.won for seat in last.seats) > 3 * 50
        assert not any(seat.shown for seat in last.seats)


@simulated
async def test_an_ante_that_was_returned_leaves_no_last_hand(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open(hand_pause_ms=60_000)
        for name in ("ada", "bea"):
            await game.seat(name, auto_post=False)
        await game.until(lambda table: table.hand is not None)
        await game.send("ada", pb.PostAnteRequest(prompt_id=game.hand.prompts[0].prompt_id))
        await game.send("bea", pb.PostAnteRequest(prompt_id=game.hand.prompts[0].prompt_id, decline=True))
        assert game.table.hand is None
        assert not (await view_of(game)).HasField("last_hand")


ALL_IN = {Verb.FOLD: 0, Verb.CHECK: 1, Verb.CALL: 3, Verb.BRING_IN: 1} | dict.fromkeys(
    (Verb.OPEN, Verb.COMPLETE, Verb.BET, Verb.RAISE), 9
)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("preset", ["playnow", "william_hill"])
def test_side_pots_stand_behind_the_main_pot_although_they_are_paid_before_it(tmp_path, preset, seed):
    @simulated
    async def run() -> None:
        async with MemorySystem(tmp_path) as system:
            game = Game(system, seed=seed)
            await game.open(preset, hand_pause_ms=60_000)
            await game.operate(pb.PauseTableRequest(reason="seating"))
            for name, amount in {"ada": 5_000, "bea": 6_000, "cleo": 7_500, "dora": 20_000}.items():
                await game.seat(name, amount)
            await game.operate(pb.ResumeTableRequest())
            await game.play(1, ALL_IN)
            last = (await view_of(game)).last_hand
            check(last, events_of(game, 1))
            assert len(last.pots) > 1

    run()


@simulated
async def test_the_button_stays_in_the_view_while_antes_are_asked_for(tmp_path):
    """0 says that there is none: where the dealer is fixed, and before the first hand."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.play(1, STAY)
        button = (await view_of(game)).button
        await game.send("ada", pb.SetPreferencesRequest(auto_post=False))
        eve = Stream(game, "eve", watch=True)
        await game.play(2, STAY)
        seen: dict[bool, set[int]] = {}
        for answer in [eve.answers.get_nowait() for _ in range(eve.answers.qsize())]:
            view = answer.update.view
            seen.setdefault(view.phase == pb.HAND_PHASE_ANTES, set()).add(view.button)
        await eve.close()
        assert button
        assert seen[True] == {button}
        assert 0 not in seen[False]
