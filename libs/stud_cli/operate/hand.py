"""``stud hand``: what became of a hand, void a running one, decide one that is in dispute or cannot be verified."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Annotated, Any, Final

import typer
from google.protobuf import json_format
from rich.console import Group
from rich.text import Text

from stud.events.v1 import table_events_pb2
from stud.rules.v1 import rules_service_pb2 as rules
from stud.table.v1 import table_service_pb2 as pb
from stud_cli.drawing import money
from stud_cli.exit_codes import could_not_run
from stud_cli.operate.desk import Desk, Told, operated
from stud_cli.operate.identity import span
from stud_cli.operate.options import HandNo, Reason, ReasonForAll, TableId
from stud_cli.output import table_of
from stud_client import StudError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="What became of a hand; void it; decide a dispute. Example: stud hand show t-1 17",
)

Choice = StrEnum("Choice", ["table", "referee", "void"])
CHOICES: Final = {
    "table": table_events_pb2.RESOLUTION_CHOICE_TABLE,
    "referee": table_events_pb2.RESOLUTION_CHOICE_REFEREE,
    "void": table_events_pb2.RESOLUTION_CHOICE_VOID,
}
MEANING: Final = {
    "table": "by the table's figures",
    "referee": "by the referee's figures",
    "void": "by giving everybody back what they had before it",
}
FOUND: Final = {
    "verified": "the referee finds it right",
    "disputed": "the referee finds it wrong: disputed",
    "cannot_verify": "the referee cannot verify it",
    "not_ended": "it has not ended",
}
FINDING: Final = {
    rules.ADJUDICATION_VERIFIED: "verified",
    rules.ADJUDICATION_DISPUTED: "disputed",
    rules.ADJUDICATION_CANNOT_VERIFY: "cannot_verify",
}


@app.command()
@operated("operator", "auditor")
async def show(desk: Desk, table: TableId, hand_no: HandNo) -> Told:
    """Show what the referee finds of a hand, and what was decided: codes, versions and figures, never a card.

    Example: stud hand show t-1 17
    """
    judged = await _judged(desk, table, hand_no)
    request = rules.ListVerdictsRequest(table=table, after_hand=hand_no - 1, limit=20)
    found = (await desk.client.rules.ListVerdicts(request)).verdicts
    verdicts = [line for line in found if _body(line).hand_no == hand_no]
    findings = [f"{finding.code} ({finding.stream} {finding.version})" for finding in judged.findings]
    adjudication = FINDING.get(judged.adjudication, "not_ended")
    lines = [Text(f"hand {hand_no} of {table}: {FOUND[adjudication]}")]
    lines += [Text(f"  {finding}") for finding in findings]
    disputed = next((line.disputed for line in verdicts if line.HasField("disputed")), None)
    figures = _figures(judged.postings, disputed.table_postings if disputed is not None else ())
    if figures:
        columns = ("player", "sitting", "referee", "table")
        lines.append(table_of("Figures", columns, figures, right=columns[1:]))  # type: ignore[arg-type]
    lines += [Text(f"version {line.version}: {_said(line)}") for line in verdicts]
    value = {
        "table": table,
        "hand_no": hand_no,
        "adjudication": adjudication,
        "findings": [_plain(finding) for finding in judged.findings],
        "rake": judged.rake,
        "verdicts": [_plain(line) for line in verdicts],
    }
    return Told(value, Group(*lines))


async def _judged(desk: Desk, table: str, hand_no: int) -> rules.AdjudicateHandResponse:
    """What the referee finds; nothing of a hand that runs."""
    try:
        return await desk.client.rules.AdjudicateHand(rules.AdjudicateHandRequest(table=table, hand_no=hand_no))
    except StudError as error:
        if error.reason != "HAND_NOT_ENDED":
            raise
        return rules.AdjudicateHandResponse()


def _figures(referee: Any, table: Any) -> list[tuple[str, int, str, str]]:
    """What each player won or lost, by the referee and, where that is in dispute, by the table."""
    by_table = {line.sitting_no: line for line in table}
    by_referee = {line.sitting_no: line for line in referee}
    rows = []
    for number in sorted({*by_table, *by_referee}):
        either = by_referee.get(number) or by_table[number]
        told = [money(of[number].delta) if number in of else "" for of in (by_referee, by_table)]
        rows.append((either.account, number, told[0], told[1]))
    return rows


def _body(line: rules.Verdict) -> Any:
    return getattr(line, str(line.WhichOneof("body")))


def _said(line: rules.Verdict) -> str:
    kind, body = line.WhichOneof("body"), _body(line)
    if kind == "disputed":
        return f"disputed ({', '.join(sorted({finding.code for finding in body.findings}))})"
    if kind == "proposed":
        return f"{body.operator} proposes to decide it {_choice(body.choice)}: {body.reason}"
    if kind == "resolved":
        return f"{' and '.join(body.operators)} decided it {_choice(body.choice)}: {body.reason}"
    return "verified"


def _choice(number: int) -> str:
    return MEANING[next(name for name, choice in CHOICES.items() if choice == number)]


def _plain(message: Any) -> dict[str, Any]:
    plain: dict[str, Any] = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return plain


@app.command()
@operated("operator", decides=True, asks=True)
async def void(
    desk: Desk,
    table: TableId,
    reason: ReasonForAll,
    hand_no: Annotated[int, typer.Argument(help="Hand, from 1; 0 = the one that runs.", min=0)] = 0,
) -> Told:
    """Void the running hand: every contribution goes back. Refused as soon as a pot is paid.

    Example: stud hand void t-1 17 --reason "a card was seen" --as olga
    """
    if not hand_no:
        if desk.named:
            could_not_run("a call with --request-id names its hand, or it would be another call later: TABLE HAND")
        hand_no = (await desk.client.tables.GetTable(pb.GetTableRequest(table=table))).update.view.hand_no
        desk.filled(hand_no=hand_no)
    desk.sure(f"Void hand {hand_no} of {table}: every contribution goes back.")
    request = pb.VoidHandRequest(table=table, hand_no=hand_no, reason=reason)
    answer = await desk.decide(desk.client.tables.VoidHand, request)
    value = {"table": table, "hand_no": hand_no, "version": answer.version, "request_id": desk.request_id}
    return Told(value, f"hand {hand_no} of {table} is void: every contribution goes back")


@app.command()
@operated("operator", decides=True, asks=True)
async def resolve(
    desk: Desk,
    table: TableId,
    hand_no: HandNo,
    by: Annotated[Choice, typer.Option("--by", help="Whose figures: the table's, the referee's, or none.")],
    reason: Reason,
) -> Told:
    """Decide a hand that is disputed or cannot be verified: one operator proposes, the same call by another decides.

    Example: stud hand resolve t-1 17 --by referee --reason "the pot went to the wrong seat" --as olga
    """
    choice = CHOICES[by.value]
    if desk.asks:
        desk.sure(
            f"Hand {hand_no} of {table} is decided {MEANING[by.value]}. {await _effect(desk, table, hand_no, choice)}"
        )
    request = rules.ResolveHandRequest(table=table, hand_no=hand_no, choice=choice, reason=reason)
    answer = await desk.decide(desk.client.rules.ResolveHand, request)
    value = {
        "table": table, "hand_no": hand_no, "by": by.value, "decided": answer.decided, "version": answer.version,
        "request_id": desk.request_id,
    }  # fmt: skip
    if answer.decided:
        return Told(value, f"hand {hand_no} of {table} is decided {MEANING[by.value]}: the table goes on by itself")
    return Told(value, "proposed: a second operator has to make the same call (`stud proposals` prints it)")


async def _effect(desk: Desk, table: str, hand_no: int, choice: int) -> str:
    """Say whether the call would decide or propose, by what is proposed now."""
    answer = await desk.client.rules.ListProposals(rules.ListProposalsRequest(table=table))
    for line in answer.proposals:
        same = (line.proposed.hand_no, line.proposed.choice) == (hand_no, choice)
        if same and line.proposed.operator != desk.who.name:
            return (
                f"{line.proposed.operator} proposed it {span(time.time() - line.at_ms / 1000)} ago, so this decides it."
            )
    return "This proposes it; a second operator decides."
