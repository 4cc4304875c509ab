"""One table: takes one command at a time, makes it durable, then shows it.

Everything that touches a table goes through ``submit``; what is queued is decided, written, and only then published
and answered. While an append has no answer the table takes no other decision (architecture.md, "Appending").
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import cast

import structlog

from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as ev
from stud_core.commands import (
    Act,
    Command,
    Context,
    PauseTable,
    RestartClocks,
    ResumeTable,
    SetPreferences,
    StartHand,
    Tick,
)
from stud_core.gate import hand_gate
from stud_core.rejection import Rejection
from stud_core.state import DEALER_SILENT, NOT_CONSERVED, Life, Table
from stud_core.timers import next_deadline
from stud_eventlog import keys
from stud_eventlog.types import Append, ChainBroken, EventLogError, Head, LobbyRow, LogBehind
from stud_service.limits import Limit, Rate, Share, limited
from stud_service.log_writer import LogWriter, behind, broken, refusal_of
from stud_service.mailbox import ANSWER_WITHIN_S, Mailbox, stopping
from stud_service.refusals import Refused
from stud_service.runtime import Runtime
from stud_wire.codec import WireError
from stud_wire.commits import Meta
from table_service import updates, views
from table_service.ahead import ChoicesAhead
from table_service.clocks import (
    LATE_MS,
    Timer,
    asks_somebody,
    deadline_of,
    due_at,
    fresh_deadline,
    run_out,
    silent_at,
    waits_for_cards,
)
from table_service.commits import LOBBY, NotConserved, Prepared, prepare
from table_service.figures import Figures
from table_service.hand_index import HandIndex
from table_service.hub import Done, Hub
from table_service.mail import Mail, Outcome
from table_service.meters import TableMeters
from table_service.presence import Presence
from table_service.private_views import Own, own, private_view, waiting_view
from table_service.rebuild import Rebuilt, rebuild, rebuild_beside
from table_service.requests import RequestMemory, number_of
from table_service.vault import Vault

CHOICES_A_STEP = 2
"""A choice ahead and a change of mind."""

REST_MS = 1000
"""After a fault the table does nothing by itself for this long: what failed would fail again at once."""

SERVICE_RESTARTED, OUTAGE, CLOCK_SET = "SERVICE_RESTARTED", "OUTAGE", "CLOCK_SET"
"""Why clocks start afresh: time was lost, and not by a player."""

Changed = Callable[["TableActor", Sequence[ev.Event] | None], None]
"""Told by which events a table was changed: None where it may be another one now, none where only a choice was."""

log = structlog.get_logger()


class TableActor:
    """A table as its log has it, and all that may change it."""

    def __init__(
        self,
        runtime: Runtime,
        table_id: str,
        master: bytes,
        may_start: Callable[[], bool],
        changed: Changed = lambda _actor, _events: None,
    ) -> None:
        """``changed`` is told, after all is done, what the table was changed by."""
        self.runtime = runtime
        self.table_id = table_id
        self.shard = keys.shard_of(table_id)
        self.stream = keys.table_log(self.shard, table_id)
        self.table = Table()
        self.hub = Hub()
        self.requests = RequestMemory()
        self.ahead = ChoicesAhead()
        self.presence = Presence(self.ahead, self._show_presence)
        self.figures = Figures()
        self.hands = HandIndex()
        self.vault = Vault(table_id, master)
        self.settled = asyncio.Event()
        self._meters = TableMeters(runtime.meters)
        self._per_s = runtime.settings.commands_per_s
        self._chosen: Counter[str] = Counter()
        self._chosen_at = 0
        self._asked: Rate[str] = Rate(self._per_s, runtime.settings.commands_burst)
        self.halted: Refused | None = None
        """Why nothing can be written here until operators have looked at the log."""
        self._drawn = views.PublicView()
        self._seen: dict[int, tuple[Own, bytes]] = {}
        """What the player of each seat saw last, and its bytes."""
        self._present: updates.Step | None = None
        self._line: pb.TableSummary | None = None
        self._at_ms = 0
        self._feed = keys.table_feed(self.shard)
        self._writer = LogWriter(runtime, self.stream, self._fold_again)
        self._mailbox: Mailbox[Mail] = Mailbox(self._take, idle=self._plan)
        self._may_start = may_start
        self._changed = changed
        self._ended_at_ms = 0
        self._asked_at_ms = 0
        self._lost_time = ""
        self._clock_set = 0
        self._rests_until_ms = 0
        self._timer = Timer(runtime.clock, self._wake)

    @property
    def head(self) -> Head:
        """Where the log ends, as far as this table has seen it."""
        return self._writer.head

    @property
    def stopping(self) -> bool:
        """Whether nothing new is taken."""
        return self._mailbox.stopping

    # ------------------------------------------------------------------ life

    async def load(self, share: Share | None = None) -> None:
        """Fold the log, within that share of the loop's time. Raises ChainBroken or WireError when it cannot be
        trusted.
        """
        log_, stream = self.runtime.log, self.stream
        rebuilt = await (rebuild(log_, stream) if share is None else rebuild_beside(log_, stream, share))
        self._adopt(rebuilt)
        self._writer.settle(rebuilt.head)

    def begin(self) -> None:
        """There is no log yet: the first commit will open the table."""
        self._writer.settle(Head())

    def start(self) -> None:
        """Begin to take commands; an open clock starts afresh before any timeout may be taken."""
        self._mailbox.start(self.runtime, f"table {self.table_id}")
        if asks_somebody(self.table) or fresh_deadline(self.table) is not None:
            self._lost_time = SERVICE_RESTARTED
            self.post(RestartClocks(SERVICE_RESTARTED))
        self.post(Tick())  # a reservation that was made by a clock ahead of ours would last too long

    async def stop(self) -> None:
        """End every stream, finish what is queued, take nothing new: later commands are refused with STOPPING."""
        self._timer.cancel()
        self.presence.cancel()
        self.hub.finish(stopping())
        await self._mailbox.stop()

    # ------------------------------------------------------------- commands

    def may_choose(self, account: str) -> bool:
        """Count a choice ahead, and return whether it is one of the few that everybody at the table has after each of
        its steps: they answer the turn that will come.
        """
        if self._chosen_at != self.head.version:
            self._chosen_at = self.head.version
            self._chosen.clear()
        if self.table.of(account) is None:
            return False
        self._chosen[account] += 1
        return self._chosen[account] <= CHOICES_A_STEP

    def admit(self, account: str) -> None:
        """Count a command that answers no turn and no prompt. Raises Refused(RATE_LIMITED)."""
        wait_s = self._asked.take(account)
        if wait_s:
            text = f"{self._per_s} commands a second that answer no turn and no prompt are all that are taken here"
            raise limited(text, wait_s, self._per_s, Limit.TABLE_COMMANDS)

    async def submit(
        self,
        command: Command,
        *,
        actor: str = "",
        request_id: str = "",
        digest: bytes = b"",
        cause: tuple[str, int] | None = None,
        within_s: float | None = ANSWER_WITHIN_S,
    ) -> Outcome:
        """Return once the command is durable. Raises Refused; OUTCOME_UNKNOWN when it takes too long."""
        mail = self._mailbox.post(self._mail(command, actor, request_id, digest, cause))
        return cast("Outcome", await self._mailbox.answer(mail, within_s))

    async def catch_up(self) -> None:
        """Return once the table is what its log says, whoever wrote there meanwhile. Raises Refused."""
        mail = self._mail(Tick(), "", "", b"", None)
        mail.catch_up = True
        await self._mailbox.answer(self._mailbox.post(mail), within_s=None)

    def post(self, command: Command) -> None:
        """Queue a command of the table's own; its refusal is no fault."""
        self._mailbox.put(self._mail(command, "", "", b"", None))

    def _mail(
        self, command: Command, actor: str, request_id: str, digest: bytes, cause: tuple[str, int] | None
    ) -> Mail:
        return Mail(command, self.runtime.clock(), actor, request_id, digest, cause)

    async def _take(self, batch: Sequence[Mail]) -> None:
        for mail in batch:
            await self._settle(mail)

    async def _settle(self, mail: Mail) -> None:
        """Do one command and tell its caller what came of it; a fault in one must not stop the other tables."""
        shown = self._halted_for
        try:
            outcome = await self._do(mail)
        except Refused as refused:
            mail.fail(refused)
        except LogBehind:
            self.halt(behind(self.stream))
            mail.fail(behind(self.stream))
        except (ChainBroken, WireError) as fault:
            log.critical("log_broken", table=self.table_id, version=self.head.version, problem=str(fault))
            self.halt(broken())
            mail.fail(broken())
        except EventLogError as fault:
            self._rest()
            if self._halted_for != shown:  # it may be what is written here that is refused
                self._present = self._line = None
                self._refresh()
            mail.fail(refusal_of(fault, self._halted_for) or fault)
        except NotConserved as fault:
            log.exception("not_conserved", table=self.table_id, version=self.head.version, problem=str(fault))
            mail.fail(Refused("INTERNAL", "the table was paused to protect its chips"))
            if not isinstance(mail.command, PauseTable):
                self.post(PauseTable(NOT_CONSERVED, ""))
        except asyncio.CancelledError:
            mail.fail(stopping())
            raise
        except Exception:
            self._rest()
            incident = self.runtime.new_id().hex()
            log.exception(
                "command_failed",
                table=self.table_id,
                version=self.head.version,
                account=mail.actor,
                request_id=mail.request_id,
                incident=incident,
            )
            mail.fail(Refused("INTERNAL", "something unexpected happened", incident=incident))
        else:
            mail.done(outcome)
            self._meters.answered(mail)
        if mail.ahead and self.ahead.not_done(mail.actor):
            self._refresh(mail.actor)  # it came to nothing: the turn is the player's to take after all

    def halt(self, why: Refused) -> None:
        """Take no more decisions, and show everybody why the table stands still."""
        if self.halted is None:
            self.halted = why
            self._timer.cancel()
            self.ahead.forget()
            self._present = self._line = None
            self._refresh()

    def trouble_changed(self) -> None:
        """The log cannot be written, or can again: everybody is shown, and nobody's clock runs meanwhile."""
        if self.runtime.log_refuses:
            self._lost_time = self._lost_time or OUTAGE
        self._writer.refused = None
        self._present = self._line = None
        self._refresh()
        self._plan()

    def clock_set(self, by_ms: int) -> None:
        """The clock was set: whatever runs is given a fresh clock before anything else is decided, and what we remember
        of the past is told by the new clock.
        """
        self._clock_set += 1
        self._lost_time = CLOCK_SET
        self._ended_at_ms += by_ms
        self._asked_at_ms += by_ms
        self._rests_until_ms += by_ms
        self.post(Tick())

    async def _try_again(self) -> None:
        """What was to be written was refused, though other things may be taken: nothing is decided before it would be
        taken, since the table would go on without what it has to tell. Raises EventLogError.
        """
        self._rest()
        await self._writer.try_again()
        self.trouble_changed()

    def _rest(self) -> None:
        """After a fault: nobody's clock runs for it, and what the table does by itself waits a little."""
        self._lost_time = self._lost_time or OUTAGE
        self._rests_until_ms = self.runtime.clock() + REST_MS

    def check_decides(self) -> None:
        """Raise Refused where nothing chosen or asked for now could ever happen."""
        if self.stopping:
            raise stopping()
        if self.halted is not None:
            raise Refused(self.halted.reason, self.halted.text)

    async def _do(self, mail: Mail) -> Outcome:
        if self.halted is not None:
            raise Refused(self.halted.reason, self.halted.text)
        if mail.ahead and not self.ahead.is_due(mail.actor):
            raise Refused("PRE_ACTION_NOT_ALLOWED", "the choice no longer held when its turn came")
        if mail.catch_up:
            await self._writer.catch_up()
            return Outcome(self.head.version)
        if self._writer.refused is not None:
            await self._try_again()
        return await self._writer.decided(lambda: self._decide(mail))

    async def _decide(self, mail: Mail) -> Outcome:
        if mail.request_id:
            ahead = isinstance(mail.command, Act) and mail.command.by_pre_action
            known = self.requests.find(mail.actor, mail.request_id, mail.digest, unwritten=not ahead)
            if known is not None:
                return Outcome(known.version, known.number, repeated=True)
        await self._keep_clocks(mail)
        return await self._commit(mail)

    # --------------------------------------------------------------- commits

    async def _keep_clocks(self, mail: Mail) -> None:
        """Take what is due before this command: a timeout, or a fresh clock where we lost time."""
        if self._lost_time and not isinstance(mail.command, RestartClocks):
            await self._own(RestartClocks(self._lost_time))
        deadline = deadline_of(self.table, mail.command)
        received_ms = min(mail.received_ms, self.runtime.clock())  # before the clock was set back it may be ahead
        if not deadline or received_ms <= deadline:
            return
        late = received_ms - deadline > LATE_MS
        await self._own(
            RestartClocks("LATE_TIMER") if late else run_out(self.table, self.runtime.clock(), self.ahead.is_connected)
        )
        in_time = late or received_ms <= deadline_of(self.table, mail.command)
        if not in_time and not isinstance(mail.command, SetPreferences):  # those are for later hands too
            raise Refused("DEADLINE_PASSED", "the clock had run out: the timeout's action stands", rule="B.18")

    async def _own(self, command: Command) -> None:
        try:
            await self._commit(self._mail(command, "", "", b"", None))
        except Refused as refused:
            log.info("own_command_refused", table=self.table_id, command=type(command).__name__, reason=refused.reason)

    async def _commit(self, mail: Mail) -> Outcome:
        now = self._judged_at(mail)
        version = self.head.version + 1
        ctx = Context(now, version, self.runtime.build)
        meta = Meta(now, mail.actor, mail.request_id, mail.digest, mail.cause, self.runtime.build)
        made = prepare(self.table, mail.command, ctx, meta, self.vault.live_cards, self._feed)
        if isinstance(made, Rejection):
            raise Refused.from_rejection(made)
        restarts = isinstance(mail.command, RestartClocks)
        if made is None:
            self._lost_time = "" if restarts else self._lost_time
            if mail.request_id:
                self.requests.note(mail.actor, mail.request_id, mail.digest, self.head.version)
            return Outcome(self.head.version)
        began, clock_set = self.runtime.clock(), self._clock_set
        head = await self._writer.write(self._draft(made))
        self._after(made, meta, head)
        if self._clock_set != clock_set:
            self._lost_time = CLOCK_SET  # what was written meanwhile was told by the clock of before
        elif self.runtime.clock() - began > LATE_MS:
            self._lost_time = OUTAGE
        elif restarts:
            self._lost_time = ""
        asked = bool(mail.request_id) and not mail.ahead
        self._publish(made, head, now, Done(mail.actor, mail.request_id, mail.digest) if asked else None)
        return Outcome(version, number_of(made.events))

    def _judged_at(self, mail: Mail) -> int:
        """Now; but what arrived in time is judged as in time, however long it queued."""
        now = self.runtime.clock()
        deadline = deadline_of(self.table, mail.command)
        return deadline if deadline and mail.received_ms <= deadline < now else now

    def _draft(self, made: Prepared) -> Append:
        row = None
        if any(isinstance(event, LOBBY) for event in made.events):
            row = LobbyRow(keys.lobby(self.shard), self.table_id, views.summary(made.after).SerializeToString())
        return self._writer.draft(made.message.SerializeToString(), made.outbox, row)

    def _after(self, made: Prepared, meta: Meta, head: Head) -> None:
        self.table = made.after
        self._at_ms = meta.at_ms
        self._present = self._line = None
        self.requests.fold(head.version, meta, made.events)
        self.figures.fold(made.events, meta.at_ms)
        self.hands.fold(made.events, head.version, meta.at_ms)
        self._meters.committed(made.events, len(self.hub), meta.at_ms - self._ended_at_ms)
        for event in made.events:
            if isinstance(event, ev.HandEnded | ev.HandVoided):
                self._ended_at_ms = meta.at_ms
                self._seen.clear()  # nobody's cards outlive their hand here
            elif isinstance(event, ev.DealRequested):
                self._asked_at_ms = meta.at_ms
        self._act_ahead()
        if self.table.paused == DEALER_SILENT and not waits_for_cards(self.table):
            self.post(ResumeTable(""))
        self._tell_waiting()
        self._changed(self, made.events)

    def _act_ahead(self) -> None:
        """Take the choice of the player whose turn has come: it is next, before anything they could send now."""
        due = self.ahead.moved_on(self.table)
        if due is not None:
            mail = self._mail(due.act, due.account, due.request_id, due.digest, None)
            mail.ahead = True
            self._mailbox.put(mail)

    def _tell_waiting(self) -> None:
        self.settled.set()
        self.settled = asyncio.Event()

    async def _fold_again(self) -> Head:
        """Somebody else wrote: start again from the log, and show everybody what is there now."""
        rebuilt = await rebuild(self.runtime.log, self.stream)
        self._adopt(rebuilt)
        self._writer.settle(rebuilt.head)
        self.hub.forget()
        self._refresh()
        if self.table.life is Life.CLOSED:
            self.hub.finish()
        self._tell_waiting()
        return rebuilt.head

    def _adopt(self, rebuilt: Rebuilt) -> None:
        self.table = rebuilt.table
        self.requests = rebuilt.requests
        self.figures = rebuilt.figures
        self.hands = rebuilt.hands
        self.ahead.forget()
        self._present = self._line = None
        self._at_ms = rebuilt.at_ms
        self._ended_at_ms = min(rebuilt.ended_at_ms, self.runtime.clock())
        self._asked_at_ms = self.runtime.clock()

    # --------------------------------------------------------------- viewers

    def _publish(self, made: Prepared, head: Head, at_ms: int, done: Done | None) -> None:
        quiet = not asks_somebody(self.table)
        step = updates.commit_step(self.table_id, self._view(), head, at_ms, made.message.events, quiet=quiet)
        self.hub.publish(step, self.private_part, done)
        if self.table.life is Life.CLOSED:
            self.hub.finish()

    def _view(self) -> bytes:
        return self._drawn.draw(self.table, self._halted_for, self._held_for, self.presence.here(self.table))

    @property
    def _halted_for(self) -> str:
        """Why nothing can be written, empty when it can."""
        if self.halted is not None:
            return self.halted.reason
        if self.runtime.trouble is not None and self.runtime.trouble.refuses:
            return self.runtime.trouble.code
        return self._writer.refused.code if self._writer.refused is not None else ""

    @property
    def _held_for(self) -> str:
        """Why no hand is started although the log can be written, empty when one may be."""
        return self.runtime.trouble.code if self.runtime.trouble is not None else ""

    def _show_presence(self) -> None:
        if self.presence.is_stale(self.table):
            self._present = None
            self._refresh()

    def choice_changed(self, account: str) -> None:
        """Show all of a player's streams what they have chosen ahead."""
        self._refresh(account)

    def _refresh(self, account: str | None = None) -> None:
        """Show one account's viewers, or everybody, what changed without a commit."""
        self.hub.refresh(self.present(), self.private_part, account)
        self._changed(self, None if account is None else ())

    def present(self) -> updates.Step:
        """Return the table as it is, serialised once for all who ask before it changes."""
        if self._present is None:
            self._present = updates.present(self.table_id, self._view(), self.head, self._at_ms)
        return self._present

    def private_part(self, account: str) -> bytes:
        """Return the bytes only ``account`` may see; empty without a seat."""
        sitting = views.sitting_of(self.table, account)
        if sitting is None:
            waits = waiting_view(self.table, account) if self.table.waiting else None
            return b"" if waits is None else updates.private_part(waits)
        down = self.vault.seat_cards(self.table, sitting.seat)
        chosen, is_due = self.ahead.of(account), self.ahead.is_due(account)
        mine = own(self.table, sitting, down, chosen, is_due=is_due)
        before = self._seen.get(sitting.seat)
        if before is None or before[0] != mine:
            before = self._seen[sitting.seat] = (mine, updates.private_part(private_view(mine)))
        return before[1]

    def full_view(self, account: str) -> updates.Outgoing:
        """Return a full view as ``account`` may see it."""
        return updates.Outgoing(self.present().shared, self.private_part(account))

    def summary(self) -> pb.TableSummary:
        """Return the table's line in the lobby, made once for all who ask before it changes."""
        if self._line is None:
            self._line = views.summary(self.table)
            self._line.paused = self.stands_for
            figures = self.figures.told()
            if figures is not None:
                self._line.figures.CopyFrom(figures)
        return self._line

    @property
    def stands_for(self) -> str:
        """Why no hand is started, empty when one may be."""
        return self._halted_for or self.table.stands_for or self._held_for

    def let_figures_age(self, now_ms: int) -> None:
        """Nothing is told any more of hands that ended long ago."""
        if self.figures.are_old(now_ms):
            self.figures.forget()
            self._line = None
            self._changed(self, None)

    # ---------------------------------------------------------------- clocks

    def _plan(self) -> None:
        """Set the one timer: the next deadline, the next hand, or at once where a clock lost time."""
        wake = due_at(self.table, self._ended_at_ms, self._asked_at_ms)
        if self._lost_time and fresh_deadline(self.table) is not None:
            wake = 0
        if self._writer.refused is not None:
            wake = 0
        if wake is None or self.halted or self.stopping or self.runtime.log_refuses:
            self._timer.cancel()
        else:
            self._timer.set(max(wake, self._rests_until_ms))

    def _wake(self) -> None:
        if self._writer.refused is not None:
            self.post(Tick())
            return
        now = self.runtime.clock()
        due, afresh = next_deadline(self.table), fresh_deadline(self.table)
        silent = silent_at(self.table, self._asked_at_ms)
        if self._lost_time and afresh is not None:
            self.post(RestartClocks(self._lost_time))
        elif due is not None and due <= now:
            if afresh is not None and now - afresh > LATE_MS:
                self.post(RestartClocks("LATE_TIMER"))
                self.post(Tick())  # it takes what fresh clocks do not affect: reservations
            else:
                self.post(run_out(self.table, self.runtime.clock(), self.ahead.is_connected))
        elif silent is not None and silent <= now:
            self.post(PauseTable(DEALER_SILENT, ""))
        elif self.table.hand is None and not hand_gate(self.table):
            if self._may_start():
                self.post(StartHand())
            else:
                self._timer.set(now + REST_MS)
        else:
            self._plan()
