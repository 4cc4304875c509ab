"""``stud rules``: the house rules of a table, in words."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from stud_cli.exit_codes import could_not_run, said_as
from stud_cli.operate.common import Asked, AsOption, EndpointsOption, KeysOption, TokenFileOption
from stud_cli.output import JsonFlag, last_line
from stud_core.house_rules import changed, headline, house_rules, page
from stud_core.presets import RULESETS, Parameters, table_config
from stud_core.ruleset import TableConfig
from stud_core.validate import validate_config


def rules(
    ruleset: Annotated[str, typer.Argument(help="playnow or william_hill.", show_default=False)] = "",
    table: Annotated[str, typer.Option(help="A table of the running system: the rules it plays by.")] = "",
    small_bet: Annotated[int | None, typer.Option(help="Lower limit, in cents.", show_default="500")] = None,
    big_bet: Annotated[int | None, typer.Option(help="Higher limit, in cents.", show_default="double")] = None,
    ante: Annotated[int | None, typer.Option(help="Ante, in cents.", show_default="by the stakes")] = None,
    bring_in: Annotated[int | None, typer.Option(help="Bring-in, in cents.", show_default="by the stakes")] = None,
    currency: Annotated[str, typer.Option(help="Currency of the table.", show_default="EUR, or the first served")] = "",
    as_name: AsOption = "",
    token_file: TokenFileOption = None,
    keys: KeysOption = None,
    where: EndpointsOption = "",
    json_output: JsonFlag = False,
) -> None:
    """Print the complete house rules of a preset or of a table, with examples in its own stakes.

    A lower limit that is one of the usual stakes brings its ante and bring-in with it.

    Example: stud rules playnow --small-bet 1000 --currency CAD
    """
    if table and (ruleset or any(value is not None for value in (small_bet, big_bet, ante, bring_in))):
        could_not_run("a table has its own rules and stakes: want --table alone, or a preset")
    config = (
        _of_table(table, Asked(as_name, token_file, keys, where))
        if table
        else _of_preset(ruleset, small_bet, big_bet, ante, bring_in, currency)
    )
    if json_output:
        sections = [section._asdict() for section in house_rules(config)]
        value = {"ruleset": config.ruleset.name, "headline": headline(config), "changed": changed(config)}
        last_line({**value, "sections": sections})
        return
    print(page(config), end="")


def _of_preset(
    name: str, small_bet: int | None, big_bet: int | None, ante: int | None, bring_in: int | None, currency: str
) -> TableConfig:
    if name not in RULESETS:
        could_not_run(f"unknown ruleset {name}: want {' or '.join(RULESETS)}, or a table with --table")
    served = _served()
    currency = currency or ("EUR" if "EUR" in served else served[0])
    given: Parameters = {"currency": currency, "bring_in": bring_in}
    if small_bet is not None:
        given["small_bet"] = small_bet
    if big_bet is not None:
        given["big_bet"] = big_bet
    if ante is not None:
        given["ante"] = ante
    config = table_config(RULESETS[name], **given)
    problems = validate_config(config)
    if problems:
        could_not_run("; ".join([str(problem) for problem in problems]))
    if currency not in served:
        could_not_run(
            f"no table plays for {currency}: want {', '.join(served)} (STUD_CURRENCIES says which are served)"
        )
    return config


def _served() -> tuple[str, ...]:
    """Return the currencies that services here would open a table for."""
    from stud_service.settings import SettingsError, load_settings

    with said_as("{}", SettingsError):
        return load_settings("table").currencies


def _of_table(table: str, asked: Asked) -> TableConfig:
    from stud_cli.operate.desk import Desk

    return asyncio.run(Desk(asked, ["operator", "player"], decides=False).answer(_ask, table))


async def _ask(desk: Any, table: str) -> TableConfig:
    from stud.table.v1 import table_service_pb2 as pb
    from stud_wire.codec import from_message

    answer = await desk.client.tables.GetTable(pb.GetTableRequest(table=table))
    return from_message(TableConfig, answer.update.view.config)
