"""``stud play``: the table's screen with a seat at it. Keys act, answer and ask; what they do now stands on the screen.

What is legal, and what it costs, is what the server sent with the turn. A key that does nothing now says so, and sends
nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ClassVar, Final

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_cli.play import buttons, limits, picture
from stud_cli.play.purse import Purse, sit_down
from stud_cli.play.screen import MARKS, TableScreen, fitted, sentence
from stud_cli.play.seen import Seen
from stud_client import StudClient, StudError, TableSession
from stud_core.house_rules.saying import money

PAID_WITHIN_S: Final = 20.0
ASK_EVERY_S: Final = 0.2
MOST_AT_ONCE: Final = 8
"""Commands without an answer: nobody means more of them."""


LEAVING: Final = "leaving: your chips are paid out when the hand is over and verified"


class PlayScreen(TableScreen):
    """One player at one table. ``stays``: whether the seat may be kept by whoever quits."""

    HELP: ClassVar[str] = f"""\
{MARKS}

f, c           fold; check, call or bring in
b, h           bet, raise or complete; its higher size, where there are two
a              all-in, where that is legal
F, C, B, H     the same ahead of your turn, where the table has bet-ahead
A              the same: call whatever it costs, where the table has that
x              take back what is chosen ahead
t              more time for your turn, where you have time chips
s, m           show or muck, when you are asked
p, d           post the ante, or sit out instead, when you are asked
o              sit out from the next hand on; come back
+              add chips: they come between hands
1, 2           antes posted by themselves; losing hands mucked by themselves
l              leave the table, with your chips
j              sit down again
up, down       scroll what happened
q              leave the table and quit"""
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key, f"act('{key}')") for key in buttons.ACTING),
        *(Binding(key.upper(), f"ahead('{key.upper()}')") for key in buttons.ACTING),
        Binding(buttons.CLEAR, "clear"),
        Binding("t", "time"),
        Binding("s", "show(True)"),
        Binding("m", "show(False)"),
        Binding("p", "ante(False)"),
        Binding("d", "ante(True)"),
        Binding("o", "presence"),
        Binding("plus", "ask_amount"),
        Binding("j", "ask_amount"),
        Binding("1", "prefer('auto_post')"),
        Binding("2", "prefer('muck_losing')"),
        Binding("l", "stand_up"),
        Binding("y", "answer('y')"),
        Binding("n", "answer('n')"),
        Binding("k", "answer('k')"),
    ]

    def __init__(
        self,
        session: TableSession,
        client: StudClient,
        purse: Purse,
        *,
        plain: bool = False,
        stays: bool = False,
        on_change: Callable[[Seen], None] = lambda _: None,
    ) -> None:
        super().__init__(session, plain=plain, own=True)
        self.session = session
        self.purse = purse
        self.net = 0
        """What was won or lost in the hands that were seen to end, minor units."""
        self.paid: int | None = None
        """What was paid out when the seat was given up; None = it was not."""
        self._client = client
        self._stays = stays
        self._on_change = on_change
        self._tasks: set[asyncio.Task[None]] = set()
        self._acted = self._warned = 0
        self._question = ""
        self._quits = False
        self._leaving = False
        self._sat = False
        self._top_up = (0, 0)

    def compose_more(self) -> ComposeResult:
        """Add the line in which an amount is written."""
        yield Input(id="ask", compact=True, disabled=True)

    async def on_unmount(self) -> None:
        """End what was asked for and not answered."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await super().on_unmount()

    # --- what is told ------------------------------------------------------------------------------------------------

    async def changed(self, update: pb.TableUpdate) -> None:
        """Keep the player's book, and tell what came of their chips."""
        account = self.purse.account
        for event in update.events:
            for delta in event.hand_ended.deltas:
                self.net += delta.delta if delta.account == account else 0
        mine = self.seen.mine
        if mine is not None and mine.HasField("last_top_up"):
            self._tell_top_up(mine.last_top_up)
        if mine is None and self._sat and update.current:
            self._sat = False
            self._send(self._be_paid(), self._not_left)
        seat = self.seen.my_seat
        self._sat = self._sat or (seat is not None and seat.status == pb.SEAT_STATUS_SEATED)
        self._on_change(self.seen)

    def _tell_top_up(self, top_up: pb.TopUpView) -> None:
        now = (top_up.top_up_no, int(top_up.state))
        if now == self._top_up:
            return
        known, self._top_up = self._top_up[0], now
        amount = money(top_up.amount)
        if top_up.state == pb.TOP_UP_STATE_PENDING:
            self.told = f"{amount} is paid and comes between hands"
        elif top_up.state == pb.TOP_UP_STATE_ADDED and known:
            self.told = f"{amount} was added to your stack"
        elif top_up.state == pb.TOP_UP_STATE_REFUSED:
            there = f": your balance is {money(top_up.balance)}" if top_up.HasField("balance") else ""
            self.told = f"the wallet does not pay {amount} ({top_up.reason}){there}"

    def below(self, width: int) -> list[Text]:
        """Return the player's hand, what is told, and what keys do now."""
        own = picture.own_line(self.seen, width)
        lines = [own, self.notice(width), *packed(self.choices(), width), fitted(self.seat_keys(), width)]
        return lines if self.seen.mine is not None else lines[1:]

    def notice(self, width: int) -> Text:
        """Return an open question before everything that is told, and what would help where nothing is."""
        if self._question and not self.ended:
            return fitted(self._question, width, "reverse")
        hint = "" if self.told or self.ended or self.following.trouble else self.hint()
        return fitted(hint, width) if hint else super().notice(width)

    def hint(self) -> str:
        """Return how a player who is dealt no cards gets some; empty for whoever is."""
        seat = self.seen.my_seat
        if seat is None or not seat.sitting_out or seat.live:
            return ""
        if not (seat.stack or seat.pending):
            return "you have no chips: + adds some"
        left_ms = self.seen.left_ms(seat.leaves_at_ms, time.monotonic())
        until = f"; the seat is given up in {-(-left_ms // 1000)} s" if left_ms else ""
        return f"you sit out: o comes back{until}"

    def choices(self) -> list[str]:
        """Return what keys answer now."""
        mine = self.seen.mine
        if mine is None:
            return []
        asked = [self._prompted(prompt) for prompt in mine.prompts]
        if mine.turn_id:
            return [*asked, *(str(button) for button in buttons.of_turn(mine.options)), *self._time_chips()]
        chosen = mine.pre_action if mine.HasField("pre_action") else None
        ahead = [str(button) for button in buttons.ahead(mine.pre_options, chosen, any_price=self._has_call_any())]
        if ahead:
            return [*asked, "ahead:", *ahead, *([f"{buttons.CLEAR} clear"] if chosen is not None else [])]
        return asked

    def _time_chips(self) -> list[str]:
        seat = self.seen.my_seat
        return [f"t more time ({seat.time_chips} left)"] if seat is not None and seat.time_chips else []

    @staticmethod
    def _prompted(prompt: pb.PromptView) -> str:
        if prompt.kind == seat_pb2.PROMPT_KIND_UNSPECIFIED:
            return f"p post the ante of {money(prompt.amount)}   d sit out instead"
        why = "you lost" if prompt.kind == seat_pb2.PROMPT_KIND_LOSER else "you won and nobody called"
        return f"{why}: s show your cards   m muck them"

    def seat_keys(self) -> str:
        """Return what else keys do."""
        mine, seat = self.seen.mine, self.seen.my_seat
        if mine is None or seat is None:
            return "j sit down   ? help   q quit"
        presence = "o come back" if seat.sitting_out else "o sit out"
        antes, mucks = ("on" if switch else "off" for switch in (mine.auto_post, mine.muck_losing))
        return f"{presence}  + chips  l leave  1 auto-ante {antes}  2 auto-muck {mucks}  ? help  q quit"

    # --- acting ------------------------------------------------------------------------------------------------------

    def action_act(self, key: str) -> None:
        """Act on the player's turn."""
        mine = self.seen.mine
        if mine is None or not mine.turn_id:
            ahead = mine is not None and mine.pre_options
            self._say("it is not your turn" + (f": {key.upper()} chooses ahead" if ahead else ""))
            return
        button = buttons.pressed(buttons.of_turn(mine.options), key)
        if button is None:
            self._say(f"{key} does nothing now")
        elif self._acted == mine.turn_id:
            self._say("sent, not answered yet")
        elif key == buttons.FOLD and buttons.can_check(mine.options) and self._warned != mine.turn_id:
            self._warned = mine.turn_id
            self._say("checking is free: f once more folds all the same")
        else:
            self._acted, option = mine.turn_id, button.option
            self._send(self.session.act(mine.turn_id, option.verb, to=option.to, size=option.size), self._not_acted)

    def action_time(self) -> None:
        """Take longer over the turn."""
        mine = self.seen.mine
        if mine is None or not (mine.turn_id and self._time_chips()):
            self._say("there is no time to be had now: it takes your turn, and time chips")
        else:
            self._send(self.session.use_time_chip(mine.turn_id))

    def _not_acted(self) -> None:
        self._acted = 0

    def action_ahead(self, key: str) -> None:
        """Choose what is done when the turn comes."""
        mine, update = self.seen.mine, self.seen.update
        there = buttons.ahead(mine.pre_options, any_price=self._has_call_any()) if mine is not None else []
        button = buttons.pressed(there, key)
        if button is None or update is None:
            self._say(f"{key} chooses ahead of your turn, where the table has that; small letters act")
        else:
            option = button.option
            choice = self.session.set_pre_action(update, option.verb, size=option.size, any_price=button.any_price)
            self._send(choice)

    def _has_call_any(self) -> bool:
        return self.seen.view.config.ruleset.pre_check_call_any

    def action_clear(self) -> None:
        """Take the choice ahead back."""
        mine = self.seen.mine
        if mine is None or not mine.HasField("pre_action"):
            self._say("nothing is chosen ahead")
        else:
            self._send(self.session.clear_pre_action(self.seen.view.hand_no))

    def action_show(self, show: bool) -> None:
        """Show or muck."""
        prompt = self._prompt(shows=True)
        if prompt is None:
            self._say("nobody asks you to show or muck now")
        else:
            self._send(self.session.choose_show(prompt.prompt_id, show=show))

    def action_ante(self, decline: bool) -> None:
        """Post the ante, or not."""
        prompt = self._prompt(shows=False)
        if prompt is None:
            self._say("nobody asks you for an ante now")
        else:
            self._send(self.session.post_ante(prompt.prompt_id, decline=decline))

    def _prompt(self, *, shows: bool) -> pb.PromptView | None:
        prompts = self.seen.mine.prompts if self.seen.mine is not None else ()
        return next((each for each in prompts if bool(each.kind) == shows), None)

    # --- the seat ----------------------------------------------------------------------------------------------------

    def action_presence(self) -> None:
        """Sit out, or come back."""
        seat = self.seen.my_seat
        if seat is None:
            self._say("you have no seat: j sits down")
        elif seat.sitting_out and not seat.stack:
            self._say("there are no chips to play with: + adds some")
        else:
            self._send(self.session.sit_in() if seat.sitting_out else self.session.sit_out())

    def action_prefer(self, name: str) -> None:
        """Switch a preference."""
        mine = self.seen.mine
        if mine is None:
            self._say("you have no seat: j sits down")
        else:
            auto_post = not mine.auto_post if name == "auto_post" else None
            muck_losing = not mine.muck_losing if name == "muck_losing" else None
            self._send(self.session.set_preferences(auto_post=auto_post, muck_losing=muck_losing))

    def action_ask_amount(self) -> None:
        """Open the line in which the amount of a buy-in or a top-up is written."""
        seat = self.seen.my_seat
        line = self.query_one("#ask", Input)
        line.value = money(limits.suggested(self.seen.view, seat)).replace(",", "")
        line.placeholder = "amount"
        self._say(f"{'sit down with' if seat is None else 'add'} how much? enter, or escape for nothing")
        self.screen.add_class("asked")
        line.disabled = False
        line.focus()

    def on_input_submitted(self, asked: Input.Submitted) -> None:
        """Ask for the amount, or say what would have been right."""
        self._close()
        try:
            amount = limits.read(asked.value)
        except ValueError as error:
            self._say(str(error))
            return
        self._say("")
        self._send(self._sit_down(amount) if self.seen.my_seat is None else self._add(amount))

    def _close(self) -> None:
        line = self.query_one("#ask", Input)
        self.screen.remove_class("asked")
        self.set_focus(None)
        line.disabled = True

    async def action_back(self) -> None:
        """Close what was opened."""
        self._close()
        self._question = ""
        await super().action_back()

    async def _add(self, amount: int) -> None:
        await self.purse.have(amount)
        await self.session.add_chips(amount)

    async def _sit_down(self, amount: int) -> None:
        await self.purse.open()
        await self.purse.have(amount)
        self._leaving, self._quits, self._top_up = False, False, (0, 0)
        await sit_down(self._client, self.session.table, amount)

    # --- leaving -----------------------------------------------------------------------------------------------------

    def action_stand_up(self) -> None:
        """Leave the table, and look on."""
        self._leave(quits=False)

    async def action_leave(self) -> None:
        """Leave the table and quit; twice: without waiting for the payment."""
        if self.ended or self.seen.mine is None or self._leaving:
            self.exit()
        else:
            self._leave(quits=True)

    def _leave(self, *, quits: bool) -> None:
        seat = self.seen.my_seat
        if seat is None or self._leaving:
            self._say("you have no seat" if seat is None else LEAVING)
            return
        self._quits = quits
        if seat.live and self.seen.view.phase:
            keeps = "   k keep the seat" if quits and self._stays else ""
            self._question = f"A hand is running; leaving gives it up. y leave   n stay{keeps}"
            self.draw()
        else:
            self._go()

    def action_answer(self, answer: str) -> None:
        """Answer the question that is asked."""
        if not self._question:
            return
        keeps = self._quits and self._stays
        self._question = ""
        if answer == "y":
            self._go()
        elif answer == "k" and keeps:
            self.exit()
        self.draw()

    def _go(self) -> None:
        self._leaving = True
        self._say(LEAVING + (": q does not wait" if self._quits else ""))
        self._send(self.session.leave_seat(), self._not_left)

    def _not_left(self) -> None:
        self._leaving = False

    async def _be_paid(self) -> None:
        """Tell what a seat that is given up was paid, whoever gave it up."""
        async with asyncio.timeout(PAID_WITHIN_S):
            while (paid := await self.purse.cashed_out(self.session.table)) is None:  # noqa: ASYNC110
                await asyncio.sleep(ASK_EVERY_S)
        self.paid = (self.paid or 0) + paid
        self._leaving = False
        told = f"you left with {money(paid)}; your balance is {money(await self.purse.balance())}"
        self.seen.tell(told)
        self.draw_words()
        self._say(f"{told}. j sits down again")
        if self._quits:
            self.exit()

    # --- sending -----------------------------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self.told = text
        self.draw()

    def _send(self, work: Coroutine[Any, Any, Any], undo: Callable[[], None] = lambda: None) -> None:
        """Do what was asked for beside everything else; a refusal is told in a sentence."""
        if len(self._tasks) >= MOST_AT_ONCE:
            work.close()
            undo()
            self._say("wait for the answers to what you have asked for")
            return
        task = asyncio.get_running_loop().create_task(self._sent(work, undo))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _sent(self, work: Coroutine[Any, Any, Any], undo: Callable[[], None]) -> None:
        told = self.told
        try:
            await work
        except StudError as error:
            undo()
            self._say(sentence(error))
        except TimeoutError:
            undo()
            self._say("your chips are not paid out yet: operators see to it")
        else:
            if self.told == told:
                self._say("")


def packed(parts: Sequence[str], width: int) -> list[Text]:
    """Return parts in as few lines as they fit in; one empty line for none."""
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]}   {part}" if lines[-1] else part
        if len(longer) + 2 > width and lines[-1]:
            lines.append(part)
        else:
            lines[-1] = longer
    return [fitted(line, width, "bold") for line in lines]
