"""The house rules of the end of a hand, of time and of being away."""

from __future__ import annotations

from stud_core.house_rules.saying import left, money, seconds, span, within
from stud_core.ranks import CATEGORIES
from stud_core.ruleset import OddUnits, TableConfig


def hands(config: TableConfig) -> str:
    suits = "Suits never decide a pot, only which of equal low cards starts."
    if config.ruleset.odd_units is OddUnits.HIGH_CARD_BY_SUIT:
        suits = "Suits never decide who wins, only which of equal low cards starts and who gets odd chips."
    best, *others = CATEGORIES
    return (
        f"From the highest down: {best} (ten to ace: royal flush), {', '.join(others)}. Where two hands are of one "
        "sort the ranks of the cards decide. In a straight an ace is the highest card or the lowest: A-2-3-4-5 is a "
        f"straight, the lowest one. {suits}"
    )


def showdown(config: TableConfig) -> str:
    rules = config.ruleset
    asked = f"you are asked whether to show, and answer{within(rules.show_clock_ms)}"
    silent = " Without an answer in time your cards stay hidden." if rules.show_clock_ms else ""
    if rules.muck_losing_default:
        losing = f"Any other losing hand stays hidden; if you switch Muck Losing Hands off, {asked}."
    else:
        losing = f"With any other losing hand {asked}, unless you switch Muck Losing Hands on."
    losing += " Switching it on while you are asked hides."
    return (
        "The last player to bet or raise on the river shows first; if nobody did, the one who acted first or would "
        "have. Then it goes clockwise; who shares a side pot comes before those who do not. The best five-card hand "
        "wins, whatever anybody says. The first to show and every winner of a called pot are shown. A pot that only "
        f"one player can win is not called, and changes nothing in the order. {losing} If nobody calls you, you win "
        f"and are asked too.{silent}"
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
    return f"Equal hands share a pot equally. {odd[config.ruleset.odd_units]} Side pots go first."


def rake(config: TableConfig) -> str:
    rules = config.ruleset
    if not rules.rake_bps or rules.rake_cap == 0:
        return "The house takes nothing from the pots."
    cap = "" if rules.rake_cap is None else f" and at most {money(rules.rake_cap)}"
    free = " A hand that ends on third street is free." if rules.no_rake_before_fourth else ""
    return (
        f"Once a hand the house takes {rules.rake_bps / 100:g} % of what was put in and called, rounded down{cap}; "
        "never from a bet that comes back. It comes out of the main pot first, which it may use up, then out of the "
        f"side pots.{free}"
    )


def clock(config: TableConfig) -> str:
    rules = config.ruleset
    limit = f"You have {seconds(rules.action_clock_ms)} to act"
    more = f"{_time_bank(config)}{_reconnecting(config)}"
    clock = (
        f"{limit}, connected or not.{more} When they are over you check if that is free and fold if not (a bring-in is "
        "posted), and sit out from the next hand on."
    )
    if not rules.action_clock_ms:
        clock = "There is no time limit to act."
    away = "you first finish the hand you are in"
    if rules.away_folds_now:
        away = "the hand you are in is folded at your next turn (a bring-in is posted)"
    seen = " Everybody sees whose connection is lost." if rules.show_connection else ""
    return (
        f"{clock}{seen} If you press Sit Out, {away}; you get no more until you come back.{_idle(config)} If you leave "
        "during a hand, you check or fold at your turns, and are paid out when the hand is over and verified."
    )


def _time_bank(config: TableConfig) -> str:
    rules = config.ruleset
    if not rules.time_bank_ms:
        return ""
    chips, refill = rules.time_bank_chips or 1, rules.time_bank_refill_hands
    have = "one time chip" if chips == 1 else f"{chips} time chips"
    text = f" You sit down with {have}: each adds {seconds(rules.time_bank_ms)} to a turn before its time is over."
    if refill is None:
        return f"{text} A used one does not come back."
    every = "every hand" if refill == 1 else f"every {refill} hands"
    return f"{text} For {every} that you are dealt into one of the used comes back."


def _reconnecting(config: TableConfig) -> str:
    extra = config.ruleset.reconnect_ms
    if extra is None:
        return ""
    return f" If the connection is lost when they are over you have {seconds(extra)} more, once in a hand."


def _idle(config: TableConfig) -> str:
    """How long anybody may sit out; nothing where it does not matter (B.17)."""
    most_ms, most_hands = config.ruleset.sit_out_max_ms, config.ruleset.sit_out_max_hands
    limits = [f"for {span(most_ms)}"] if most_ms else []
    if most_hands:
        limits.append("while one hand is dealt" if most_hands == 1 else f"while {most_hands} hands are dealt")
    if not limits:
        return ""
    return f" If you sit out {' or '.join(limits)}, your seat is given up and you are paid out."


def ahead(config: TableConfig) -> str:
    rules = config.ruleset
    if not rules.pre_actions:
        return "You choose what to do when it is your turn, not before."
    fold = "folds even if checking is free" if rules.pre_fold_is_literal else "checks if that is free"
    buttons, dropped, call_any = "Fold, Call, Bet or Raise", "Call, Bet and Raise", ""
    if rules.pre_check_call_any:
        buttons, dropped = "Fold, Check, Call, Call Any, Bet or Raise", "Check, Call, Bet and Raise"
        call_any = (
            " Call Any calls whatever there is to call, and checks if that is free; it stands at any price, but not "
            "without a connection."
        )
    return (
        f"Before your turn you may already choose {buttons}; nobody else can tell. It is done when your "
        f"turn comes in that round. {dropped} are dropped, and you are asked, if the price changes, they "
        f"become impossible or you lose the connection.{call_any} A fold chosen ahead stands at any price, connected "
        f"or not; it {fold}. The end of the round and Sit Out drop every choice."
    )


def void(_config: TableConfig) -> str:
    return "Of a void hand everybody gets back what they put in. Of a disputed one nothing is paid until it is decided."
