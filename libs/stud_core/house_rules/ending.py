"""The house rules of the end of a hand, of time and of being away."""

from __future__ import annotations

from stud_core.house_rules.saying import left, money, seconds, within
from stud_core.ruleset import OddUnits, TableConfig


def showdown(config: TableConfig) -> str:
    rules = config.ruleset
    asked = f"you are asked whether to show, and answer{within(rules.show_clock_ms)}"
    if rules.muck_losing_default:
        losing = f"Any other losing hand stays hidden; if you switch Muck Losing Hands off, {asked}."
    else:
        losing = f"With any other losing hand {asked}, unless you switch Muck Losing Hands on."
    return (
        "The last player to bet or raise on the river shows first; if nobody did, the one who acted first. Then it "
        "goes clockwise, players in a side pot before those who are not. The best five-card hand wins, whatever "
        f"anybody says. The first to show and every winner are shown. {losing} If nobody calls you, you win "
        "without showing; you may choose to show."
    )


def odd_chips(config: TableConfig) -> str:
    unit = money(1)
    odd = {
        OddUnits.ONE_EACH_FROM_LEFT: f"What cannot be split goes out in pieces of {unit}, one to each winner in turn "
        f"from {left(config)}.",
        OddUnits.ALL_TO_FIRST_LEFT: f"What cannot be split goes to the first winner from {left(config)}.",
        OddUnits.HIGH_CARD_BY_SUIT: "What cannot be split goes to the winner who holds the highest single card, by "
        "rank and then by suit.",
    }
    return f"Equal hands share a pot equally. {odd[config.ruleset.odd_units]} Side pots go first, each by itself."


def rake(config: TableConfig) -> str:
    rules = config.ruleset
    if not rules.rake_bps or rules.rake_cap == 0:
        return "The house takes nothing from the pots."
    cap = "" if rules.rake_cap is None else f" and at most {money(rules.rake_cap)}"
    free = " A hand that ends on third street is free." if rules.no_rake_before_fourth else ""
    return (
        f"Once a hand the house takes {rules.rake_bps / 100:g} % of what was put in and called, rounded down{cap}; "
        f"never from a bet that comes back.{free}"
    )


def clock(config: TableConfig) -> str:
    rules = config.ruleset
    limit = f"You have {seconds(rules.action_clock_ms)} to act"
    clock = (
        f"{limit}, connected or not. When they are over you check if that is free and fold if not (a bring-in is "
        "posted), and sit out from the next hand on."
    )
    if not rules.action_clock_ms:
        clock = "There is no time limit to act."
    away = "you first finish the hand you are in"
    if rules.away_folds_now:
        away = "the hand you are in is folded at your next turn"
    return (
        f"{clock} If you press Sit Out, {away}; no cards are dealt to you until you come back. If you leave during a "
        "hand, you check or fold at each of your turns, and your chips are paid out when the hand is over and "
        "verified."
    )


def ahead(config: TableConfig) -> str:
    rules = config.ruleset
    if not rules.pre_actions:
        return "You choose what to do when it is your turn, not before."
    fold = "folds even if checking is free" if rules.pre_fold_is_literal else "checks if that is free"
    return (
        "Before your turn you may already choose Fold, Call, Bet or Raise; nobody else can tell. It is done when your "
        "turn comes, unless the price has changed or the street has ended: then it is dropped and you are asked. A "
        f"fold chosen ahead {fold}."
    )
