"""``stud rules``: the house rules of a table, in words."""

from __future__ import annotations

from typing import Annotated

import typer

from stud_cli.output import JsonFlag, could_not_run, last_line
from stud_core.house_rules import headline, house_rules, page
from stud_core.presets import RULESETS, Parameters, table_config
from stud_core.validate import validate_config


def rules(
    ruleset: Annotated[str, typer.Argument(help="playnow or william_hill.", show_default=False)],
    small_bet: Annotated[int | None, typer.Option(help="Lower limit, in cents.", show_default="500")] = None,
    big_bet: Annotated[int | None, typer.Option(help="Higher limit, in cents.", show_default="double")] = None,
    ante: Annotated[int | None, typer.Option(help="Ante, in cents.", show_default="by the stakes")] = None,
    bring_in: Annotated[int | None, typer.Option(help="Bring-in, in cents.", show_default="by the stakes")] = None,
    currency: Annotated[str, typer.Option(help="Currency of the table.")] = "EUR",
    json_output: JsonFlag = False,
) -> None:
    """Print the complete house rules of a table, with examples in its own stakes.

    A lower limit that is one of the usual stakes brings its ante and bring-in with it.

    Example: stud rules playnow --small-bet 1000 --currency CAD
    """
    if ruleset not in RULESETS:
        could_not_run(f"unknown ruleset {ruleset}: want {' or '.join(RULESETS)}")
    given: Parameters = {"currency": currency, "bring_in": bring_in}
    if small_bet is not None:
        given["small_bet"] = small_bet
    if big_bet is not None:
        given["big_bet"] = big_bet
    if ante is not None:
        given["ante"] = ante
    config = table_config(RULESETS[ruleset], **given)
    problems = validate_config(config)
    if problems:
        could_not_run("; ".join([str(problem) for problem in problems]))
    if json_output:
        sections = [section._asdict() for section in house_rules(config)]
        last_line({"ruleset": ruleset, "headline": headline(config), "sections": sections})
        return
    print(page(config), end="")
