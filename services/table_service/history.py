"""Hands that are over, for those who were in them: a list from memory, one hand from its commits in the log."""

from __future__ import annotations

import heapq
from itertools import islice

from stud.events.v1 import commit_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core.hand_words import hand_in_words
from stud_core.state import Table
from stud_eventlog.reading import read_pages
from stud_eventlog.types import EventLogError, LogUnavailable
from stud_service.checks import require_hand_no
from stud_service.identity import Caller
from stud_service.limits import Limit, Places
from stud_service.log_writer import broken
from stud_service.pages import make_token, page_size, read_token
from stud_service.refusals import Refused
from stud_wire.codec import WireError
from stud_wire.commits import decode_commit
from table_service import views
from table_service.actor import TableActor
from table_service.hand_index import Ended, Place
from table_service.last_hand import common, put_last_hand, to_card
from table_service.registry import Registry
from table_service.told_hand import ToldHand
from table_service.vault import Vault

USUAL_PAGE = 100
HANDS_AT_ONCE, MOST_HANDS = 2, 100
"""Hands that are read from logs at a time, for one caller and for all."""

SEES_ALL = frozenset({"operator", "cashier", "auditor"})
"""Who may look at what everybody could see of any hand."""


class History:
    """Answers ListHands and GetHand."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._reading: Places[str] = Places(HANDS_AT_ONCE, MOST_HANDS, "hands", Limit.LISTS)

    async def list(self, request: pb.ListHandsRequest, account: str) -> pb.ListHandsResponse:
        """Return a page of an account's hands. Raises Refused."""
        size = page_size(request.page_size, USUAL_PAGE)
        question = ("hands", request.table, account)
        behind = read_token(question, request.page_token, Place)
        tables = self._registry.all()
        if request.table:
            tables = [await self._registry.get(request.table, account)]
        by_id = {actor.table_id: actor for actor in tables}
        hands = heapq.merge(*(a.hands.before(account, a.table_id, behind) for a in tables), reverse=True)
        found = list(islice(hands, size + 1))
        more = make_token(question, found[size - 1][0]) if len(found) > size else ""
        lines = [_line(by_id[place.table], place, net) for place, net in found[:size]]
        return pb.ListHandsResponse(hands=lines, next_page_token=more)

    async def get(self, request: pb.GetHandRequest, who: Caller) -> pb.GetHandResponse:
        """Return a hand as the caller may see it. Raises Refused."""
        hand_no = require_hand_no(request.hand_no)
        actor = await self._registry.get(request.table, who.account)
        ended, mine = actor.hands.hand(hand_no), actor.hands.was_in(who.account, hand_no)
        if ended is None or not (mine or SEES_ALL & who.roles):
            text = f"hand {hand_no} of this table is not over, or you were not in it: ListHands has yours"
            raise Refused("UNKNOWN_HAND", text)
        with self._reading.hold(who.account):
            told = await self._read(actor, hand_no, ended)
        answer = pb.GetHandResponse(
            table=actor.table_id,
            config=views.config_message(actor.table),
            commitment=told.commitment,
            steps=told.steps,
        )
        put_last_hand(answer.hand, told.hand)
        if mine:
            self._put_own(answer, told, who.account)
        return answer

    async def _read(self, actor: TableActor, hand_no: int, ended: Ended) -> ToldHand:
        """Fold a hand's range, in the share of the time that is for heavy questions."""
        told, heavy = ToldHand(hand_no), actor.runtime.heavy
        log, begin = actor.runtime.log, ended.from_version - 1
        try:
            async for page in read_pages(log, actor.stream, begin, up_to=ended.version):
                for stored in page:
                    with heavy.work():
                        commit = decode_commit(stored.body)
                        messages = commit_pb2.Commit.FromString(stored.body).events
                        told.fold(stored.version, commit.meta.at_ms, commit.events, messages)
                    await heavy.rest()
        except LogUnavailable:
            raise
        except (EventLogError, WireError):
            raise broken() from None
        told.hand.profiles = tuple([actor.hands.profile(player.sitting_no) for player in told.hand.dealt_in])
        return told

    def _put_own(self, answer: pb.GetHandResponse, told: ToldHand, account: str) -> None:
        """Add the caller's seat and cards: the only ones whose boxes are opened."""
        hand = told.hand
        seat = next(player.seat for player in hand.dealt_in if player.account == account)
        vault = Vault(answer.table, self._registry.master)
        down = vault.seat_cards(Table(hand=hand, commitment=told.commitment), seat)
        answer.seat = seat
        answer.down.extend([to_card(card) for card in down])
        answer.hand_in_words = hand_in_words((*down, *hand.up[seat], *common(hand))) if down else ""


def _line(actor: TableActor, place: Place, net: int) -> pb.HandSummary:
    line = pb.HandSummary(table=place.table, hand_no=place.hand_no, currency=actor.table.rules.currency, net=net)
    ended = actor.hands.hand(place.hand_no)
    if ended is not None:
        line.started_at_ms, line.ended_at_ms = ended.started_at_ms, ended.ended_at_ms
        line.voided, line.pot = ended.voided, ended.pot
    return line
