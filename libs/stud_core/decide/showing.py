"""The end of a hand: showing, paying the pots, show prompts, the result (P37-P47, W22-W25; B.14, B.15)."""

from __future__ import annotations

from itertools import chain

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.cards import DECK_SIZE
from stud_core.commands import Context
from stud_core.decide.antes import check_prompt
from stud_core.decide.boundary import go_on_closing
from stud_core.decide.draft import Answer, Draft
from stud_core.prompts import prompt_of
from stud_core.rejection import Reason, Rejection
from stud_core.showdown import Award, awards, pot_winners, rake_of, rank_hand, showing_order
from stud_core.state import Hand, Life, Phase, Sit, Sitting, Table


def showdown(state: Table, command: cmd.Showdown, ctx: Context) -> Answer:
    """Rank the clear cards: cards speak (P46), so no winner can muck and no setting can lose a pot."""
    hand = state.hand
    if hand is None or not state.wants_showdown:
        return Rejection(Reason.UNEXPECTED_CARDS, "there is no showdown")
    problem = _wrong_cards(hand, command.cards)
    if problem:
        return Rejection(Reason.UNEXPECTED_CARDS, problem)
    draft = Draft(state, ctx)
    hand = draft.state.running
    down = command.cards
    pots = hand.pots
    ranks = {seat: rank_hand(hand, seat, cards) for seat, cards in down.items()}
    winners = [pot_winners(pot, ranks) for pot in pots]
    must_show = {s for pot, won in zip(pots, winners, strict=True) if len(pot.eligible) > 1 for s in won}
    order = showing_order(hand, pots)
    must_show.add(order[0])  # the last to bet, or the first to show: P43 before P44
    for seat in order:
        sitting = draft.state.at(seat)
        if seat in must_show:
            draft.emit(ev.HandShown(seat, down[seat], ranks[seat]))
        elif sitting.muck_losing or not _is_asked(state, sitting):
            draft.emit(ev.HandMucked(seat))
        else:
            _prompt(draft, seat, ev.PromptKind.LOSER)
    for award in awards(hand, state.rules.ruleset, pots, winners, down):
        _pay(draft, award)
    if not hand.prompts:
        end_hand(draft)
    return draft


def _wrong_cards(hand: Hand, cards: dict[int, tuple[int, ...]]) -> str:
    """What is wrong with the clear cards of a showdown; empty if they fit the table."""
    live = [seat for seat in hand.order if hand.live[seat]]
    if len(cards) != len(live) or not all(seat in cards for seat in live):
        return "a showdown takes the cards of every live seat"
    if any(len(cards[seat]) != len(hand.down[seat]) for seat in live):
        return "a showdown takes every down card"
    return _twice(hand, [card for seat in live for card in cards[seat]])


def _twice(hand: Hand, down: list[int]) -> str:
    """What is wrong with down cards beside what lies face up; empty if they are cards of the same deck."""
    if not 0 <= min(down) <= max(down) < DECK_SIZE:
        return "there is no such card"
    down += chain.from_iterable(hand.up)
    if hand.community is not None:
        down.append(hand.community)
    return "" if len(set(down)) == len(down) else "a card is there twice"


def _prompt(draft: Draft, seat: int, kind: ev.PromptKind) -> None:
    clock = draft.state.rules.ruleset.show_clock_ms
    draft.emit(ev.ShowPrompted(draft.ctx.version, seat, kind, draft.deadline(clock)))


def _is_asked(state: Table, sitting: Sitting) -> bool:
    """Whether the player is asked: not one who leaves, nor at a closing table where no clock would end it."""
    endless = state.life is Life.CLOSING and not state.rules.ruleset.show_clock_ms
    return sitting.status is not Sit.LEAVING and not endless


def _pay(draft: Draft, award: Award) -> None:
    state = draft.state
    shares = tuple([ev.Share(seat, amount, state.at(seat).stack + amount) for seat, amount in award.shares.items()])
    draft.emit(ev.PotAwarded(award.pot_no, award.amount, award.rake, shares))


def win_uncontested(draft: Draft) -> None:
    """Pay the last live player and ask whether they show; they need not (P41-P42). The prompt delays the end only."""
    state = draft.state
    hand = state.running
    winner = hand.live.index(True)
    pots = hand.pots
    for pot, rake in zip(pots, rake_of(hand, state.rules.ruleset, pots), strict=True):
        _pay(draft, Award(0, pot.amount, rake, {winner: pot.amount - rake}))
    if _is_asked(state, state.at(winner)):
        _prompt(draft, winner, ev.PromptKind.UNCALLED_WINNER)
    else:
        draft.emit(ev.HandMucked(winner))
        end_hand(draft)


def choose_show(state: Table, command: cmd.ChooseShow, ctx: Context) -> Answer:
    """Answer a show prompt. Showing shows all down cards to everybody."""
    hand = state.hand
    sitting = state.of(command.account)
    if sitting is None:
        return Rejection(Reason.NOT_SEATED, "the account does not sit at this table")
    prompt = None
    if hand is not None and hand.phase is Phase.SHOW_PROMPTS:
        prompt = prompt_of(hand.prompts, sitting.seat)
    if hand is None or prompt is None:
        return Rejection(Reason.NO_PROMPT, "nobody asks this account to show")
    refusal = check_prompt(prompt, command.prompt_id, ctx)
    if refusal is not None:
        return refusal
    draft = Draft(state, ctx)
    seat = sitting.seat
    if not command.show:
        close_prompt(draft, seat)
        return draft
    cards = command.cards
    if len(cards) != len(hand.down[seat]) or _twice(hand, list(cards)):
        return Rejection(Reason.UNEXPECTED_CARDS, "showing takes every down card of the seat", "B.15")
    rank = rank_hand(hand, seat, cards) if prompt.kind is ev.PromptKind.LOSER else 0
    draft.emit(ev.HandShown(seat, cards, rank))
    _end_if_answered(draft)
    return draft


def close_prompt(draft: Draft, seat: int) -> None:
    """Take the default for a show prompt: muck, or don't show (B.18)."""
    draft.emit(ev.HandMucked(seat))
    _end_if_answered(draft)


def close_endless_prompts(draft: Draft) -> None:
    """Take the default for every show prompt that no clock ends."""
    hand = draft.state.hand
    if hand is not None and hand.phase is Phase.SHOW_PROMPTS:
        for prompt in hand.prompts:
            if not prompt.deadline_ms:
                close_prompt(draft, prompt.seat)


def _end_if_answered(draft: Draft) -> None:
    if not draft.state.running.prompts:
        end_hand(draft)


def end_hand(draft: Draft) -> None:
    """Record the result of every player dealt in; the referee judges it before a chip moves."""
    state = draft.state
    hand = state.running
    stacks = tuple([ev.SeatStack(p.seat, p.sitting_no, state.at(p.seat).stack) for p in hand.dealt_in])
    deltas = tuple(
        [ev.Delta(p.sitting_no, p.account, state.at(p.seat).stack - hand.start[p.seat]) for p in hand.dealt_in]
    )
    draft.emit(ev.HandEnded(hand.hand_no, state.from_version, stacks, deltas, hand.rake))
    go_on_closing(draft)
