"""Which tables of the lobby somebody wants to see: a filter, checked, and asked of one line after the other."""

from __future__ import annotations

import msgspec

from stud.table.v1 import table_service_pb2 as pb
from stud_core.amounts import MAX_AMOUNT
from stud_service.refusals import Refused
from table_service.lobby import EVERY

MAX_NAME = 64
"""Characters of a currency or a ruleset that is asked for."""

MAX_SEATS = 8

LIVES = frozenset({pb.TABLE_LIFE_OPEN, pb.TABLE_LIFE_DRAINING, pb.TABLE_LIFE_CLOSING, pb.TABLE_LIFE_CLOSED})
NOT_CLOSED = LIVES - {pb.TABLE_LIFE_CLOSED}


class Wanted(msgspec.Struct, frozen=True):
    """A filter that was checked; ``lives`` are the states that fit."""

    currencies: frozenset[str]
    ruleset: str
    min_small_bet: int
    max_small_bet: int
    min_free_seats: int
    lives: frozenset[int]
    hide_paused: bool

    @property
    def currency(self) -> str:
        """Where to look: in one currency, or in EVERY."""
        return min(self.currencies, default=EVERY)

    @property
    def closed(self) -> bool:
        """Whether closed tables may fit."""
        return pb.TABLE_LIFE_CLOSED in self.lives

    def fits(self, line: pb.TableSummary) -> bool:
        """Whether a table's line is wanted."""
        return (
            line.life in self.lives
            and all(line.currency == currency for currency in self.currencies)
            and (not self.ruleset or line.ruleset == self.ruleset)
            and (not self.min_small_bet or line.small_bet >= self.min_small_bet)
            and (not self.max_small_bet or line.small_bet <= self.max_small_bet)
            and (not self.min_free_seats or line.seats - line.seated - line.waiting >= self.min_free_seats)
            and not (self.hide_paused and line.paused)
        )


def wanted_by(asked: pb.TableFilter, currency: str = EVERY, *, include_closed: bool = False) -> Wanted:
    """Return what a filter, and what stands beside it, asks for. Raises Refused(INVALID_FIELD)."""
    for field, text in (("currency", asked.currency), ("ruleset", asked.ruleset)):
        if len(text) > MAX_NAME:
            raise _invalid(field, f"{len(text)} characters", f"at most {MAX_NAME} characters", MAX_NAME)
    for field, amount, most in (
        ("min_small_bet", asked.min_small_bet, MAX_AMOUNT),
        ("max_small_bet", asked.max_small_bet, MAX_AMOUNT),
        ("min_free_seats", asked.min_free_seats, MAX_SEATS),
    ):
        if not 0 <= amount <= most:
            raise _invalid(field, str(amount), f"0 to {most}", most)
    unknown = [str(life) for life in asked.lives if life not in LIVES]
    if unknown:
        raise _invalid("lives", f"TableLife {unknown[0]}", "OPEN, DRAINING, CLOSING or CLOSED", max(LIVES))
    return Wanted(
        currencies=frozenset({currency, asked.currency} - {EVERY}),
        ruleset=asked.ruleset,
        min_small_bet=asked.min_small_bet,
        max_small_bet=asked.max_small_bet,
        min_free_seats=asked.min_free_seats,
        lives=frozenset(asked.lives) or (LIVES if include_closed else NOT_CLOSED),
        hide_paused=asked.hide_paused,
    )


def wanted_live(asked: pb.TableFilter) -> Wanted:
    """Return what a filter asks for where closed tables are not told of. Raises Refused(INVALID_FIELD)."""
    wanted = wanted_by(asked)
    if wanted.closed:
        text = "closed tables change no more: ListTables has them; want OPEN, DRAINING or CLOSING"
        raise Refused("INVALID_FIELD", f"filter.lives: {text}", field="filter.lives")
    return wanted


def _invalid(field: str, found: str, want: str, most: int) -> Refused:
    return Refused("INVALID_FIELD", f"filter.{field} {found}: want {want}", field=f"filter.{field}", max=str(most))
