"""What people see: the public view, each owner's private part, and nothing of anybody else's."""

import asyncio
from typing import Any

from msgspec.structs import replace

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core.events import By, Verb
from stud_core.hand_words import hand_in_words
from stud_core.state import Phase
from table_service import updates, views
from table_service.hub import Viewer
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.streams import update_of
from tests.support.system_memory import MemorySystem, simulated


def collect(viewer: Viewer) -> list[pb.TableUpdate]:
    return [update_of(viewer.queue.get_nowait()) for _ in range(viewer.queue.qsize())]


def numbers(cards: Any) -> tuple[int, ...]:
    return tuple(int(card) - 1 for card in cards)


async def get(game: Game, account: str, *roles: str) -> pb.TableUpdate:
    answer = await game.system.call("GetTable", pb.GetTableRequest(table=game.id), account, *roles)
    update: pb.TableUpdate = answer.update
    return update


@simulated
async def test_vector_035_down_cards_appear_only_in_their_own_seats_view(tmp_path):
    """Over whole hands, every message of every viewer; what was shown at showdown is in nobody's secret any more."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        names = ["ada", "bea", "cleo", "dora"]
        await game.begin(4)
        viewers = {name: Viewer(name, limit=10_000) for name in [*names, "eve", "olga"]}
        for viewer in viewers.values():
            game.actor.hub.add(viewer)
        secret: dict[int, dict[str, tuple[int, ...]]] = {}
        while game.table.verified_hand < 3:
            await game.step()
            if game.table.hand is not None and game.table.hand.phase is not Phase.ANTES:
                cards = {name: game.cards(name) for name in names}
                secret[game.hand.hand_no] = cards
        seen = {name: collect(viewer) for name, viewer in viewers.items()}
        mine_seen = 0
        for name, got in seen.items():
            for update in got:
                if not update.view.phase:
                    assert not update.mine.down
                    continue
                own = numbers(update.mine.down)
                known = secret[update.view.hand_no]
                assert own == (known[name][: len(own)] if name in names else ())
                mine_seen += bool(own)
                public = pb.TableUpdate()
                public.CopyFrom(update)
                public.ClearField("mine")
                for seat in public.view.seats:
                    hidden = set(known[seat.account]) if seat.account in names else set()
                    assert not hidden & set(numbers(seat.up))
                    assert not seat.shown or set(numbers(seat.shown)) <= hidden
                for event in public.events:
                    assert all(not card.sealed for card in event.cards_dealt.down)
        assert mine_seen > 40


@simulated
async def test_the_public_bytes_are_the_same_for_everybody(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        ada, eve = Viewer("ada"), Viewer("eve")
        game.actor.hub.add(ada)
        game.actor.hub.add(eve)
        await game.act()
        his, hers = ada.queue.get_nowait(), eve.queue.get_nowait()
        assert isinstance(his, updates.Outgoing)
        assert isinstance(hers, updates.Outgoing)
        assert his.shared is hers.shared
        assert not update_of(hers).HasField("mine")
        assert update_of(his).mine.seat == 1


@simulated
async def test_whose_turn_it_is_and_what_is_legal_is_seen_by_them_alone(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        ada = await game.until_turn(street=4)
        other = next(s.account for s in game.table.sittings.values() if s.account != ada)
        his, others = await get(game, ada), await get(game, other)
        assert his.view == others.view
        assert (his.mine.turn_id, others.mine.turn_id) == (game.hand.turn_id, 0)
        assert [(o.verb, o.to) for o in his.mine.options] == [(int(o.verb), o.to) for o in game.hand.options]
        assert not others.mine.options
        turn = his.view.turn
        assert (turn.turn_id, turn.seat, turn.to_call) == (game.hand.turn_id, game.hand.turn_seat, 0)
        assert turn.deadline_ms == game.hand.deadline_ms


@simulated
async def test_a_view_has_all_that_is_needed_to_draw_the_table(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn(street=5)
        update = await get(game, "eve")
        assert update.reset
        assert (update.version, update.head_hash) == (game.actor.head.version, game.actor.head.hash)
        view = update.view
        assert (view.street, view.phase, view.hand_no) == (5, pb.HAND_PHASE_BETTING, 1)
        assert view.commitment == game.table.commitment
        assert view.config.table_id == "t-1"
        assert [seat.account for seat in view.seats] == ["ada", "bea", "cleo", "", "", "", "", ""]
        for seat in list(view.seats)[:3]:
            assert (len(seat.up), seat.down_count, seat.dealt_in, seat.live) == (3, 2, True, True)
            assert numbers(seat.up) == game.hand.up[seat.seat]
            assert seat.paid == game.hand.paid[seat.seat]
        assert view.pot_total == sum(game.hand.paid) == view.pots[0].amount
        assert list(view.pots[0].seats) == [1, 2, 3]


@simulated
async def test_the_river_adds_a_down_card_and_a_fold_keeps_ones_own_cards_visible(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        ada = await game.until_turn(street=7)
        assert len((await get(game, ada)).mine.down) == 3
        assert {seat.down_count for seat in (await get(game, "eve")).view.seats if seat.account} == {3}
        option = next(o for o in game.hand.options if o.verb.name == "FOLD")
        cards = game.cards(ada)
        await game.send(ada, game.act_request(option))
        assert numbers((await get(game, ada)).mine.down) == cards


@simulated
async def test_a_seat_shows_what_its_player_did_last(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        did: dict[str, tuple[int, int, int]] = {}
        for _ in range(5):
            told = {s.account: s.last_action for s in (await get(game, "eve")).view.seats if s.HasField("last_action")}
            assert {name: (action.verb, action.to, action.street) for name, action in told.items()} == did
            account, street, option = game.on_turn, game.hand.street, game.choose(STAY)
            await game.send(account, game.act_request(option))
            did[account] = (int(option.verb), 0 if option.verb is Verb.CHECK else option.to, street)
            await game.until_turn(street)
        assert len(did) == 3
        await game.play(1)
        assert not any(seat.HasField("last_action") for seat in (await get(game, "eve")).view.seats)


@simulated
async def test_how_an_action_was_made_is_seen_but_not_that_it_was_chosen_ahead(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        seat = game.hand.turn_seat
        await game.act()
        taken = game.hand.taken[seat]
        assert taken is not None
        told = {}
        for by in By:
            game.hand.taken[seat] = (taken[0], replace(taken[1], by=by))
            told[by] = views.table_view(game.table).seats[seat - 1].last_action.by
        assert told == {
            By.PLAYER: seat_pb2.ACTION_ORIGIN_PLAYER,
            By.TIMEOUT: seat_pb2.ACTION_ORIGIN_TIMEOUT,
            By.PRE_ACTION: seat_pb2.ACTION_ORIGIN_PLAYER,
            By.LEAVING: seat_pb2.ACTION_ORIGIN_LEAVING,
        }


@simulated
async def test_what_a_hand_makes_is_said_to_its_owner_and_of_what_was_shown_to_all(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        shown = 0
        while game.table.verified_hand < 4:
            await game.step()
            looks = {name: await get(game, name) for name in ("ada", "bea", "cleo", "eve")}
            assert not looks["eve"].mine.hand_in_words
            for name in ("ada", "bea", "cleo"):
                mine, view = looks[name].mine, looks[name].view
                seat = next(s for s in view.seats if s.account == name)
                community = [view.community] if view.community else []
                assert mine.hand_in_words == hand_in_words(
                    numbers([*mine.down, *seat.up, *community]) if mine.down else ()
                )
            for seat in looks["eve"].view.seats:
                assert bool(seat.hand_in_words) is bool(seat.shown)
            for over in looks["eve"].view.last_hand.seats:
                common = looks["eve"].view.last_hand.community
                cards = numbers([*over.shown, *over.up, *([common] if common else [])]) if over.shown else ()
                assert over.hand_in_words == hand_in_words(cards)
                shown += bool(cards)
        assert shown


@simulated
async def test_prompts_are_asked_of_who_must_answer(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        for name in ("ada", "bea"):
            await game.seat(name, auto_post=False)
        await game.until(lambda t: t.hand is not None and t.hand.prompts)
        his = await get(game, "ada")
        (prompt,) = his.mine.prompts
        assert (prompt.kind, prompt.amount) == (seat_pb2.PROMPT_KIND_UNSPECIFIED, 50)
        assert prompt.deadline_ms == his.view.prompt_deadline_ms == game.hand.prompts[0].deadline_ms
        assert [seat.ante_prompted for seat in his.view.seats][:3] == [True, True, False]
        assert not (await get(game, "eve")).mine.prompts
        for name in ("ada", "bea"):
            await game.send(name, pb.PostAnteRequest(prompt_id=prompt.prompt_id))
        await game.until(lambda t: t.hand is not None and t.hand.turn_seat)
        await game.act({Verb.BRING_IN: 1})
        await game.act({Verb.FOLD: 1})
        assert game.hand.phase is Phase.SHOW_PROMPTS
        winner = game.table.at(game.hand.prompts[0].seat).account
        his = await get(game, winner)
        assert [p.kind for p in his.mine.prompts] == [seat_pb2.PROMPT_KIND_UNCALLED_WINNER]
        assert [seat.account for seat in his.view.seats if seat.show_prompted] == [winner]
        cards = game.cards(winner)
        viewer = Viewer("eve")
        game.actor.hub.add(viewer)
        await game.send(winner, pb.ChooseShowRequest(prompt_id=his.mine.prompts[0].prompt_id, show=True))
        (event,) = [e for u in collect(viewer) for e in u.events if e.WhichOneof("body") == "hand_shown"]
        assert numbers(event.hand_shown.cards) == cards


@simulated
async def test_why_nothing_happens_is_said(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        await asyncio.sleep(0.1)
        assert (await get(game, "eve")).view.waiting_for == "TOO_FEW_PLAYERS"
        await game.operate(pb.PauseTableRequest(reason="lunch"))
        view = (await get(game, "eve")).view
        assert (view.waiting_for, view.paused) == ("PAUSED", "lunch")
        await game.operate(pb.DrainTableRequest())
        assert (await get(game, "eve")).view.life == pb.TABLE_LIFE_DRAINING


@simulated
async def test_a_seat_on_its_way_is_ones_own_already_and_a_seat_given_up_no_more(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        await game.seat("ada", auto_post=False, muck_losing=False)
        mine = (await get(game, "ada")).mine
        assert (mine.sitting_no, mine.seat, mine.auto_post, mine.muck_losing) == (1, 1, False, False)
        await system.crash("wallet")
        await game.send("ada", pb.LeaveSeatRequest())
        sitting = game.table.of("ada")
        assert sitting is not None
        assert views.sitting_of(game.table, "ada") is None  # it is being paid out; the seat is free
        assert not (await get(game, "ada")).HasField("mine")


def test_a_table_that_was_never_opened_has_an_empty_row():
    from stud_core.state import Table
    from stud_eventlog.types import Head

    assert views.summary(Table()) == pb.TableSummary()
    assert (
        update_of(updates.Outgoing(updates.present("", views.PublicView().draw(Table()), Head(), 0).shared)).version
        == 0
    )
