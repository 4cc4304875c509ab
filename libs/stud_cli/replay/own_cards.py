"""A player's own down cards for a replay through their eyes: opened by the dealer, hand by hand, in audited calls.

Asked for only where somebody looks, for finished hands, with a reason that the deck's log keeps; never more than the
cards of this one player. What is not opened stays face down, and why is said.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable
from pathlib import Path
from typing import Final, Protocol

from stud.dealer.v1 import dealer_service_pb2 as pb
from stud_cli.exit_codes import CouldNotRun, could_not_run
from stud_cli.operate.desk import TIMEOUT_S
from stud_cli.operate.identity import identify
from stud_cli.where import endpoints
from stud_client import StudClient, StudError
from stud_replay.hands import HandEntry, Outcome
from stud_replay.viewing import Viewer

MOST: Final = 20
"""Hands of one look: each is a call that is written down for good."""

NO_REASON: Final = "no --reason was given, and without one nobody's cards are opened"
TOO_MANY: Final = f"the cards of {MOST} hands were opened; look again for those of others"
NOBODY: Final = "say who asks, since the log notes it: --auditor NAME (or STUD_AS), or a token (STUD_TOKEN)"
NOT_PROVEN: Final = "the deck does not prove the cards that the dealer gave: this is for operators to look into"

FOR_ALL: Final = frozenset(
    {"UNAVAILABLE", "DEADLINE_EXCEEDED", "UNAUTHENTICATED", "ROLE_NOT_ALLOWED", "TOKEN_EXPIRED", "UNIMPLEMENTED"}
)
"""Refusals that the next hand would meet too; UNIMPLEMENTED is a dealer of an earlier version."""

Answer = Awaitable[pb.AuditDownCardsResponse]


class Dealer(Protocol):
    """What opens cards. Raises StudError; CouldNotRun where nobody can be asked."""

    def AuditDownCards(self, request: pb.AuditDownCardsRequest) -> Answer: ...  # noqa: N802


class Services:
    """The dealer of a running system, asked as an auditor. Nothing is connected before the first call."""

    def __init__(self, auditor: str, token_file: Path | None, keys: Path | None, where: str) -> None:
        self._who = (auditor, token_file, keys)
        self._where = where
        self._client: StudClient | None = None

    async def AuditDownCards(self, request: pb.AuditDownCardsRequest) -> pb.AuditDownCardsResponse:  # noqa: N802
        """Have one player's cards opened."""
        if self._client is None:
            named = (*self._who[:2], os.environ.get("STUD_AS"), os.environ.get("STUD_TOKEN", "").strip())
            if not any(named):
                could_not_run(NOBODY)
            who = identify(*self._who, ["auditor"], decides=True)
            self._client = StudClient(endpoints(self._where), who.token, timeout_s=TIMEOUT_S)
        return await self._client.dealer.AuditDownCards(request)

    async def close(self) -> None:
        """End what was connected."""
        if self._client is not None:
            await self._client.close()


class OwnCards:
    """What ``account`` saw of their own. Nothing here fails: what does not open stays sealed."""

    def __init__(self, table_id: str, account: str, reason: str, dealer: Dealer) -> None:
        self._table_id = table_id
        self._reason = reason
        self._dealer = dealer
        self._down: dict[int, tuple[int, ...]] = {}
        self._sealed: dict[int, str] = {}
        self._asked: set[int] = set()
        self._away = ""
        self.viewer = Viewer(account, self._down, self._sealed)

    async def open(self, hand: HandEntry) -> None:
        """Have the cards of a hand opened, if they may be and were not; at most once for each hand that is over."""
        if hand.hand_no in self._asked or all(account != self.viewer.account for _, account in hand.players):
            return
        why = self._why_not(hand)
        if why:
            self._sealed[hand.hand_no] = why
            return
        self._asked.add(hand.hand_no)
        try:
            await self._ask(hand)
        except StudError as error:
            self._sealed[hand.hand_no] = f"the dealer does not open them: {error}"
            if error.reason in FOR_ALL:
                self._away = self._sealed[hand.hand_no]
        except CouldNotRun as error:
            self._away = self._sealed[hand.hand_no] = f"nobody can be asked to open them: {error}"

    def _why_not(self, hand: HandEntry) -> str:
        if hand.outcome is Outcome.RUNNING:
            return f"hand {hand.hand_no} is not over, and until then its cards stay sealed for everybody"
        if not self._reason:
            return NO_REASON
        return self._away or (TOO_MANY if len(self._down) >= MOST else "")

    async def _ask(self, hand: HandEntry) -> None:
        account = self.viewer.account
        request = pb.AuditDownCardsRequest(
            table=self._table_id, hand_no=hand.hand_no, account=account, reason=self._reason
        )
        answer = await self._dealer.AuditDownCards(request)
        self._sealed.pop(hand.hand_no, None)
        if answer.proven:
            self._down[hand.hand_no] = tuple([int(card) - 1 for card in answer.cards])
        else:
            self._sealed[hand.hand_no] = NOT_PROVEN
