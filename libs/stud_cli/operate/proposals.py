"""``stud proposals``: what waits for a second operator, and the exact command by which one agrees."""

from __future__ import annotations

import shlex
import time
from typing import Annotated, Any, Final

import msgspec
import typer
from rich.console import Group, RenderableType
from rich.text import Text

from stud.events.v1 import table_events_pb2
from stud.rules.v1 import rules_service_pb2 as rules
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_cli.drawing import money
from stud_cli.operate.desk import Desk, Told, operated
from stud_cli.operate.identity import span
from stud_cli.output import command
from stud_client import pages

BY: Final = {
    table_events_pb2.RESOLUTION_CHOICE_TABLE: "table",
    table_events_pb2.RESOLUTION_CHOICE_REFEREE: "referee",
    table_events_pb2.RESOLUTION_CHOICE_VOID: "void",
}
SECOND: Final = "NAME"
"""Where the second operator puts theirs."""


class Waiting(msgspec.Struct):
    """One proposal: ``agree`` are the words behind ``stud``; ``counts`` None where only the call itself would tell."""

    kind: str
    what: str
    operator: str
    at_ms: int
    reason: str
    agree: list[str]
    counts: bool | None = None


@operated("operator", "auditor")
async def proposals(
    desk: Desk,
    currency: Annotated[
        str, typer.Option(help="Only money in this currency.", show_default="all that are served")
    ] = "",
) -> Told:
    """List what waits for a second operator, oldest first, with the command by which one agrees.

    Example: stud proposals
    """
    found, unread = await _about_hands(desk)
    found += await _about_money(desk, currency)
    found.sort(key=lambda waiting: waiting.at_ms)
    now_ms = time.time() * 1000
    value = {
        "proposals": [
            {
                "kind": waiting.kind,
                "what": waiting.what,
                "operator": waiting.operator,
                "at_ms": waiting.at_ms,
                "waiting_s": max(0, round((now_ms - waiting.at_ms) / 1000)),
                "reason": waiting.reason,
                "counts": waiting.counts,
                "agree": ["stud", *waiting.agree],
            }
            for waiting in found
        ],
        "unread": unread,
    }
    lines: list[RenderableType] = [_line(waiting, now_ms) for waiting in found]
    lines += [Text(f"not looked into: {stream} cannot be trusted as it stands", style="red") for stream in unread]
    return Told(value, Group(*lines) if lines else "nothing waits for a second operator")


def _line(waiting: Waiting, now_ms: float) -> Text:
    ago = span((now_ms - waiting.at_ms) / 1000)
    void = "" if waiting.counts is not False else ", who has an interest by now: it counts for nothing"
    text = Text(f"{waiting.kind}: {waiting.what}\n", style="bold")
    text.append(f"  proposed by {waiting.operator} {ago} ago{void}: {waiting.reason}\n", style="not bold")
    return text.append(f"  {command()} {shlex.join(waiting.agree)}", style="not bold")


async def _about_hands(desk: Desk) -> tuple[list[Waiting], list[str]]:
    found: list[Waiting] = []
    unread: set[str] = set()
    async for page in pages(desk.client.rules.ListProposals, rules.ListProposalsRequest()):
        unread.update(page.unread)
        for line in page.proposals:
            told = line.proposed
            by = BY[told.choice]
            agree = [
                *("hand", "resolve", told.table, str(told.hand_no), "--by", by),
                *("--reason", told.reason, "--as", SECOND),
            ]
            what = f"hand {told.hand_no} of {told.table} by {by}"
            found.append(Waiting("hand", what, told.operator, line.at_ms, told.reason, agree))
    return found, sorted(unread)


async def _about_money(desk: Desk, currency: str) -> list[Waiting]:
    found: list[Waiting] = []
    async for page in pages(desk.client.wallet.ListProposals, wallet.ListProposalsRequest(currency=currency)):
        for line in page.proposals:
            kind, what, agree = _cash_out(line) if line.table else _adjustment(line)
            words = [*agree, "--as", SECOND]
            found.append(Waiting(kind, what, line.operator, line.at_ms, line.reference, words, counts=line.counts))
    return found


def _cash_out(line: wallet.Proposal) -> tuple[str, str, list[str]]:
    what = f"{money(line.amount)} {line.currency} for sitting {line.sitting_no} of {line.table}"
    words = ["cashout", "resolve", line.table, str(line.sitting_no), str(line.amount)]
    return "cash-out", what, [*words, "--currency", line.currency, "--reason", line.reference]


def _adjustment(line: wallet.Proposal) -> tuple[str, str, list[str]]:
    lines: list[Any] = list(line.postings)
    what = ", ".join(f"{posting.account} {money(posting.amount)}" for posting in lines) + f" {line.currency}"
    words = ["account", "adjust", *(f"{posting.account}={posting.amount}" for posting in lines)]
    return "adjustment", what, [*words, "--currency", line.currency, "--reference", line.reference]
