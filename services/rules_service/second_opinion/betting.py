"""One betting round, bet by bet, as the rule pages tell it (B.2 to B.9, B.21).

Chips behind are read from the sheet's stacks and never changed here. All amounts are minor units; ``to`` is a
player's total in this round.
"""

from __future__ import annotations

from collections.abc import Sequence

from stud_core.events import Size, Verb
from stud_core.ruleset import HeadsUp, OpenPair, ShortAllIn, TableConfig

Choice = tuple[Verb, int, Size | None]
"""What a player may do: verb, their total in the round after it, declared size."""


class Round:
    """A betting round of one street."""

    def __init__(self, config: TableConfig, street: int, order: Sequence[int], live: Sequence[int]) -> None:
        self.config = config
        self.street = street
        self.order = tuple(order)
        self.live = set(live)
        self.put = dict.fromkeys(order, 0)
        self.price = 0
        self.full = 0  # level of the last full wager; 0 while there is none
        self.wagers = 0
        self.uncapped = False
        self.acted: set[int] = set()  # who has done something in this round
        self.spoken: set[int] = set()  # who has done something since the last full wager
        self.high_only = False
        self.pair_holders: set[int] = set()
        self.first = 0
        self.low_card = 0
        self.aggressor = 0

    def open(self, stacks: Sequence[int], first: int, pair_holders: set[int]) -> None:
        """Say who opens (the low card or the highest board, all-in or not) and who shows an open pair."""
        ruleset = self.config.ruleset
        self.low_card = first if self.street == 3 else 0
        self.first = first
        if not stacks[first] and self._with_chips(stacks) > 1:
            self.first = next(s for s in self._from(first) if s in self.live and stacks[s])
        two_sizes = self.config.small_bet != self.config.big_bet
        if ruleset.open_pair is not OpenPair.OFF and two_sizes and self.street == 4:
            self.pair_holders = pair_holders
        if ruleset.heads_up is HeadsUp.HAND_START:
            self.uncapped = len(self.order) == 2
        elif ruleset.heads_up is HeadsUp.ROUND_START:
            self.uncapped = self._two_are_left(stacks)

    # --- who -----------------------------------------------------------------

    def _from(self, seat: int) -> tuple[int, ...]:
        at = self.order.index(seat)
        return self.order[at:] + self.order[:at]

    def _with_chips(self, stacks: Sequence[int]) -> int:
        return len([s for s in self.live if stacks[s]])

    def _two_are_left(self, stacks: Sequence[int]) -> bool:
        """B.6: players who can still lose chips count, the all-in ones by a knob."""
        if self.config.ruleset.heads_up_counts_all_in:
            return len(self.live) <= 2
        return self._with_chips(stacks) <= 2

    def next_seat(self, stacks: Sequence[int], after: int) -> int:
        """Return who must act next, 0 when the round is over; ``after`` 0 asks who begins."""
        alone = self._with_chips(stacks) < 2
        if after == 0:
            return 0 if alone else self.first
        for seat in (*self._from(after)[1:], after):
            if seat not in self.live or not stacks[seat]:
                continue
            behind = self.put[seat] < self.price
            if behind or (seat not in self.acted and not alone):
                return seat
        return 0

    # --- what ----------------------------------------------------------------

    def choices(self, stacks: Sequence[int], seat: int) -> dict[Choice, bool]:
        """Return everything legal for a seat, and whether it would be a full wager."""
        config = self.config
        reach = self.put[seat] + stacks[seat]
        found: dict[Choice, bool] = {}
        if self.street == 3 and self.price == 0:
            if seat != self.low_card:
                found[Verb.FOLD, 0, None] = False
            found[Verb.BRING_IN, min(config.bring_in, reach), None] = config.ruleset.completion_counts_as_raise
            at_least = config.bring_in
        else:
            found[Verb.FOLD, self.put[seat], None] = False
            if self.put[seat] < self.price:
                found[Verb.CALL, min(self.price, reach), None] = False
            else:
                found[Verb.CHECK, self.put[seat], None] = False
            at_least = self.price
        if reach > at_least and self._may_raise(stacks, seat):
            for size in self._sizes(seat):
                to = min(self._target(size), reach)
                if to > self.price:  # a short all-in by the higher limit may have passed the lower one's target
                    found[self._verb(), to, size] = self._is_full(to, size)
        return found

    def _may_raise(self, stacks: Sequence[int], seat: int) -> bool:
        if seat in self.spoken:
            return False  # they have acted, and only short all-ins came since (B.8)
        if self.wagers > self.config.ruleset.max_raises and not self.uncapped:
            return False  # one bet and its raises: capped (P56, W18)
        return any(self.put[s] + stacks[s] > self.price for s in self.live if s != seat)

    def _sizes(self, seat: int) -> list[Size | None]:
        if not self.pair_holders:
            return [None]
        if self.high_only:
            return [Size.HIGH]
        if self.config.ruleset.open_pair is OpenPair.HOLDER_ONLY and seat not in self.pair_holders:
            return [Size.LOW]
        return [Size.LOW, Size.HIGH]

    def _base(self) -> int:
        """Where the next full wager is measured from: the last one, or the bring-in before there is one."""
        return self.full or (self.config.bring_in if self.street == 3 else 0)

    def _target(self, size: Size | None) -> int:
        """The total that makes a full wager."""
        if self.street == 3 and not self.full:
            return self.config.small_bet
        high = self.street >= 5 or size is Size.HIGH
        return self.full + (self.config.big_bet if high else self.config.small_bet)

    def _is_full(self, to: int, size: Size | None) -> bool:
        """B.8: at least half of the increase that was required."""
        rule = self.config.ruleset.short_all_in
        gained, required = to - self._base(), self._target(size) - self._base()
        if rule is ShortAllIn.HALF_BET:
            return 2 * gained >= required
        return rule is ShortAllIn.ANY or gained >= required

    def _verb(self) -> Verb:
        if self.price == 0:
            return Verb.OPEN if self.street == 3 else Verb.BET
        # On top of a full wager it is a raise; on top of anything less it completes one.
        return Verb.RAISE if self.price == self.full else Verb.COMPLETE

    # --- then ----------------------------------------------------------------

    def act(self, stacks: Sequence[int], seat: int, choice: Choice, *, is_full: bool) -> None:
        """Take a legal action; ``stacks`` are those after it."""
        verb, to, size = choice
        self.acted.add(seat)
        self.spoken.add(seat)
        self.put[seat] = to
        if verb is Verb.FOLD:
            self.live.discard(seat)
        elif verb is Verb.BRING_IN:
            self.price = self.config.bring_in
            self.wagers += is_full
        elif verb not in {Verb.CHECK, Verb.CALL}:
            self.price = to
            self.aggressor = seat
            if is_full:
                self._count(stacks, seat, to, size)

    def _count(self, stacks: Sequence[int], seat: int, to: int, size: Size | None) -> None:
        ruleset = self.config.ruleset
        self.full = to
        self.wagers += 1
        self.spoken = {seat}
        if size is Size.HIGH:
            self.high_only = True
        just_capped = self.wagers == 1 + ruleset.max_raises
        if just_capped and ruleset.heads_up is HeadsUp.TWO_REMAIN_BEFORE_CAP:
            self.uncapped = self._two_are_left(stacks)
