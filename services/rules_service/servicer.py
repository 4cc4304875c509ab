"""RulesService over gRPC: requests in, core values through, messages out. Decides nothing itself."""

from __future__ import annotations

import asyncio
import heapq
from bisect import bisect_right
from itertools import combinations
from typing import Any

import grpc

from rules_service.find_hand import Streams, exists, trace
from rules_service.findings import CannotVerify
from rules_service.positions import Action, Player, legal_in
from rules_service.referee import Referee
from rules_service.resolving import Request, Resolver
from rules_service.verdicts import Proposal
from stud.rules.v1 import rules_service_pb2 as pb
from stud.rules.v1 import rules_service_pb2_grpc as rpc
from stud_core.cards import DECK_SIZE
from stud_core.events import ResolutionChoice, Size, TableOpened, Verb
from stud_core.hand_words import hand_in_words
from stud_core.house_rules import headline, house_rules
from stud_core.presets import PLAYNOW, WILLIAM_HILL, table_config
from stud_core.ranks import describe, rank_best
from stud_core.ruleset import Ruleset, TableConfig
from stud_core.verdict_events import Finding, HandDisputed, HandResolved, HandVerified, ResolutionProposed
from stud_eventlog import keys
from stud_eventlog.reading import commit_at
from stud_eventlog.types import ChainBroken
from stud_service.checks import require_hand_no, require_request_id, require_table, require_text
from stud_service.identity import require
from stud_service.pages import make_token, page_size, read_token
from stud_service.refusals import Refused
from stud_service.rulesets import read_config
from stud_service.runtime import Runtime
from stud_wire.codec import UnknownEventError, to_message
from stud_wire.commits import decode_commit

MAX_LIMIT = 1000
DEFAULT_LIMIT = 100
MAX_ACTIONS = 500
READS_AT_ONCE = 50

_PRESETS: dict[str, Ruleset] = {rules.name: rules for rules in (PLAYNOW, WILLIAM_HILL)}
_FIELDS: dict[type, str] = {
    HandVerified: "verified",
    HandDisputed: "disputed",
    ResolutionProposed: "proposed",
    HandResolved: "resolved",
}
_ANYBODY = ("player", "operator", "cashier", "auditor", "service")

Context = grpc.aio.ServicerContext[Any, Any]


class RulesServicer(rpc.RulesServiceServicer):
    """Rules for people, verdicts for operators."""

    def __init__(self, runtime: Runtime, referee: Referee, resolver: Resolver) -> None:
        self._runtime = runtime
        self._referee = referee
        self._resolver = resolver

    async def ListRulesets(self, request: pb.ListRulesetsRequest, context: Context) -> pb.ListRulesetsResponse:
        require(*_ANYBODY)
        return pb.ListRulesetsResponse(rulesets=[to_message(rules) for rules in _PRESETS.values()])

    async def GetRuleset(self, request: pb.GetRulesetRequest, context: Context) -> pb.GetRulesetResponse:
        require(*_ANYBODY)
        if request.table and request.name:
            raise Refused("INVALID_FIELD", "want a preset or a table, not both", field="name")
        if request.table:
            config = await self._config_of(request.table)
        elif request.name in _PRESETS:
            config = table_config(_PRESETS[request.name])
        else:
            raise Refused("UNKNOWN_RULESET", f"the presets are {', '.join(_PRESETS)}; or name a table", field="name")
        text = [headline(config), *[f"{title}: {said}" for title, said in house_rules(config)]]
        return pb.GetRulesetResponse(ruleset=to_message(config.ruleset), text=text)

    async def GetLegalActions(self, request: pb.GetLegalActionsRequest, context: Context) -> pb.GetLegalActionsResponse:
        require(*_ANYBODY)
        if len(request.actions) > MAX_ACTIONS:
            raise Refused("INVALID_FIELD", f"at most {MAX_ACTIONS} actions", field="actions", max=str(MAX_ACTIONS))
        config, problems = read_config(request.config)
        if problems:
            raise Refused.of_problems(problems)
        actions = [_action(action) for action in request.actions]
        players = [Player(p.seat, p.stack, _cards(p.up, "players")) for p in request.players]
        legal = legal_in(config, players, actions)
        return pb.GetLegalActionsResponse(
            seat=legal.seat,
            to_call=legal.to_call,
            options=[to_message(option) for option in legal.options],
            street=legal.street,
        )

    async def RankHand(self, request: pb.RankHandRequest, context: Context) -> pb.RankHandResponse:
        require(*_ANYBODY)
        cards = _cards(request.cards, "cards")
        if not 5 <= len(cards) <= 7 or len(set(cards)) != len(cards):
            raise Refused("INVALID_CARDS", "want five to seven different cards", field="cards", min="5", max="7")
        rank = rank_best(cards)
        best = next(choice for choice in combinations(cards, 5) if rank_best(choice) == rank)
        return pb.RankHandResponse(
            rank=rank,
            category=describe(rank),
            best=[card + 1 for card in best],  # type: ignore[misc]
            hand_in_words=hand_in_words(cards),
        )

    async def AdjudicateHand(self, request: pb.AdjudicateHandRequest, context: Context) -> pb.AdjudicateHandResponse:
        require("operator", "auditor")
        streams = await self._streams(request.table)
        found = await trace(self._runtime.log, streams, require_hand_no(request.hand_no), share=self._runtime.heavy)
        if found.closed is None:
            if found.begun and found.end is None:
                raise Refused("HAND_NOT_ENDED", f"hand {request.hand_no} is neither ended nor voided")
            if found.end is not None:
                raise Refused("HAND_NOT_ENDED", "the dealer has not opened the hand's deck yet: try again")
            raise Refused("UNKNOWN_HAND", f"table {request.table} has no hand {request.hand_no}")
        book = (await self._referee.verdicts[streams.shard].for_callers()).table(request.table)
        # What the table recorded of earlier verdicts can be compared for the latest hand only.
        known = book.known() if book.final_hand == request.hand_no - 1 else None
        try:
            judgement = await self._referee.judge(streams, found.closed, known)
        except CannotVerify as why:
            finding = Finding(why.obstacle, why.stream, why.version)
            return pb.AdjudicateHandResponse(adjudication=pb.ADJUDICATION_CANNOT_VERIFY, findings=[to_message(finding)])
        figures = judgement.figures
        return pb.AdjudicateHandResponse(
            adjudication=pb.ADJUDICATION_VERIFIED if judgement.verified else pb.ADJUDICATION_DISPUTED,
            findings=[to_message(finding) for finding in judgement.findings],
            postings=[to_message(delta) for delta in figures.deltas] if figures is not None else [],
            rake=figures.rake if figures is not None else 0,
        )

    async def ListVerdicts(self, request: pb.ListVerdictsRequest, context: Context) -> pb.ListVerdictsResponse:
        require("operator", "auditor")
        streams = await self._streams(request.table)
        if not 0 <= request.limit <= MAX_LIMIT:
            text = f"limit is 1 to {MAX_LIMIT}, or 0 for {DEFAULT_LIMIT}"
            raise Refused("INVALID_FIELD", text, field="limit", min="0", max=str(MAX_LIMIT))
        verdicts = self._referee.verdicts[streams.shard]
        book = (await verdicts.for_callers()).table(request.table)
        first = bisect_right(book.hands, request.after_hand)
        versions = book.versions[first : first + (request.limit or DEFAULT_LIMIT)]
        lines: list[pb.Verdict] = []
        for at in range(0, len(versions), READS_AT_ONCE):
            some = versions[at : at + READS_AT_ONCE]
            lines += await asyncio.gather(*[self._line(verdicts.stream, version, request.table) for version in some])
        waiting = self._referee.waiting.tables.get(request.table)
        return pb.ListVerdictsResponse(
            verdicts=lines, cannot_verify=[to_message(waiting.finding)] if waiting is not None else []
        )

    async def _line(self, stream: str, version: int, table: str) -> pb.Verdict:
        line = pb.Verdict(version=version)
        commit = await commit_at(self._runtime.log, stream, version)
        for event in decode_commit(commit.body).events if commit is not None else ():
            if event.table == table:
                getattr(line, _FIELDS[type(event)]).CopyFrom(to_message(event))
        return line

    async def ResolveHand(self, request: pb.ResolveHandRequest, context: Context) -> pb.ResolveHandResponse:
        who = require("operator")
        try:
            choice = ResolutionChoice(request.choice)
        except ValueError:
            raise Refused("INVALID_FIELD", "choice is TABLE, REFEREE or VOID", field="choice") from None
        answer = await self._resolver.resolve(
            Request(
                table_id=(await self._streams(request.table)).table_id,
                hand_no=require_hand_no(request.hand_no),
                choice=choice,
                reason=require_text(request.reason, "reason", 500),
                operator=who.account,
                request_id=require_request_id(request.request_id),
            )
        )
        return pb.ResolveHandResponse(decided=answer.decided, version=answer.version)

    async def ListProposals(self, request: pb.ListProposalsRequest, context: Context) -> pb.ListProposalsResponse:
        require("operator", "auditor")
        size = page_size(request.page_size, DEFAULT_LIMIT)
        question = ("proposals", request.table)
        after = read_token(question, request.page_token, str) or ""
        shards = range(keys.SHARDS) if not request.table else [keys.shard_of(require_table(request.table))]
        waiting: dict[str, Proposal] = {}
        unread: list[str] = []
        for verdicts in [self._referee.verdicts[shard] for shard in shards]:
            try:
                waiting |= (await verdicts.sound()).proposals
            except (ChainBroken, UnknownEventError):
                unread.append(verdicts.stream)
        named = [request.table] if request.table else waiting
        tables = heapq.nsmallest(size + 1, [table for table in named if table in waiting and table > after])
        shown = [waiting[table] for table in tables[:size]]
        return pb.ListProposalsResponse(
            proposals=[
                pb.Proposal(proposed=to_message(one.proposed), at_ms=one.at_ms, version=one.version) for one in shown
            ],
            next_page_token=make_token(question, tables[size - 1]) if len(tables) > size else "",
            unread=unread,
        )

    async def _config_of(self, table_id: str) -> TableConfig:
        """What a table was opened with; it never changes."""
        streams = await self._streams(table_id)
        first = await commit_at(self._runtime.log, streams.table, 1)
        for event in decode_commit(first.body).events if first is not None else ():
            if isinstance(event, TableOpened):
                return event.config
        raise Refused("LOG_BROKEN", f"the log of {table_id} does not begin with its opening: operators are needed")

    async def _streams(self, table_id: str) -> Streams:
        streams = Streams.of(require_table(table_id))
        if not (await exists(self._runtime.log, streams.table) or await exists(self._runtime.log, streams.deck)):
            raise Refused("UNKNOWN_TABLE", f"there is no table {table_id}")
        return streams


def _cards(cards: Any, field: str) -> tuple[int, ...]:
    if any(not 1 <= card <= DECK_SIZE for card in cards):
        raise Refused("INVALID_CARDS", "there is no such card", field=field)
    return tuple([card - 1 for card in cards])


def _action(action: pb.PositionAction) -> Action:
    try:
        verb = Verb(action.verb)
        size = Size(action.size) if action.size else None
    except ValueError:
        raise Refused("INVALID_FIELD", "every action needs a verb and a size that exist", field="actions") from None
    says_it_all = verb in {Verb.FOLD, Verb.CHECK} or not action.to
    return Action(action.seat, verb, None if says_it_all else action.to, size)
