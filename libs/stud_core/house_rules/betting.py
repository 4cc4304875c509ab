"""The house rules of betting."""

from __future__ import annotations

from stud_core.house_rules.saying import WORDS, left, money
from stud_core.ruleset import HeadsUp, OpenPair, ShortAllIn, TableConfig


def bets(config: TableConfig) -> str:
    small, big = money(config.small_bet), money(config.big_bet)
    but = " (an open pair apart)" if _has_pair_option(config) else ""
    return (
        "From fourth street on the highest cards showing act first, or the next player clockwise if that one is "
        f"all-in; of equal ones, the closest to {left(config)}. Pairs, two pair, three and four of a kind count, "
        "straights and flushes of up to four cards do not. If nobody has bet you check, bet or fold; facing a bet you "
        f"call, raise or fold. You may check and raise later. Bets and raises are exactly {small} on third and fourth "
        f"street{but}, and exactly {big} from fifth street on."
    )


def _has_pair_option(config: TableConfig) -> bool:
    """Whether a pair on fourth street opens a choice: not where both limits are the same."""
    return config.ruleset.open_pair is not OpenPair.OFF and config.big_bet > config.small_bet


def open_pair(config: TableConfig) -> str:
    low, high = config.small_bet, config.big_bet
    small, big = money(low), money(high)
    if not _has_pair_option(config):
        return f"A pair showing on fourth street changes nothing: bets and raises stay at {small}."
    who = f"that player alone may bet or raise by {small} or by {big} in that round"
    if config.ruleset.open_pair is OpenPair.ANY:
        who = f"every player may bet or raise by {small} or by {big} in that round"
    example = f"after a bet of {small} and a raise to {money(low + high)} the next raise is to {money(low + 2 * high)}"
    if config.ruleset.max_raises == 1 and config.ruleset.heads_up is HeadsUp.NEVER:
        example = f"after a bet of {big} the raise is to {money(2 * high)}"
    return (
        f"If a player's two cards showing on fourth street are a pair, {who}. After one bet or raise by {big} all the "
        f"others are by {big} as well: {example}. Going all-in for less you choose too: your chips are measured by "
        f"your choice, and {big} binds the others only if that counts as full. A pair that shows up later changes "
        "nothing."
    )


def cap(config: TableConfig) -> str:
    rules = config.ruleset
    raises = "one raise" if rules.max_raises == 1 else f"{WORDS[rules.max_raises]} raises"
    bets = [money(number * config.big_bet) for number in range(1, rules.max_raises + 2)]
    totals = ", ".join(bets[:-1]) + f" and {bets[-1]}"
    if rules.completion_counts_as_raise:
        bring_in = "On third street the bring-in is the bet, and completing it is the first raise."
    else:
        bring_in = "On third street the bring-in does not count; completing it is the bet, not a raise."
    return (
        f"A betting round has one bet and {raises}, after which you can only call or fold: on fifth street {totals}. "
        f"{bring_in} You cannot bet or raise if no opponent could put in more."
    )


def heads_up(config: TableConfig) -> str:
    rules = config.ruleset
    counted = "is" if rules.heads_up_counts_all_in else "is not"
    all_in = f"A player who is all-in {counted} counted as left."
    return {
        HeadsUp.NEVER: "The cap holds for two players just as for more.",
        HeadsUp.TWO_REMAIN_BEFORE_CAP: "Once only two players are left, raises are unlimited, unless the cap of the "
        f"round was reached before. {all_in}",
        HeadsUp.ROUND_START: "If only two players are left when a betting round begins, raises are unlimited in that "
        f"round. {all_in}",
        HeadsUp.HAND_START: "If a hand is dealt to two players, raises are unlimited in it. A hand that comes down to "
        "two players keeps its cap.",
    }[rules.heads_up]


def all_in(config: TableConfig) -> str:
    big = config.big_bet
    bet, half, full = money(big), money(big + (big + 1) // 2), money(2 * big)
    start = config.bring_in + (config.small_bet - config.bring_in + 1) // 2
    others = "those who have acted since the last full one may only call or fold, the others may make it full"
    rule = config.ruleset.short_all_in
    add_up = " Several such all-ins add up: each is measured from the last full bet or raise."
    if rule is ShortAllIn.ANY:
        add_up = ""
    short = {
        ShortAllIn.HALF_BET: "if it is at least half of what a full one would add, it counts as full and everybody may "
        f"raise again; with less, {others}. On a bet of {bet} an all-in for {half} or more is a raise. Opening and "
        f"completing are measured from the bring-in: {money(start)} is the least that counts.",
        ShortAllIn.FULL_BET: f"it does not count: {others}. On a bet of {bet} only an all-in for {full} is a raise.",
        ShortAllIn.ANY: "whatever it is, it counts as full and everybody may raise again.",
    }
    return (
        "You play with the chips in front of you and nothing else. If they do not cover a call, bet or raise, you may "
        f"put them all in. A bet or raise for less: {short[rule]}{add_up} From each opponent you "
        "can win as much as you put in yourself: the rest goes into side pots, and what nobody matches comes back. "
        "When fewer than two players can still bet, the remaining cards are dealt without betting, and hands stay "
        "hidden until the showdown."
    )
