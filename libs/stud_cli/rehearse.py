"""``stud rehearse``: recorded hands through the running services, over gRPC, with stacked decks."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import Annotated

import typer
from rich.progress import Progress

from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_cli.adjudicate import Report, Verdict, judge, show
from stud_cli.handfile import BadHandError, BadLine, RecordedHand, read_hands
from stud_cli.handscript import CURRENCY
from stud_cli.keyscmd import keys_dir
from stud_cli.output import JsonFlag, console, could_not_run, notes
from stud_cli.people import People
from stud_cli.rehearsal import PLAYERS, Rehearsal
from stud_cli.stack import Stack, StackError
from stud_client import StudError, load_endpoints

AT_ONCE = 4
BANKROLL = 10**15


def rehearse(
    files: Annotated[list[Path], typer.Argument(help="Recorded hands, one JSON object a line.")],
    endpoints: Annotated[
        bool,
        typer.Option("--endpoints", help="Use the running system (XTS, stacked decks on) instead of a new one."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed for cards that the recording hides.")] = 1,
    json_output: JsonFlag = False,
) -> None:
    """Play recorded hands through table, dealer, referee and wallet, and compare what comes out.

    Example: stud rehearse tests/golden/hands/stars.jsonl --json
    """
    report = Report()
    hands = list(readable(files, report))
    try:
        report.verdicts += asyncio.run(_rehearse(hands, seed, running=endpoints, quiet=json_output))
    except (StackError, StudError) as error:
        could_not_run(str(error))
    show(report, notes if json_output else console)
    if json_output:
        print(report.to_json())
    raise typer.Exit(report.exit_code)


def readable(files: list[Path], report: Report) -> Iterator[RecordedHand]:
    """Yield every hand that can be read; lines that are none go into the report."""
    for file in files:
        for _, line in read_hands(file):
            if isinstance(line, BadLine):
                report.add_line(line)
            else:
                yield line


async def _rehearse(hands: list[RecordedHand], seed: int, *, running: bool, quiet: bool) -> list[Verdict]:
    async with AsyncExitStack() as stack:
        if running:
            found = dataclasses.asdict(load_endpoints())
            people = People(found, keys_dir())
        else:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stud-rehearse-")))
            system = await stack.enter_async_context(Stack(directory, allow_stacked_decks=True))
            people = People(system.endpoints, system.keys_dir)
        stack.push_async_callback(people.close)
        await _fund(people)
        run = os.urandom(3).hex()
        gate = asyncio.Semaphore(AT_ONCE)
        with Progress(console=notes, disable=quiet, transient=True) as progress:
            bar = progress.add_task("hands", total=len(hands))

            async def one(number: int, hand: RecordedHand) -> Verdict:
                async with gate:
                    verdict = await rehearse_one(people, hand, f"rehearse-{run}-{number}", seed)
                progress.advance(bar)
                return verdict

            return list(await asyncio.gather(*(one(number, hand) for number, hand in enumerate(hands, 1))))


async def rehearse_one(people: People, hand: RecordedHand, table_id: str, seed: int) -> Verdict:
    """Play one hand; ``why: hidden`` where no hidden cards make it come out as recorded."""
    try:
        found = judge(hand, Random(f"{seed}:{hand.id}"))  # noqa: S311 - finds cards that fit, deals nothing
    except BadHandError as error:
        return Verdict(hand.id, f"malformed: {error}")
    if found.script is None or found.note:
        return Verdict(hand.id, "hidden" if found.note else found.why)
    return Verdict(hand.id, "; ".join(await Rehearsal(people, found.script, table_id).play()))


async def _fund(people: People) -> None:
    for account in PLAYERS:
        await people.player(account).wallet.OpenAccount(wallet.OpenAccountRequest(currency=CURRENCY))
        await people.cashier.wallet.Deposit(
            wallet.DepositRequest(currency=CURRENCY, account=account, amount=BANKROLL, reference="rehearsal")
        )
