"""DealerService over gRPC: commitments for everybody, stacking for rehearsals, the audit of finished hands."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog

from dealer_service.history import HandRecord, find_hand
from dealer_service.seeds import Seeds
from dealer_service.shoe import Shoe, Shoes
from dealer_service.whose import seat_in
from stud.common.v1 import card_pb2
from stud.dealer.v1 import dealer_service_pb2 as pb
from stud.dealer.v1 import dealer_service_pb2_grpc as rpc
from stud_core.cards import DECK_SIZE
from stud_core.clear_deck import ClearDeck
from stud_core.deck import decide_stacked
from stud_core.deck_events import DeckAudited, LogRef
from stud_core.rejection import Rejection
from stud_core.secret import SecretCards
from stud_core.shuffle import check_deck
from stud_eventlog.types import EventLogError
from stud_service.checks import require_account, require_hand_no, require_request_id, require_table, require_text
from stud_service.identity import caller, require
from stud_service.interests import Interests, dealt_into, refuse_dealt_in
from stud_service.log_writer import refusal_of
from stud_service.refusals import Refused
from stud_service.runtime import Runtime
from stud_wire.codec import WireError

WAIT_S = 2.0
"""How long StackDeck waits for the dealer to hear of the table, or of the end of the hand before."""

MAX_REASON = 500

_MAY_STILL_COME = frozenset({"UNKNOWN_TABLE", "HAND_RUNNING"})

log = structlog.get_logger(__name__)


class DealerServicer(rpc.DealerServiceServicer):
    """See protos/stud/dealer/v1/dealer_service.proto."""

    def __init__(self, runtime: Runtime, seeds: Seeds, shoes: Shoes, wait_s: float = WAIT_S) -> None:
        self._runtime = runtime
        self._seeds = seeds
        self._shoes = shoes
        self._wait_s = wait_s
        self._interests = Interests(runtime.log)

    async def GetCommitment(self, request: pb.GetCommitmentRequest, context: Any) -> pb.GetCommitmentResponse:
        caller()
        with _log_trouble():
            record = await self._find(require_table(request.table), require_hand_no(request.hand_no))
        return pb.GetCommitmentResponse(
            commitment=record.committed.commitment,
            merkle_root=record.root,
            shuffle_version=record.committed.shuffle_version,
            stacked=record.committed.stacked,
            closed=record.closed,
        )

    async def StackDeck(self, request: pb.StackDeckRequest, context: Any) -> pb.StackDeckResponse:
        actor = require("operator").account
        request_id = require_request_id(request.request_id)
        table, hand_no = require_table(request.table), require_hand_no(request.hand_no)
        if not self._runtime.settings.allow_stacked_decks:
            raise Refused("STACKED_DECKS_OFF", "this dealer runs without --allow-stacked-decks")
        cards = _cards(request)
        digest = self._seeds.digest(table.encode(), hand_no.to_bytes(8, "big"), bytes(cards))

        with _log_trouble():
            async with self._shoes.use(table) as shoe:
                commitment = await shoe.decided(lambda: self._stack(shoe, hand_no, cards, actor, request_id, digest))
        return pb.StackDeckResponse(commitment=commitment)

    async def _stack(
        self, shoe: Shoe, hand_no: int, cards: SecretCards, actor: str, request_id: str, digest: bytes
    ) -> bytes:
        deadline = asyncio.get_running_loop().time() + self._wait_s
        while True:
            done = shoe.known.requests.find(actor, request_id, digest)
            if done is not None:
                return done
            await self._interests.refuse_seated(actor, shoe.table)
            decided = decide_stacked(shoe.deck, hand_no, lambda hand: self._seeds.new_deck(shoe.table, hand, cards))
            if not isinstance(decided, Rejection):
                break
            if decided.reason not in _MAY_STILL_COME or not await _told(shoe, deadline):
                raise Refused(decided.reason, decided.text)
        written = await shoe.record(decided, actor=actor, request_id=request_id, request_digest=digest)
        log.info("deck_stacked", table=shoe.table, hand=hand_no, version=written.version, request_id=request_id)
        return shoe.deck.commitment

    async def AuditDeck(self, request: pb.AuditDeckRequest, context: Any) -> pb.AuditDeckResponse:
        auditor, table, hand_no, reason = _who_and_why(request)
        with _log_trouble():
            record, _ = await self._closed(auditor, table, hand_no)
            clear, proven = await self._open(table, record, DeckAudited(hand_no, auditor, reason))
        return pb.AuditDeckResponse(
            cards=[card_pb2.Card.ValueType(card + 1) for card in clear.cards],
            river_rank=clear.river_rank,
            proven=proven,
        )

    async def AuditDownCards(self, request: pb.AuditDownCardsRequest, context: Any) -> pb.AuditDownCardsResponse:
        auditor, table, hand_no, reason = _who_and_why(request)
        account = require_account(request.account)
        with _log_trouble():
            record, hand = await self._closed(auditor, table, hand_no, whole=True)
            seat = await seat_in(self._runtime.log, hand, hand_no, account)
            if not seat:
                text = f"{account} was not dealt into hand {hand_no}: want an account that was"
                raise Refused("INVALID_FIELD", text, field="account")
            clear, proven = await self._open(table, record, DeckAudited(hand_no, auditor, reason, account))
        own = [clear.cards[card.pos] for card in record.down if card.seat == seat]
        return pb.AuditDownCardsResponse(cards=[card_pb2.Card.ValueType(card + 1) for card in own], proven=proven)

    async def _closed(
        self, auditor: str, table: str, hand_no: int, *, whole: bool = False
    ) -> tuple[HandRecord, LogRef]:
        """Return the deck of a finished hand that this auditor may open (``whole``: with its deals), and the hand's
        range of the table's log. Raises Refused.
        """
        await self._interests.refuse_seated(auditor, table, "auditor")
        record = await self._find(table, hand_no, whole=whole)
        if record.table is None:
            raise Refused("HAND_RUNNING", f"hand {hand_no} is not over; its deck stays sealed")
        await self._refuse_player(auditor, record.table, hand_no)
        return record, record.table

    async def _open(self, table: str, record: HandRecord, audited: DeckAudited) -> tuple[ClearDeck, bool]:
        """Return a deck in clear, and whether commitment and root agree with it. The audit is written down before
        anything is opened: nobody sees a card without leaving a trace that stays.
        """
        async with self._shoes.use(table) as shoe:
            version = (await shoe.decided(lambda: shoe.record([audited], actor=audited.auditor))).version
        clear = self._seeds.open(table, record.committed)
        proven = clear.commitment == record.committed.commitment and record.root in {b"", clear.root}
        told = {"auditor": audited.auditor, "reason": audited.reason, "account": audited.account, "proven": proven}
        log.warning("deck_audited", table=table, hand=audited.hand_no, version=version, **told)
        return clear, proven

    async def _refuse_player(self, auditor: str, hand: LogRef, hand_no: int) -> None:
        """Refuse whoever was dealt into the hand; everybody where the table's log does not say who was, for an audit
        can wait until it does.
        """
        players = await dealt_into(self._runtime.log, hand, hand_no)
        if players is None:
            text = f"the table's log does not say who was dealt into hand {hand_no}: its data must be restored first"
            raise Refused("LOG_BROKEN", text, stream=hand.stream)
        refuse_dealt_in(auditor, players, hand_no, "auditor")

    async def _find(self, table: str, hand_no: int, *, whole: bool = False) -> HandRecord:
        """Return a hand's deck as logged; ``whole``: with its deals. Raises Refused(UNKNOWN_TABLE, UNKNOWN_HAND)."""
        async with self._shoes.use(table) as shoe:
            version, deck, stream = shoe.head.version, shoe.deck, shoe.stream
        if not version:
            raise Refused("UNKNOWN_TABLE", f"the dealer has not heard of table {table!r}")
        newest = deck.hand_no
        if hand_no == newest and not whole:
            return HandRecord(deck, deck.root, None if deck.closed is None or deck.running else deck.closed.table)
        record = None
        if hand_no <= newest:
            record = await find_hand(self._runtime.log, stream, version, hand_no, self._runtime.heavy)
        if record is None:
            raise Refused("UNKNOWN_HAND", f"hand {hand_no} has no deck: the newest is that of hand {newest}")
        return record


def _who_and_why(request: pb.AuditDeckRequest | pb.AuditDownCardsRequest) -> tuple[str, str, int, str]:
    """Auditor, table, hand and reason of an audit. Raises Refused."""
    auditor = require("auditor").account
    table, hand_no = require_table(request.table), require_hand_no(request.hand_no)
    return auditor, table, hand_no, require_text(request.reason, "reason", MAX_REASON)


@contextmanager
def _log_trouble() -> Iterator[None]:
    """Faults of the log as what they mean to a caller: try again, or call operators."""
    try:
        yield
    except (EventLogError, WireError) as fault:
        raise (refusal_of(fault) or fault) from None


async def _told(shoe: Shoe, deadline: float) -> bool:
    """Wait until the table's log has grown; False when the time is up."""
    try:
        async with asyncio.timeout_at(deadline):
            await shoe.changed.wait()
    except TimeoutError:
        return False
    await shoe.load()
    return True


def _cards(request: pb.StackDeckRequest) -> SecretCards:
    cards = SecretCards([int(card) - 1 for card in request.cards])
    try:
        check_deck(cards)
    except ValueError as error:
        raise Refused("INVALID_DECK", f"{error}: want all {DECK_SIZE}, top first", field="cards") from None
    return cards
