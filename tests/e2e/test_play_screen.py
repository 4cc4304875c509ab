"""`stud play` and `stud watch` at real services, key by key: whole hands of both rulesets, prompts, chips, leaving,
an outage. After each evening every chip is counted.
"""

from __future__ import annotations

import asyncio

import pytest
from textual.widgets import Input

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.play.app import MOST_AT_ONCE
from stud_cli.play.screen import TableScreen
from tests.support.evening import LOSER, UNCALLED, Evening, evening, text_of
from tests.support.replayed import cards_in
from tests.support.system import Live, shared
from tests.support.told_tables import cards_of, last_of

pytestmark = [*shared("play"), pytest.mark.traced, pytest.mark.timeout(300)]

BOTH = ("playnow", "william_hill")


def fits(one: Evening, size: tuple[int, int] = (80, 24)) -> None:
    lines = one.text.splitlines()
    assert (len(lines), {len(line) for line in lines}) == (size[1], {size[0]})


@pytest.mark.parametrize("ruleset", BOTH)
async def test_hands_are_played_to_their_end_and_the_player_leaves_with_their_chips(live: Live, ruleset: str):
    async with evening(live, ruleset, bots=1) as one:
        await one.press("2")
        await one.until(lambda: not one.mine.muck_losing, "losing hands are asked about")
        wanted = {LOSER, UNCALLED}
        await one.play_until(lambda: one.app.seen.hands >= 4 and {kind for kind, _ in one.prompts} >= wanted)
        fits(one)
        stack = one.app.seen.my_seat
        assert stack is not None
        await one.press("l")
        if "A hand is running" in one.text:
            await one.press("y")
        await one.until(lambda: one.app.paid is not None, "the payment")
        await one.says("you left with")
        assert "j sit down" in one.text
        made_up, balance = one.app.purse.made_up, await one.app.purse.balance()
        assert one.app.paid is not None
        assert balance == made_up + one.app.net


async def test_a_spectator_beside_sees_the_same_table_and_no_down_card(live: Live):
    async with evening(live) as one:
        own = live.people.player(one.app.purse.account)
        async with own.watch(one.table) as watching:
            app = TableScreen(watching)
            async with app.run_test(size=(80, 24)) as pilot:
                looked = 0

                def look() -> bool:
                    nonlocal looked
                    view = app.seen.view
                    told = cards_in("\n".join(app.seen.said))
                    assert cards_in(text_of(app)) <= cards_of(view) | last_of(view) | told
                    looked += bool(app.seen.update and app.seen.update.mine.down)
                    return one.app.seen.hands >= 2

                await one.play_until(look)
                assert looked > 3, "its stream did bring the player's own cards"
                assert one.table in text_of(app)
                await pilot.press("q")
            assert app.return_code == 0


async def test_a_choice_ahead_is_shown_taken_back_and_carried_out(live: Live):
    async with evening(live, think_s=2.0) as one:

        def may_choose() -> bool:
            return not one.mine.turn_id and any("C call" in part for part in one.app.choices())

        async def chosen_ahead(key: str) -> None:
            while not one.mine.HasField("pre_action"):  # the turn may come while the key is pressed
                await one.play_until(may_choose, keys="c")
                await one.press(key)
                await one.until(lambda: one.mine.HasField("pre_action") or one.mine.turn_id, "a choice, or the turn")

        await one.play_until(may_choose, keys="c")
        one.app.action_act("c")  # at once: no turn can come between
        assert one.app.told == "it is not your turn: C chooses ahead"
        await chosen_ahead("C")
        assert "(chosen)" in one.text
        assert "x clear" in one.text
        await one.press("x")
        await one.until(lambda: not one.mine.HasField("pre_action"), "taken back, or carried out")
        await chosen_ahead("F")
        hand = one.app.seen.view.hand_no
        who = one.app.purse.account
        await one.until(lambda: not one.mine.HasField("pre_action"), "carried out")
        assert one.app.seen.view.hand_no == hand
        assert any(line in {f"{who} folds", f"{who} checks"} for line in list(one.app.seen.said)[-8:])


async def test_what_a_key_does_not_do_is_said_and_nothing_is_sent(live: Live):
    async with evening(live) as one:
        await one.turn()
        version = one.app.seen.update
        assert version is not None
        for key, said in [
            ("s", "nobody asks you to show"),
            ("p", "nobody asks you for an ante"),
            ("x", "nothing is chosen ahead"),
            ("F", "small letters act"),
            ("h", "h does nothing now"),
            ("t", "there is no time to be had now"),
        ]:
            await one.press(key)
            assert said in one.text, key
        await one.press("question_mark")
        assert "the same ahead of your turn" in one.text
        await one.press("escape")
        assert "third street" in one.text
        assert one.app.seen.update is not None
        assert one.app.seen.update.version == version.version


async def test_a_time_chip_gives_more_time(live: Live):
    async with evening(live, knobs={"time_bank_ms": 30_000, "time_bank_chips": 2}) as one:
        await one.play_until(lambda: one.mine.turn_id and "t more time" in one.text)
        deadline_ms = one.app.seen.view.turn.deadline_ms
        await one.press("t")
        await one.until(lambda: one.app.seen.view.turn.deadline_ms == deadline_ms + 30_000, "30 seconds more")
        assert any("takes more time" in line for line in one.app.seen.said)


async def test_whoever_leans_on_a_key_asks_for_a_few_things_at_once(live: Live):
    async with evening(live) as one:
        await one.turn()
        for _ in range(3 * MOST_AT_ONCE):
            one.app.action_prefer("muck_losing")
        assert len(one.app._tasks) == MOST_AT_ONCE
        assert one.app.told == "wait for the answers to what you have asked for"
        await one.until(lambda: not one.app._tasks, "answers")
        await one.press("c")
        await one.until(lambda: not one.app._tasks and one.app.seen.said, "the action")


async def test_folding_what_could_be_checked_is_asked_twice(live: Live):
    async with evening(live) as one:
        await one.play_until(lambda: any("c check" in part for part in one.app.choices()), keys="c")
        turn_id = one.mine.turn_id
        await one.press("f")
        assert "checking is free: f once more folds all the same" in one.text
        assert one.mine.turn_id == turn_id
        await one.press("f")
        await one.until(lambda: one.mine.turn_id != turn_id, "the fold")
        assert f"{one.app.purse.account} folds" in one.app.seen.said


async def test_chips_are_added_sitting_out_is_shown_and_refusals_are_sentences(live: Live):
    async with evening(live, "playnow") as one:
        await one.press("plus")
        assert "add how much?" in one.text
        line = one.app.query_one("#ask", Input)
        line.value = "many"
        await one.press("enter")
        assert "'many' is no amount" in one.text
        await one.press("plus")
        line.value = "1000000"
        await one.press("enter")
        await one.says("outside the limits")
        await one.press("plus", "escape", "plus")
        line.value = "25"
        await one.press("enter")
        await one.play_until(lambda: any("adds 25" in said for said in one.app.seen.said))
        await one.press("o")
        await one.play_until(lambda: "o come back" in one.text)
        await one.play_until(lambda: "you sit out: o comes back" in one.text)
        await one.press("o")
        await one.until(lambda: "o sit out" in one.text, "back")


async def test_the_ante_is_asked_for_where_it_is_not_posted_by_itself(live: Live):
    async with evening(live) as one:
        await one.press("1")
        await one.until(lambda: not one.mine.auto_post, "asked for antes")
        await one.play_until(lambda: any("p post the ante" in part for part in one.app.choices()))
        assert "d sit out instead" in one.text
        await one.press("p")
        await one.until(lambda: not one.mine.prompts, "the ante")
        await one.play_until(lambda: any("p post the ante" in part for part in one.app.choices()))
        await one.press("d")
        await one.says("o come back")


async def test_whoever_quits_in_a_hand_is_asked_and_leaves_with_their_chips(live: Live):
    async with evening(live) as one:
        await one.turn()
        await one.press("q")
        assert "A hand is running; leaving gives it up. y leave   n stay" in one.text
        await one.press("k")
        assert one.app._exit is False
        await one.press("q", "n")
        assert "A hand is running" not in one.text
        assert one.mine.turn_id
        await one.press("q", "y")
        await one.until(lambda: one.app._exit, "the end")
        assert one.app.paid is not None


async def test_whoever_may_keep_the_seat_keeps_it(live: Live):
    async with evening(live, stays=True) as one:
        await one.turn()
        await one.press("q")
        assert "k keep the seat" in one.text
        await one.press("k")
        await one.until(lambda: one.app._exit, "the end")
        assert one.app.paid is None


async def test_a_player_who_left_sits_down_again(live: Live):
    async with evening(live) as one:
        await one.press("l")
        if "A hand is running" in one.text:
            await one.press("y")
        await one.until(lambda: one.app.paid is not None, "the payment")
        await one.press("j")
        assert "sit down with how much?" in one.text
        await one.press("enter")
        await one.turn()


async def test_an_outage_is_shown_and_the_hand_goes_on(live: Live):
    async with evening(live) as one:
        await one.turn()
        await live.stack.kill_service("table")
        await one.says("reconnecting, nothing is lost meanwhile")
        assert "third street" in one.text, "the table stays on the screen"
        await live.stack.start_service("table")
        await one.until(lambda: one.app.following.trouble is None and "reconnecting" not in one.text, "back")
        await live.ready()
        hands = one.app.seen.hands
        await one.play_until(lambda: one.app.seen.hands > hands)


async def test_a_table_that_is_closed_says_so_and_pays(live: Live):
    async with evening(live) as one:
        await live.people.operator.tables.CloseTable(pb.CloseTableRequest(table=one.table))
        await one.play_until(lambda: one.app.ended)
        await one.until(lambda: one.app.paid is not None, "the payment")
        assert "the table is closed: q quits" in one.text
        await one.press("q")


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (160, 50)])
async def test_it_fits(live: Live, size: tuple[int, int]):
    async with evening(live, bots=5, size=size) as one:

        def over() -> bool:
            fits(one, size)
            return one.app.seen.hands >= 1

        await one.play_until(over)
        assert "q quit" in one.text
        assert one.app.purse.account[:12] in one.text


@pytest.mark.parametrize("size", [(80, 24), (160, 50)])
async def test_with_ascii_there_is_nothing_else_on_the_screen(live: Live, size: tuple[int, int]):
    async with evening(live, size=size, plain=True) as one:
        await one.play_until(lambda: one.app.seen.hands >= 1)
        assert one.text.isascii(), set(one.text)
        assert cards_in(one.text)
        await one.press("plus")
        assert one.text.isascii()
        await one.press("escape", "question_mark")
        assert one.text.isascii()


async def test_a_small_terminal_says_what_it_wants_and_a_larger_one_shows_the_table(live: Live):
    async with evening(live, size=(60, 20)) as one:
        assert "This terminal has 60 columns and 20 lines: make it 80 by 24 or larger." in " ".join(one.text.split())
        await one.pilot.resize_terminal(80, 24)
        await one.says("q quit")
        assert "This terminal has" not in one.text


async def test_what_comes_while_the_screen_is_taken_down_is_drawn_no_more(live: Live):
    async with evening(live) as one:
        await one.turn()
        await one.app.query_one("#below").remove()
        assert not one.app.is_up
        one.app.draw()
        one.app.draw_words()


async def test_what_happened_is_scrolled_and_followed_again(live: Live):
    async with evening(live) as one:
        await one.play_until(lambda: one.app.seen.hands >= 2)
        said = one.app.query_one("#said")
        await one.until(lambda: said.scroll_y == said.max_scroll_y, "its end")
        await one.press("up")
        assert said.scroll_y < said.max_scroll_y
        for _ in range(200):
            await one.press("down")
            if said.scroll_y == said.max_scroll_y:
                break
        await asyncio.sleep(0)
        assert said.scroll_y == said.max_scroll_y
