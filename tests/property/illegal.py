"""Commands that no table may accept, made for the state it is in: wrong numbers, people, amounts, cards, moments."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from stud_core import commands as cmd
from stud_core.events import DownCard, ResolutionChoice, SeatStack, UpCard, Verb
from stud_core.state import SYSTEM_PAUSES, Life, Phase, Sit, Table
from tests.property.waits import Awaited
from tests.property.watched_table import WatchedTable

NOBODY = "nobody"
HUGE = 10**15


def illegal_commands(table: WatchedTable) -> Iterator[cmd.Command]:
    """Beside them are spoiled answers of the dealer's, where cards are asked for."""
    state = table.state
    cards = table.answer() if state.hand is not None and state.hand.deal is not None else None
    yield from _actions(state)
    yield from _prompts(table)
    yield from _strangers()
    yield from _seats(table)
    yield from _wallet(state)
    yield from _verdicts(state)
    yield from _operators(table)
    yield from _cards(state, cards)


def _actions(state: Table) -> Iterator[cmd.Command]:
    hand = state.hand
    turn = hand.turn_id if hand is not None else 0
    on_turn = state.at(hand.turn_seat).account if hand is not None and hand.turn_seat else ""
    for verb in (Verb.FOLD, Verb.CHECK, Verb.CALL, Verb.RAISE):
        yield from [cmd.Act(s.account, turn, verb) for s in state.sittings.values() if s.account != on_turn]
        if on_turn:
            yield from [cmd.Act(on_turn, stale, verb) for stale in (turn - 1, turn + 1, 0, -turn, HUGE)]
    yield from [cmd.UseTimeChip(s.account, turn) for s in state.sittings.values() if s.account != on_turn]
    yield from [cmd.ProtectTurn(stale) for stale in (turn - 1, turn + 1, -turn, HUGE)]
    if hand is not None and hand.turn_seat:
        yield cmd.UseTimeChip(on_turn, turn - 1)
        for option in hand.options:
            yield cmd.Act(on_turn, turn - 1, option.verb, option.to, option.size)


def _prompts(table: WatchedTable) -> Iterator[cmd.Command]:
    """Answers nobody asked for, to another prompt, and shows of other cards than one's own."""
    state, hand = table.state, table.state.hand
    prompts = {p.seat: p.prompt_id for p in hand.prompts} if hand is not None else {}
    for sitting in state.sittings.values():
        seat = sitting.seat
        held = seat in prompts and state.seats[seat] == sitting.sitting_no
        right = prompts[seat] if held else state.version
        for wrong in (right - 1, right + 1, 0, -1):
            yield cmd.PostAnte(sitting.account, wrong)
            yield cmd.ChooseShow(sitting.account, wrong, show=False)
        if not held or table.awaited is not Awaited.ANTES:
            yield cmd.PostAnte(sitting.account, right)
        if not held or table.awaited is not Awaited.SHOWS:
            yield cmd.ChooseShow(sitting.account, right, show=False)
        if held and hand is not None and hand.phase is Phase.SHOW_PROMPTS:
            mine = table.dealer.open(hand.down[seat])
            for cards in ((), mine[:-1], (*mine[:-1], mine[0]), (*mine[:-1], 52), (*mine[:-1], hand.up[seat][0])):
                yield cmd.ChooseShow(sitting.account, right, show=True, cards=cards)


def _strangers() -> Iterator[cmd.Command]:
    yield cmd.Act(NOBODY, 1, Verb.FOLD)
    yield cmd.UseTimeChip(NOBODY, 1)
    yield cmd.LeaveWaitingList(NOBODY)
    yield cmd.PostAnte(NOBODY, 1)
    yield cmd.ChooseShow(NOBODY, 1, show=False)
    yield cmd.SitOut(NOBODY)
    yield cmd.SitIn(NOBODY)
    yield cmd.SetPreferences(NOBODY, auto_post=True)
    yield cmd.LeaveSeat(NOBODY)
    yield cmd.AddChips(NOBODY, 100)


def _seats(table: WatchedTable) -> Iterator[cmd.Command]:
    state, config = table.state, table.config
    least, most = config.min_buy_in, config.max_buy_in
    for seat in (0, -1, config.ruleset.seats + 1, 9, HUGE):
        yield cmd.TakeSeat(NOBODY, seat, least)
    for amount in (least - 1, 0, -1, -HUGE, *([most + 1, HUGE] if most is not None else [])):
        yield cmd.TakeSeat(NOBODY, None, amount)
    yield from [cmd.TakeSeat(NOBODY, seat, least) for seat, taken in enumerate(state.seats) if taken]
    if state.life is not Life.OPEN or all(state.seats[1 : config.ruleset.seats + 1]):
        yield cmd.TakeSeat(NOBODY, None, least)
    yield from [cmd.TakeSeat(NOBODY, waiter.seat, least) for waiter in state.waiting if waiter.seat]
    yield from [cmd.JoinWaitingList(waiter.account, least) for waiter in state.waiting]
    yield from [cmd.JoinWaitingList(NOBODY, amount) for amount in (least - 1, 0, -1)]
    if config.ruleset.waiting_list is None or len(state.waiting) >= config.ruleset.waiting_list:
        yield cmd.JoinWaitingList(NOBODY, least)
    for sitting in state.sittings.values():
        yield cmd.JoinWaitingList(sitting.account, least)
        yield cmd.TakeSeat(sitting.account, None, least)
        yield from [cmd.AddChips(sitting.account, amount) for amount in (0, -1, -HUGE)]
        if most is not None:
            yield cmd.AddChips(sitting.account, most - sitting.stack - sitting.pending + 1)
        if sitting.status is not Sit.SEATED:
            yield from (cmd.AddChips(sitting.account, least), cmd.SitOut(sitting.account), cmd.SitIn(sitting.account))
        if sitting.status not in {Sit.SEATED, Sit.RESERVED}:
            yield from (cmd.LeaveSeat(sitting.account), cmd.SetPreferences(sitting.account, muck_losing=True))
        yield cmd.SitOut(sitting.account) if sitting.sitting_out else cmd.SitIn(sitting.account)


def _wallet(state: Table) -> Iterator[cmd.Command]:
    """Facts about sittings that are not there, or that wait for no such fact."""
    for number in (0, -1, state.next_sitting_no, HUGE, *range(1, min(state.next_sitting_no, 20))):
        sitting = state.sittings.get(number)
        if sitting is None or sitting.status is not Sit.RESERVED:
            yield cmd.RecordFunding(number, 100)
            yield cmd.RecordFundingDeclined(number, "INSUFFICIENT_FUNDS")
        open_no = sitting.top_up_no if sitting is not None and sitting.top_up_open else None
        for top_up in {0, -1, 1, 2, HUGE} - {open_no}:
            yield cmd.RecordTopUp(number, top_up, 100)
            yield cmd.RecordTopUpDeclined(number, top_up, "INSUFFICIENT_FUNDS")
        if sitting is None or sitting.status not in {Sit.CASHING_OUT, Sit.HELD}:
            yield cmd.RecordCashOut(number, 100)
        if sitting is None or sitting.status is not Sit.CASHING_OUT:
            yield cmd.RecordCashOutBlocked(number, "ESCROW_MISMATCH")


def _verdicts(state: Table) -> Iterator[cmd.Command]:
    judged = {state.ended_hand} if state.ended_hand > state.verified_hand else set()
    for hand_no in {-1, 0, state.ended_hand, state.ended_hand - 1, state.ended_hand + 1, HUGE} - judged:
        yield cmd.RecordVerdict(hand_no, 1)
        yield cmd.RecordDispute(hand_no, 1, ("TEST",))
        yield cmd.RecordResolution(hand_no, 1, ResolutionChoice.VOID, ())
    if state.disputed_hand:
        yield cmd.RecordDispute(state.disputed_hand, 2, ("TEST",))
        yield cmd.ResumeTable("op")
    for hand_no in judged:
        stranger = SeatStack(1, state.next_sitting_no, 1)
        yield cmd.RecordResolution(hand_no, 1, ResolutionChoice.REFEREE, (stranger,))


def _operators(table: WatchedTable) -> Iterator[cmd.Command]:
    state = table.state
    yield cmd.OpenTable(table.config)
    yield cmd.Showdown({})
    yield cmd.Showdown(dict.fromkeys(range(1, 9), (0, 1, 2)))
    running = state.hand.hand_no if state.hand is not None else None
    for hand_no in {-1, 0, state.hand_no, state.hand_no - 1, state.hand_no + 1, HUGE} - {running}:
        yield cmd.VoidHand(hand_no, "test", "op")
    if table.awaited is Awaited.SHOWS:  # the pots are paid (B.21)
        yield cmd.VoidHand(state.hand_no, "test", "op")
    if table.awaited is not Awaited.START:
        yield cmd.StartHand()
    if state.paused:
        if state.paused not in SYSTEM_PAUSES:
            yield cmd.PauseTable("again", "op")
    elif state.life is not Life.DRAINING:
        yield cmd.ResumeTable("op")
    if state.life is not Life.OPEN:
        yield cmd.DrainTable("op")
    if state.life in {Life.CLOSING, Life.CLOSED}:
        yield cmd.CloseTable("op")


def _cards(state: Table, cards: cmd.RecordCards | None) -> Iterator[cmd.Command]:
    """Decks of other hands; deals that were not asked for, and wrong answers to the one that was."""
    wanted = state.hand_no + 1 if state.deck_hand_no == state.hand_no else None
    for hand_no in {-1, 0, state.hand_no, state.hand_no + 1, state.hand_no + 2, HUGE} - {wanted}:
        yield cmd.RecordDeck(hand_no, b"deck")
    if cards is None:
        for deal_no in range(7):
            yield cmd.RecordCards(state.hand_no, deal_no, (), ())
        return
    for numbers in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        yield replace(cards, hand_no=cards.hand_no + numbers[0], deal_no=cards.deal_no + numbers[1])
    yield replace(cards, root=None if cards.deal_no == 1 else b"root")
    yield replace(cards, community=0 if cards.community is None else None)
    yield replace(cards, up=(*cards.up, UpCard(1, 0)))
    yield replace(cards, down=(*cards.down, DownCard(1, 51, b"box")))
    if cards.up:
        first = cards.up[0]
        yield replace(cards, up=cards.up[1:])
        yield replace(cards, up=(replace(first, seat=first.seat % 8 + 1), *cards.up[1:]))
        yield from [replace(cards, up=(replace(first, card=card), *cards.up[1:])) for card in (-1, 52, HUGE)]
        yield replace(cards, up=(first, *[replace(other, card=first.card) for other in cards.up[1:]]))
        if state.running.up[first.seat]:
            yield replace(cards, up=(replace(first, card=state.running.up[first.seat][0]), *cards.up[1:]))
    if cards.down:
        yield replace(cards, down=cards.down[:-1])
        yield replace(cards, down=(*cards.down[:-1], replace(cards.down[-1], pos=cards.down[0].pos)))
