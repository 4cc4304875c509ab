"""PokerKit at the same table: the same players, cards and actions, told from the events of ours.

PokerKit counts players from 0 in deal order; here they are seats. It re-deals cards of its own when a deck runs out,
so every card is named to it, and what was burned is left unsaid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pokerkit import Automation, FixedLimitSevenCardStud, Mode

from stud_core import events as ev
from stud_core.betting import is_wager
from stud_core.cards import card_name
from stud_core.ruleset import TableConfig
from tests.support.table_driver import TableDriver

OURS = {Automation.CARD_BURNING, Automation.HOLE_DEALING, Automation.BOARD_DEALING}
AUTOMATIONS = tuple(step for step in Automation if step not in OURS)


class Menu(NamedTuple):
    """What somebody may do: what calling or bringing in costs, totals that a wager may reach; None = not offered."""

    fold: bool
    call: int | None
    bring_in: int | None
    wagers: frozenset[int]


def menu_of(options: Sequence[ev.Option]) -> Menu:
    """Our options in those terms; a check is a call for nothing."""
    by_verb = {option.verb: option for option in options}
    paid = by_verb.get(ev.Verb.CALL, by_verb.get(ev.Verb.CHECK))
    bring_in = by_verb.get(ev.Verb.BRING_IN)
    return Menu(
        ev.Verb.FOLD in by_verb,
        None if paid is None else paid.amount,
        None if bring_in is None else bring_in.amount,
        frozenset(option.to for option in options if is_wager(option.verb)),
    )


class Peer:
    """One hand of PokerKit's, in cash-game mode with trimmed antes."""

    def __init__(self, config: TableConfig, order: Sequence[int], stacks: Mapping[int, int]) -> None:
        """``order`` is the deal order; ``stacks`` are those before the ante."""
        self.order = order
        self.state: Any = FixedLimitSevenCardStud.create_state(
            AUTOMATIONS,
            True,
            config.ante,
            config.bring_in,
            config.small_bet,
            config.big_bet,
            [stacks[seat] for seat in order],
            len(order),
            mode=Mode.CASH_GAME,
        )

    # --- doing ---------------------------------------------------------------

    def deal(self, cards: Mapping[int, Sequence[int]], community: int | None = None) -> None:
        """Deal each seat these cards, in the order in which PokerKit wants to."""
        while self.state.can_burn_card():
            self.state.burn_card("??")
        if community is not None:
            self.state.deal_board(card_name(community))
        for seat, dealt in cards.items():
            self.state.deal_hole("".join(map(card_name, dealt)), self.order.index(seat))

    def act(self, action: ev.ActionTaken) -> None:
        """Do what was done at our table."""
        match action.verb:
            case ev.Verb.FOLD:
                self.state.fold()
            case ev.Verb.CHECK | ev.Verb.CALL:
                self.state.check_or_call()
            case ev.Verb.BRING_IN:
                self.state.post_bring_in()
            case _:
                self.state.complete_bet_or_raise_to(action.to)

    # --- looking -------------------------------------------------------------

    @property
    def over(self) -> bool:
        return not self.state.status

    @property
    def turn(self) -> int:
        """The seat to act, 0 when nobody has to."""
        index = self.state.actor_index
        return 0 if index is None else self.order[index]

    def is_live(self, seat: int) -> bool:
        return bool(self.state.statuses[self.order.index(seat)])

    @property
    def menu(self) -> Menu:
        """What the player to act may do."""
        wager = self.state.min_completion_betting_or_raising_to_amount
        most = self.state.max_completion_betting_or_raising_to_amount
        return Menu(
            self.state.can_fold(),
            self.state.checking_or_calling_amount,
            self.state.effective_bring_in_amount,
            frozenset(amount for amount in (wager, most) if amount is not None),
        )

    @property
    def why_no_wager(self) -> str:
        """PokerKit's words for refusing a wager."""
        try:
            self.state.verify_completion_betting_or_raising_to()
        except ValueError as refusal:
            return str(refusal)
        return ""

    @property
    def stacks(self) -> dict[int, int]:
        return dict(zip(self.order, self.state.stacks, strict=True))

    @property
    def bets(self) -> dict[int, int]:
        return dict(zip(self.order, self.state.bets, strict=True))

    @property
    def in_the_middle(self) -> int:
        """All chips of the hand, those of the running round too."""
        return int(self.state.total_pot_amount)

    @property
    def pots(self) -> list[tuple[int, set[int]]]:
        """Amounts and who can win them, main pot first; of finished rounds only."""
        return [(pot.amount, {self.order[index] for index in pot.player_indices}) for pot in self.state.pots]

    @property
    def shown(self) -> list[int]:
        """Seats in the order in which they showed or mucked."""
        kind = "HoleCardsShowingOrMucking"
        return [self.order[op.player_index] for op in self.state.operations if type(op).__name__ == kind]

    @property
    def pushed(self) -> list[dict[int, int]]:
        """Shares of each pot, main pot first."""
        pushes = [op for op in self.state.operations if type(op).__name__ == "ChipsPushing"]
        return [{seat: n for seat, n in zip(self.order, op.amounts, strict=True) if n} for op in pushes]


def peer_of(table: TableDriver) -> Peer:
    """PokerKit brought to where a hand of the table driver is; fails where it would not go along."""
    history = table.events()
    started = next(event for event in history if isinstance(event, ev.HandStarted))
    antes = {event.seat: event.amount for event in history if isinstance(event, ev.AntePosted)}
    order = [player.seat for player in started.dealt_in]
    peer = Peer(table.config, order, {player.seat: player.stack + antes[player.seat] for player in started.dealt_in})
    for event in history:
        if isinstance(event, ev.CardsDealt):
            cards: dict[int, list[int]] = {seat: [] for seat in order}
            for box in event.down:
                cards[box.seat] += table.dealer.open((box,))
            for card in event.up:
                cards[card.seat].append(card.card)
            peer.deal({seat: dealt for seat, dealt in cards.items() if dealt}, event.community)
        elif isinstance(event, ev.ActionTaken):
            peer.act(event)
    return peer
