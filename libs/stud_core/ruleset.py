"""A ruleset is data: every knob of the two house-rule pages as one field.

The numbers of the enums are those of ``stud.common.v1`` (zero is never used). What each knob means
and which page it comes from is in ``docs/rules-coverage.md``; presets are in :mod:`stud_core.presets`.
"""

from __future__ import annotations

from enum import IntEnum

import msgspec

OFFER_MS = 30_000
"""How long a seat is kept for somebody from the waiting list, where the house does not say."""


class DealOrigin(IntEnum):
    """Where dealing starts: lowest occupied seat (P10-P11) or left of a moving button (W26)."""

    FIXED = 1
    BUTTON = 2


class BringInKind(IntEnum):
    """Bring-in posted per table (P58) or half the lower limit, rounded up (W9)."""

    PARAMETER = 1
    HALF_SMALL_BET = 2


class HeadsUp(IntEnum):
    """When the cap is lifted because two players remain (P57; B.6)."""

    NEVER = 1
    TWO_REMAIN_BEFORE_CAP = 2
    ROUND_START = 3
    HAND_START = 4


class OpenPair(IntEnum):
    """Who may use the higher limit on fourth street once a pair shows (P22, P62, W15, W17; B.5)."""

    OFF = 1
    HOLDER_ONLY = 2
    ANY = 3


class ShortAllIn(IntEnum):
    """What an all-in below the full size must reach to count and reopen the betting (B.8)."""

    HALF_BET = 1
    FULL_BET = 2
    ANY = 3


class RiverShortage(IntEnum):
    """What happens when the deck is too short for the river (P33-P35, W20-W21; B.12)."""

    COMMUNITY = 1
    RECYCLE_THEN_COMMUNITY = 2


class OddUnits(IntEnum):
    """Who gets the units that cannot be split (P47, W25; B.14)."""

    ONE_EACH_FROM_LEFT = 1
    ALL_TO_FIRST_LEFT = 2
    HIGH_CARD_BY_SUIT = 3


class TopUp(IntEnum):
    """Whether the stack after a top-up must lie within the buy-in limits (B.19)."""

    WITHIN_LIMITS = 1
    ANY_AMOUNT = 2


class BuyInLimit(msgspec.Struct, frozen=True, gc=False):
    """A buy-in limit: an ``amount`` in minor units, or a multiple of the lower limit (one of the two)."""

    amount: int | None = None
    small_bets: int | None = None

    def resolve(self, small_bet: int) -> int:
        """Return the limit in minor units at a table whose lower limit is ``small_bet``."""
        if self.amount is not None:
            return self.amount
        return (self.small_bets or 0) * small_bet


class Ruleset(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Every knob. Amounts are minor currency units, clocks milliseconds (0 = none, XTS tables only)."""

    name: str
    version: int
    deal_origin: DealOrigin
    burns: bool
    bring_in: BringInKind
    completion_counts_as_raise: bool
    max_raises: int
    heads_up: HeadsUp
    heads_up_counts_all_in: bool
    open_pair: OpenPair
    short_all_in: ShortAllIn
    river_shortage: RiverShortage
    river_burn_reserve: int
    community_counts_for_first: bool
    odd_units: OddUnits
    action_clock_ms: int
    ante_clock_ms: int
    show_clock_ms: int
    time_bank_ms: int
    pre_actions: bool
    pre_fold_is_literal: bool
    away_folds_now: bool
    auto_post_default: bool
    muck_losing_default: bool
    min_buy_in: BuyInLimit
    max_buy_in: BuyInLimit | None
    top_up: TopUp
    rathole_ms: int
    rake_bps: int
    rake_cap: int | None
    no_rake_before_fourth: bool
    seats: int
    pre_check_call_any: bool
    sit_out_max_ms: int | None
    sit_out_max_hands: int | None
    time_bank_chips: int | None
    time_bank_refill_hands: int | None
    reconnect_ms: int | None
    show_connection: bool
    waiting_list: int | None
    offer_ms: int | None


class TableConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a table is opened with: a complete ruleset and the table's own parameters.

    ``bring_in`` is the resolved amount (W: ceil(small_bet / 2)). ``stacked`` tables (rehearsals) exist
    only in currency XTS.
    """

    table_id: str
    name: str
    currency: str
    ruleset: Ruleset
    small_bet: int
    big_bet: int
    ante: int
    bring_in: int
    hand_pause_ms: int
    stacked: bool = False

    @property
    def min_buy_in(self) -> int:
        """Least stack a player may sit down with (P3-P4, W2)."""
        return self.ruleset.min_buy_in.resolve(self.small_bet)

    @property
    def max_buy_in(self) -> int | None:
        """Greatest stack a player may sit down with; None = no maximum."""
        limit = self.ruleset.max_buy_in
        return None if limit is None else limit.resolve(self.small_bet)
