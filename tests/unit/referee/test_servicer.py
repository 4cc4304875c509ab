"""RulesService as front ends and operators see it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from rules_service.resolving import Resolver
from rules_service.servicer import RulesServicer
from stud.common.v1 import card_pb2, seat_pb2
from stud.events.v1 import table_events_pb2
from stud.rules.v1 import rules_service_pb2 as pb
from stud_core import events as ev
from stud_core.cards import card_name, parse_cards
from stud_core.house_rules import headline, house_rules
from stud_core.presets import PLAYNOW, WILLIAM_HILL, table_config
from stud_core.ruleset import Ruleset, TableConfig
from stud_service.identity import Caller, set_caller
from stud_service.refusals import Refused
from stud_wire.codec import from_message, to_message
from tests.support.core_table import knobs
from tests.support.referee_court import Court, change_first, with_fields
from tests.support.referee_hands import config_of

CONTEXT = cast("Any", None)


@pytest.fixture
async def court() -> Court:
    court = Court()
    await court.open()
    await court.hand()
    return court


@pytest.fixture
def service(court: Court) -> RulesServicer:
    as_("operator")
    return RulesServicer(court.runtime, court.referee, Resolver(court.runtime, court.referee))


def as_(*roles: str, account: str = "op-1") -> None:
    set_caller(Caller(account, frozenset(roles)))


async def refused(reason: str, call: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        await call
    assert caught.value.reason == reason, caught.value
    return caught.value


# --- rules -----------------------------------------------------------------------------------------------------------


async def test_the_presets(service: RulesServicer):
    as_("player")
    listed = await service.ListRulesets(pb.ListRulesetsRequest(), CONTEXT)
    assert [from_message(Ruleset, rules) for rules in listed.rulesets] == [PLAYNOW, WILLIAM_HILL]
    one = await service.GetRuleset(pb.GetRulesetRequest(name="william_hill"), CONTEXT)
    assert from_message(Ruleset, one.ruleset) == WILLIAM_HILL
    config = table_config(WILLIAM_HILL)
    assert list(one.text) == [headline(config), *[f"{title}: {said}" for title, said in house_rules(config)]]
    await refused("UNKNOWN_RULESET", service.GetRuleset(pb.GetRulesetRequest(name="holdem"), CONTEXT))


async def test_the_rules_of_a_table_are_its_own(service: RulesServicer, court: Court):
    """In its stakes and with its knobs, whatever preset they came from; for whoever sits down there."""
    as_("player")
    answer = await service.GetRuleset(pb.GetRulesetRequest(table=court.rig.config.table_id), CONTEXT)
    config = court.rig.state.rules
    assert from_message(Ruleset, answer.ruleset) == config.ruleset
    assert list(answer.text) == [headline(config), *[f"{title}: {said}" for title, said in house_rules(config)]]
    assert list(answer.text) != (await service.GetRuleset(pb.GetRulesetRequest(name="playnow"), CONTEXT)).text
    await refused("UNKNOWN_TABLE", service.GetRuleset(pb.GetRulesetRequest(table="nowhere"), CONTEXT))
    await refused("INVALID_FIELD", service.GetRuleset(pb.GetRulesetRequest(table="No Table"), CONTEXT))
    both = pb.GetRulesetRequest(name="playnow", table=court.rig.config.table_id)
    await refused("INVALID_FIELD", service.GetRuleset(both, CONTEXT))


async def test_a_table_says_where_its_rules_are_not_the_presets():
    court = Court(config_of(knobs(PLAYNOW, rake_bps=500)))
    await court.open()
    await court.hand()
    as_("player")
    service = RulesServicer(court.runtime, court.referee, Resolver(court.runtime, court.referee))
    table = await service.GetRuleset(pb.GetRulesetRequest(table=court.rig.config.table_id), CONTEXT)
    assert "this house has changed what stands under: " in table.text[0]
    assert "Rake" in table.text[0]
    preset = await service.GetRuleset(pb.GetRulesetRequest(name="playnow"), CONTEXT)
    assert "changed" not in preset.text[0]


@pytest.mark.parametrize(
    ("cards", "category", "best", "words"),
    [
        ("Ah Kh Qh Jh Th 2c 3d", "straight flush", "Ah Kh Qh Jh Th", "royal flush"),
        ("2c 2d 2h Ks Kd 9c 8c", "full house", "2c 2d 2h Ks Kd", "full house, twos full of kings"),
        ("Ac 2d 3h 4s 5c", "straight", "Ac 2d 3h 4s 5c", "straight, five high"),
    ],
)
async def test_hands_are_ranked(service: RulesServicer, cards: str, category: str, best: str, words: str):
    as_("player")
    answer = await service.RankHand(pb.RankHandRequest(cards=wire(cards)), CONTEXT)
    assert (answer.category, answer.hand_in_words) == (category, words)
    assert {card_name(card - 1) for card in answer.best} == set(best.split())


@pytest.mark.parametrize("cards", ["Ah Kh Qh Jh", "Ah Ah Kh Qh Jh", "2c 3c 4c 5c 6c 7c 8c 9c"])
async def test_what_is_no_hand_is_not_ranked(service: RulesServicer, cards: str):
    told = await refused("INVALID_CARDS", service.RankHand(pb.RankHandRequest(cards=wire(cards)), CONTEXT))
    assert told.metadata == {"field": "cards", "min": "5", "max": "7"}


async def test_what_is_no_card_is_not_ranked(service: RulesServicer):
    cards = [card_pb2.CARD_UNSPECIFIED] * 5
    await refused("INVALID_CARDS", service.RankHand(pb.RankHandRequest(cards=cards), CONTEXT))


def wire(cards: str) -> list[Any]:
    return [card + 1 for card in parse_cards(cards)]


# --- positions -------------------------------------------------------------------------------------------------------


def position(*actions: str, up: dict[int, str] | None = None, config: TableConfig | None = None, stacks: int = 10_000):
    """A request: actions are "2 complete 500", in the order made."""
    boards = up or {1: "2c", 2: "7d", 3: "9h"}
    request = pb.GetLegalActionsRequest(config=to_message(config or config_of(PLAYNOW)))
    for seat, cards in boards.items():
        request.players.add(seat=seat, stack=stacks, up=wire(cards))
    for action in actions:
        who, verb, *rest = action.split()
        size = {"low": seat_pb2.SIZE_LOW, "high": seat_pb2.SIZE_HIGH}.get(rest[-1] if rest else "", 0)
        to = int(rest[0]) if rest and rest[0].isdigit() else 0
        request.actions.add(seat=int(who), verb=getattr(seat_pb2, f"VERB_{verb.upper()}"), to=to, size=size)
    return request


async def legal(service: RulesServicer, *actions: str, **how: Any) -> tuple[int, set[str], int]:
    answer = await service.GetLegalActions(position(*actions, **how), CONTEXT)
    names = {f"{seat_pb2.Verb.Name(o.verb).removeprefix('VERB_').lower()} {o.to}" for o in answer.options}
    return answer.seat, names, answer.street


async def test_the_low_card_brings_it_in(service: RulesServicer):
    assert await legal(service) == (1, {"bring_in 200", "open 500"}, 3)


async def test_actions_are_played_through(service: RulesServicer):
    seat, names, street = await legal(service, "1 bring_in", "2 complete 500", "3 raise")
    assert (seat, names, street) == (1, {"fold 200", "call 1000", "raise 1500"}, 3)


async def test_the_next_street_needs_its_cards(service: RulesServicer):
    calls = ("1 bring_in", "2 call", "3 call")
    assert await legal(service, *calls) == (0, set(), 3)
    seat, names, street = await legal(service, *calls, up={1: "2c 3c", 2: "7d 7s", 3: "9h Kd"})
    assert (seat, street) == (2, 4)
    assert names == {"fold 0", "check 0", "bet 500", "bet 1000"}


async def test_the_river_is_dealt_face_down(service: RulesServicer):
    checks = [f"{seat} check" for _ in range(3) for seat in (2, 3, 1)]
    boards = {1: "2c 3c 4d 5s", 2: "7d Ks 8s 9d", 3: "9h Kd Tc Jc"}
    boards = {1: "2c 3c 4d 6s", 2: "7d Ks Qs Qd", 3: "9h Jd Tc 4c"}
    seat, names, street = await legal(service, "1 bring_in", "2 call", "3 call", *checks, up=boards)
    assert (seat, street) == (2, 7)
    assert names == {"fold 0", "check 0", "bet 1000"}


async def test_a_hand_that_is_over_has_nobody_to_act(service: RulesServicer):
    assert (await legal(service, "1 bring_in", "2 fold", "3 fold"))[0] == 0
    await refused("NO_HAND", legal(service, "1 bring_in", "2 fold", "3 fold", "1 check"))


async def test_all_in_antes_leave_no_betting(service: RulesServicer):
    assert (await legal(service, stacks=50))[:2] == (0, set())


@pytest.mark.parametrize(
    ("reason", "how"),
    [
        ("NOT_YOUR_TURN", {"actions": ["2 call"]}),
        ("ILLEGAL_ACTION", {"actions": ["1 raise 700"]}),
        ("INVALID_CARDS", {"up": {1: "2c", 2: "2c"}}),
        ("INVALID_CARDS", {"up": {1: "2c", 2: "2d 3d 4d 5d 6d"}}),
        ("INVALID_FIELD", {"up": {1: "2c"}}),
        ("INVALID_FIELD", {"stacks": 0}),
        ("SEAT_OUT_OF_RANGE", {"up": {1: "2c", 9: "2d"}}),
    ],
)
async def test_impossible_positions_are_refused(service: RulesServicer, reason: str, how: dict[str, Any]):
    actions = how.pop("actions", [])
    await refused(reason, service.GetLegalActions(position(*actions, **how), CONTEXT))


async def test_requests_that_say_nothing_are_refused(service: RulesServicer):
    request = position()
    request.actions.add(seat=1)
    await refused("INVALID_FIELD", service.GetLegalActions(request, CONTEXT))
    request = position()
    request.config.ruleset.odd_units = 0
    request.config.ante = -1
    wrong = await refused("INVALID_RULESET", service.GetLegalActions(request, CONTEXT))
    assert [problem.field for problem in wrong.problems] == ["odd_units", "ante"]
    assert wrong.metadata == {"field": "odd_units"}
    bad = position(config=config_of(knobs(PLAYNOW, max_raises=77)))
    wrong = await refused("INVALID_RULESET", service.GetLegalActions(bad, CONTEXT))
    assert wrong.metadata == {"field": "max_raises", "min": "1", "max": "10"}
    many = position(*["1 fold"] * 501)
    await refused("INVALID_FIELD", service.GetLegalActions(many, CONTEXT))


async def test_a_river_with_a_shared_card_is_no_position(service: RulesServicer):
    boards = {seat: " ".join(card_name((seat - 1) * 4 + n) for n in range(4)) for seat in range(1, 9)}
    request = position(up=boards)

    async def check_and_call() -> None:
        while True:
            answer = await service.GetLegalActions(request, CONTEXT)
            verbs = {option.verb for option in answer.options}
            verb = next(v for v in (seat_pb2.VERB_CHECK, seat_pb2.VERB_BRING_IN, seat_pb2.VERB_CALL) if v in verbs)
            request.actions.add(seat=answer.seat, verb=verb)

    await refused("INVALID_CARDS", check_and_call())


# --- verdicts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["AdjudicateHand", "ListVerdicts", "ResolveHand"])
async def test_verdicts_are_not_for_players(service: RulesServicer, call: str):
    as_("player", account="a1")
    request = getattr(pb, f"{call}Request")(table="t-1")
    await refused("ROLE_NOT_ALLOWED", getattr(service, call)(request, CONTEXT))


async def test_a_hand_is_adjudicated_again_at_any_time(court: Court, service: RulesServicer):
    await court.hand()
    await court.rig.play_hand(mischief=0)
    for hand_no in (1, 2, 3):
        answer = await service.AdjudicateHand(pb.AdjudicateHandRequest(table="t-1", hand_no=hand_no), CONTEXT)
        assert answer.adjudication == pb.ADJUDICATION_VERIFIED
        assert sum(delta.delta for delta in answer.postings) + answer.rake == 0
    await refused("HAND_NOT_ENDED", service.AdjudicateHand(pb.AdjudicateHandRequest(table="t-1", hand_no=4), CONTEXT))
    await refused("UNKNOWN_HAND", service.AdjudicateHand(pb.AdjudicateHandRequest(table="t-1", hand_no=9), CONTEXT))
    await refused("UNKNOWN_TABLE", service.AdjudicateHand(pb.AdjudicateHandRequest(table="t-9", hand_no=1), CONTEXT))
    await refused("INVALID_FIELD", service.AdjudicateHand(pb.AdjudicateHandRequest(table="T/9", hand_no=1), CONTEXT))
    await refused("INVALID_FIELD", service.AdjudicateHand(pb.AdjudicateHandRequest(table="t-1"), CONTEXT))


async def test_adjudication_finds_what_is_wrong_and_what_is_missing(court: Court, service: RulesServicer):
    court.rig.forge_table = change_first(ev.HandEnded, with_fields(rake=3))
    await court.disputed()
    request = pb.AdjudicateHandRequest(table="t-1", hand_no=2)
    answer = await service.AdjudicateHand(request, CONTEXT)
    assert answer.adjudication == pb.ADJUDICATION_DISPUTED
    assert "WRONG_RAKE" in {finding.code for finding in answer.findings}
    _, closed = await court.rig.notice(2)
    del court.rows(court.rig.table_stream)[closed.table.from_version]
    answer = await service.AdjudicateHand(request, CONTEXT)
    assert answer.adjudication == pb.ADJUDICATION_CANNOT_VERIFY
    assert [finding.code for finding in answer.findings] == ["MISSING_LOG"]


async def test_a_hand_whose_deck_is_not_opened_yet_is_not_adjudicated(court: Court, service: RulesServicer):
    court.rig.auto = False
    await court.rig.start()
    from stud_core import commands as cmd

    await court.rig.send(cmd.VoidHand(2, "test", "op"), actor="op")
    await refused("HAND_NOT_ENDED", service.AdjudicateHand(pb.AdjudicateHandRequest(table="t-1", hand_no=2), CONTEXT))


async def test_verdicts_are_listed_oldest_first(court: Court, service: RulesServicer):
    court.rig.forge_table = change_first(ev.HandEnded, with_fields(rake=3))
    await court.disputed()
    for operator in ("op-1", "op-2"):
        as_("operator", account=operator)
        choice = table_events_pb2.RESOLUTION_CHOICE_REFEREE
        request = pb.ResolveHandRequest(table="t-1", hand_no=2, choice=choice, reason="as it was", request_id=operator)
        answer = await service.ResolveHand(request, CONTEXT)
        assert answer.decided is (operator == "op-2")
    listed = await service.ListVerdicts(pb.ListVerdictsRequest(table="t-1"), CONTEXT)
    assert [line.WhichOneof("body") for line in listed.verdicts] == ["verified", "disputed", "proposed", "resolved"]
    assert [line.version for line in listed.verdicts] == [1, 2, 3, 4]
    later = await service.ListVerdicts(pb.ListVerdictsRequest(table="t-1", after_hand=1, limit=2), CONTEXT)
    assert [line.version for line in later.verdicts] == [2, 3]
    await refused("INVALID_FIELD", service.ListVerdicts(pb.ListVerdictsRequest(table="t-1", limit=1001), CONTEXT))


async def test_hands_that_wait_are_listed(court: Court, service: RulesServicer):
    await court.rig.play_hand(mischief=0)
    del court.rows(court.rig.deck_stream)[-3:-1]
    with pytest.raises(Exception, match="MISSING_LOG"):
        await court.hear()
    listed = await service.ListVerdicts(pb.ListVerdictsRequest(table="t-1"), CONTEXT)
    assert [finding.code for finding in listed.cannot_verify] == ["MISSING_LOG"]


async def test_a_decision_needs_a_choice_a_reason_and_an_id(court: Court, service: RulesServicer):
    choice = table_events_pb2.RESOLUTION_CHOICE_VOID
    request = pb.ResolveHandRequest(table="t-1", hand_no=2, choice=choice, reason="x", request_id="r")
    for field, reason in (
        ("choice", "INVALID_FIELD"),
        ("reason", "INVALID_FIELD"),
        ("request_id", "REQUEST_ID_REQUIRED"),
    ):
        broken = pb.ResolveHandRequest()
        broken.CopyFrom(request)
        broken.ClearField(field)  # type: ignore[arg-type]
        await refused(reason, service.ResolveHand(broken, CONTEXT))
