"""What everybody around a table may do next: one legal move of what it waits for, or something beside that.

A move is chosen by a small number, so that Hypothesis can draw, repeat and shrink it.
"""

from __future__ import annotations

from collections.abc import Callable

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.rejection import Reason
from stud_core.ruleset import TableConfig
from stud_core.state import Life, Prompt, Sit, Sitting, Table
from stud_core.timers import next_deadline
from tests.property.legality import check_every_action
from tests.property.waits import Awaited
from tests.property.watched_table import WatchedTable

ACCOUNTS = tuple(f"a{number}" for number in range(1, 11))


def deadlines(state: Table) -> list[int]:
    """Every clock that runs."""
    reserved = [s.expires_at_ms for s in state.sittings.values() if s.status is Sit.RESERVED]
    hand = state.hand
    reserved += [waiter.expires_at_ms for waiter in state.waiting if waiter.seat]
    reserved += [s.out_until_ms for s in state.sittings.values() if s.sitting_out and _may_lose_the_seat(state, s)]
    of_hand = [] if hand is None else [hand.deadline_ms, *[prompt.deadline_ms for prompt in hand.prompts]]
    return [deadline for deadline in reserved + of_hand if deadline]


def _may_lose_the_seat(state: Table, sitting: Sitting) -> bool:
    """No hand that they were dealt into, or have anted for, is still to be played or judged."""
    hand = state.hand
    anted = hand is not None and not hand.dealt_in and hand.live[sitting.seat]
    return sitting.status is Sit.SEATED and sitting.last_hand <= state.verified_hand and not anted


class Moves(WatchedTable):
    def __init__(self, config: TableConfig, seed: int) -> None:
        super().__init__(config, seed)
        self.next_moves: dict[Awaited, Callable[[int], None]] = {
            Awaited.ANTES: self.answer_ante,
            Awaited.CARDS: self.deal,
            Awaited.ACTION: self.act,
            Awaited.SHOWS: self.answer_show,
            Awaited.VERDICT: self.judge,
            Awaited.RESOLUTION: self.resolve,
            Awaited.CASH_OUTS: self.answer_wallet,
            Awaited.RESUME: self.resume,
            Awaited.RESUME_DRAINING: self.resume,
            Awaited.PLAYERS: self.bring_players,
            Awaited.DECK: self.new_deck,
            Awaited.START: self.begin,
        }

    def move(self, n: int) -> None:
        """Do what the table waits for; ``n`` in 0..255 says how. Time goes on a little."""
        self.now_ms += 1
        due = deadlines(self.state)
        if due and min(due) < self.now_ms:
            self.time_out(0)
        elif self.awaited is not Awaited.NOTHING:
            self.next_moves[self.awaited](n)

    # --- the hand ------------------------------------------------------------

    def answer_ante(self, n: int) -> None:
        prompt = self._prompt(n)
        account = self.state.at(prompt.seat).account
        if n % 8 == 6:
            self.commit(cmd.SetPreferences(account, auto_post=True))
        else:
            self.commit(cmd.PostAnte(account, prompt.prompt_id, post=n % 8 != 7))

    def answer_show(self, n: int) -> None:
        prompt = self._prompt(n)
        sitting = self.state.at(prompt.seat)
        if n % 8 == 5 and not sitting.muck_losing:  # the winner's question stays open, and is answered next
            self.commit(cmd.SetPreferences(sitting.account, muck_losing=True))
            return
        cards = self.cards_of(self.state, prompt.seat)
        self.commit(cmd.ChooseShow(sitting.account, prompt.prompt_id, n % 2 == 0, cards))

    def _prompt(self, n: int) -> Prompt:
        prompts = self.state.running.prompts
        return prompts[n // 8 % len(prompts)]

    def deal(self, n: int) -> None:
        """Cards, or now and then an operator who voids a hand that has none yet."""
        hand = self.state.running
        if n % 32 == 31 and not hand.street:
            self.commit(cmd.VoidHand(hand.hand_no, "test", "op"))
            return
        self.commit(self.answer())

    def act(self, n: int) -> None:
        """Any option: folds now and then, the largest wager often, so that stacks come in."""
        self.try_every_action()
        hand = self.state.running
        options = hand.options if n % 8 == 0 else hand.options[-2:] if n % 4 == 1 else hand.options[1:] or hand.options
        option = options[n // 8 % len(options)]
        account = self.on_turn
        ahead = self.config.ruleset.pre_actions and n % 4 == 2
        events = self.commit(cmd.Act(account, hand.turn_id, option.verb, option.to, option.size, ahead))
        assert isinstance(events[0], ev.ActionTaken)
        assert events[0].by is (ev.By.PRE_ACTION if ahead else ev.By.PLAYER)

    def try_every_action(self) -> None:
        check_every_action(self)

    # --- between hands -------------------------------------------------------

    def new_deck(self, _n: int) -> None:
        self.dealer.new_deck()
        self.commit(cmd.RecordDeck(self.state.hand_no + 1, b"commitment"))

    def begin(self, n: int) -> None:
        """Mostly whoever is away comes back first, and seats fill again: large hands are the interesting ones."""
        if n % 4:
            for sitting in self._away():
                self.commit(cmd.SitIn(sitting.account))
        if n % 4 == 1:
            self.join(n // 4, n // 4)
        self.commit(cmd.StartHand())

    def _away(self) -> list[Sitting]:
        return [s for s in self.state.sittings.values() if s.status is Sit.SEATED and s.sitting_out and s.stack]

    def judge(self, n: int) -> None:
        number = self.state.ended_hand
        dispute = n % 8 == 0
        self.commit(cmd.RecordDispute(number, number, ("TEST",)) if dispute else cmd.RecordVerdict(number, number))

    def resolve(self, n: int) -> None:
        """As the table says, void, or with chips moved from one player of the hand to another."""
        number = self.state.ended_hand
        choice = list(ev.ResolutionChoice)[n % 3]
        stacks = [ev.SeatStack(self.state.sittings[s].seat, s, self.purse.stacks[s])
                  for s, _ in self.state.hand_start_stacks]  # fmt: skip
        if choice is ev.ResolutionChoice.REFEREE:
            giver, taker = stacks[n // 3 % len(stacks)], stacks[0]
            moved = {giver.sitting_no: 0, taker.sitting_no: giver.stack + taker.stack}
            stacks = [ev.SeatStack(s.seat, s.sitting_no, moved.get(s.sitting_no, s.stack)) for s in stacks]
            stacks = stacks if giver != taker else []
        given = () if choice is ev.ResolutionChoice.VOID else tuple(stacks)
        self.commit(cmd.RecordResolution(number, number, choice, given))

    def resume(self, n: int) -> None:
        """A cash-out that is held comes first: nobody resumes over it, and its payment ends the pause it caused."""
        if any(sitting.status is Sit.HELD for sitting in self.state.sittings.values()):
            self.reject(cmd.ResumeTable("op"))
            self.answer_wallet(n)
        else:
            self.commit(cmd.ResumeTable("op"))

    def bring_players(self, n: int) -> None:
        """Pay who waits for chips, ask back who is away, or bring somebody new."""
        self.answer_wallet(n)
        away = self._away()
        if away and n % 4:
            self.commit(cmd.SitIn(away[n // 4 % len(away)].account))
        else:
            self.join(n, n)

    def answer_wallet(self, n: int) -> None:
        """Answer every request to the wallet; now and then with a no."""
        for sitting in list(self.state.sittings.values()):
            if sitting.top_up_open:
                self._answer_top_up(sitting, declined=n % 8 == 0)
            elif sitting.status is Sit.RESERVED:
                declined = cmd.RecordFundingDeclined(sitting.sitting_no, "INSUFFICIENT_FUNDS")
                self.commit(declined if n % 8 == 0 else cmd.RecordFunding(sitting.sitting_no, sitting.buy_in))
            elif sitting.status is Sit.CASHING_OUT and n % 16 == 15:
                self.commit(cmd.RecordCashOutBlocked(sitting.sitting_no, "ESCROW_MISMATCH"))
            elif sitting.status in {Sit.CASHING_OUT, Sit.HELD}:
                self.commit(cmd.RecordCashOut(sitting.sitting_no, sitting.claim or 0))

    def _answer_top_up(self, sitting: Sitting, *, declined: bool) -> None:
        number, top_up = sitting.sitting_no, sitting.top_up_no
        if declined:
            self.commit(cmd.RecordTopUpDeclined(number, top_up, "INSUFFICIENT_FUNDS"))
        else:
            self.commit(cmd.RecordTopUp(number, top_up, sitting.top_up_open))

    # --- beside the hand -----------------------------------------------------

    def amount(self, n: int) -> int:
        """Stacks from one chip up, around everything a hand may cost."""
        config = self.config
        ante, post, small, big = config.ante, config.bring_in, config.small_bet, config.big_bet
        dear = (ante + post + small // 2, ante + small, ante + big + 1, 3 * small + n, 10 * small, 25 * small + n)
        around = (1, ante, ante + 1, ante + post - 1, ante + post, *dear, 40 * small)
        most = config.max_buy_in
        amount = max(1, around[n % len(around)], config.min_buy_in)
        return amount if most is None else min(amount, most)

    def join(self, n: int, preferences: int, *, funded: bool = True) -> None:
        """Somebody new takes any seat, when there is one; whoever waits to be paid out is not new."""
        free = [account for account in ACCOUNTS if self.state.of(account) is None]
        if self.state.life is not Life.OPEN or not free or self._is_full(free[0]):
            return
        choices = (None, True, False)
        auto_post, muck = choices[preferences % 3], choices[preferences // 3 % 3]
        amount = self.amount(n)
        owed = self.absences.owed(free[0], self.now_ms)
        if owed is not None:
            owed = min(owed, self.config.max_buy_in or owed)
            if amount < owed:
                assert self.reject(cmd.TakeSeat(free[0], None, amount)).reason is Reason.BUY_IN_TOO_SMALL
            amount = max(amount, owed)
        events = self.commit(cmd.TakeSeat(free[0], None, amount, auto_post, muck))
        asked = events[0]
        assert isinstance(asked, ev.BuyInRequested)
        if funded:
            self.commit(cmd.RecordFunding(asked.sitting_no, asked.amount))

    def _is_full(self, account: str) -> bool:
        """Whether every seat is taken, or kept for somebody else."""
        kept = {waiter.seat for waiter in self.state.waiting if waiter.account != account}
        return all(self.state.seats[seat] or seat in kept for seat in range(1, self.config.ruleset.seats + 1))

    def top_up(self, n: int) -> None:
        """Somebody asks for chips, if he may, and is paid at once."""
        seated = [s for s in self.state.sittings.values() if s.status is Sit.SEATED]
        if seated:
            self.offer(cmd.AddChips(seated[n % len(seated)].account, self.amount(n // 8)))
            self.answer_wallet(n | 1)

    def disturb(self, kind: int, n: int) -> None:
        """Something that may come at any moment; the table says whether it takes it."""
        account = ACCOUNTS[n % len(ACCOUNTS)]
        hand_no = self.state.hand.hand_no if self.state.hand is not None else self.state.hand_no
        turn_id = self.state.hand.turn_id if self.state.hand is not None and self.state.hand.turn_seat else 0
        commands: tuple[cmd.Command, ...] = (
            cmd.SitOut(account),
            cmd.SitIn(account),
            cmd.LeaveSeat(account),
            cmd.AddChips(account, self.amount(n // 10)),
            cmd.SetPreferences(account, (None, True, False)[n % 3], (None, True, False)[n // 3 % 3]),
            cmd.RestartClocks("test"),
            cmd.PauseTable("test", "op"),
            cmd.ResumeTable("op"),
            cmd.DrainTable("op"),
            cmd.CloseTable("op") if n % 8 == 0 else cmd.Tick(),
            cmd.VoidHand(hand_no, "test", "op"),
            cmd.JoinWaitingList(account, max(self.amount(n // 10), self.absences.owed(account, self.now_ms) or 0)),
            cmd.JoinWaitingList(ACCOUNTS[-1 - n % 3], self.amount(n // 10)),
            cmd.LeaveWaitingList(account),
            cmd.UseTimeChip(self.on_turn if turn_id else account, turn_id),
            cmd.ProtectTurn(turn_id),
        )
        command = commands[kind % len(commands)]
        self.offer(command)
        if isinstance(command, cmd.RestartClocks):
            self._check_clocks()

    def _check_clocks(self) -> None:
        """A restarted clock is a full one (B.18)."""
        rules, hand = self.config.ruleset, self.state.hand
        if hand is not None and hand.deadline_ms:
            assert hand.deadline_ms == self.now_ms + rules.action_clock_ms + self.extensions.given_ms
        for sitting in self.state.sittings.values():
            if sitting.out_until_ms:
                assert sitting.out_until_ms == self.now_ms + (rules.sit_out_max_ms or 0)
        clock = rules.ante_clock_ms if self.awaited is Awaited.ANTES else rules.show_clock_ms
        for prompt in hand.prompts if hand is not None else ():
            assert prompt.deadline_ms == (self.now_ms + clock if clock else 0)

    def time_out(self, late_ms: int) -> None:
        """Let the next clock run out. Before it nothing happens; an answer that comes after it is refused."""
        due = deadlines(self.state)
        assert next_deadline(self.state) == min(due, default=None)
        if not due:
            assert self.commit(cmd.Tick()) == []
            return
        deadline = min(due)
        if deadline - 1 > self.now_ms:
            self.now_ms = deadline - 1
            assert self.commit(cmd.Tick()) == []
        self.now_ms = max(self.now_ms, deadline + late_ms)
        self._answer_late()
        if late_ms == 1 and self._is_protected():
            return
        assert self.commit(cmd.Tick()), "a clock ran out, and nothing came of it"
        assert min(deadlines(self.state), default=self.now_ms + 1) > self.now_ms, "a clock that ran out still runs"

    def _is_protected(self) -> bool:
        """Whether the open turn gets more time now, as if its player's connection were lost."""
        hand = self.state.hand
        if hand is None or not hand.turn_seat or not 0 < hand.deadline_ms <= self.now_ms:
            return False
        due = self.config.ruleset.reconnect_ms is not None and hand.turn_seat not in self.extensions.protected
        answer = self.offer(cmd.ProtectTurn(hand.turn_id))
        assert isinstance(answer, list) == due
        return due

    def _answer_late(self) -> None:
        hand = self.state.hand
        if hand is None:
            return
        if hand.turn_seat and 0 < hand.deadline_ms < self.now_ms:
            late: list[cmd.Command] = [cmd.Act(self.state.at(hand.turn_seat).account, hand.turn_id, ev.Verb.FOLD)]
        else:
            asked = [prompt for prompt in hand.prompts if 0 < prompt.deadline_ms < self.now_ms]
            answer = cmd.PostAnte if self.awaited is Awaited.ANTES else cmd.ChooseShow
            late = [answer(self.state.at(p.seat).account, p.prompt_id, False) for p in asked]
        for command in late:
            assert self.reject(command).reason is Reason.DEADLINE_PASSED
