"""The house rules in words, produced from the ruleset that is played by, so that page and game cannot differ."""

from __future__ import annotations

from collections.abc import Callable

from stud_core.ruleset import (
    BringInKind,
    BuyInLimit,
    DealOrigin,
    HeadsUp,
    OddUnits,
    OpenPair,
    RiverShortage,
    Ruleset,
    ShortAllIn,
    TopUp,
)


def house_rules(ruleset: Ruleset) -> list[str]:
    """Return the rules, one paragraph an entry. Amounts in minor units, times in seconds."""
    return [text for section in _SECTIONS for text in section(ruleset)]


def _players(rules: Ruleset) -> list[str]:
    limits = f"A player sits down with at least {_limit(rules.min_buy_in)}"
    limits += "." if rules.max_buy_in is None else f" and at most {_limit(rules.max_buy_in)}."
    top_up = {
        TopUp.WITHIN_LIMITS: "Chips may be added at any time; they become playable between two hands, where the stack "
        "then lies within these limits.",
        TopUp.ANY_AMOUNT: "Chips may be added at any time in any amount up to the maximum; they become playable "
        "between two hands.",
    }
    return [f"Two to {rules.seats} players, one seat each. {limits} {top_up[rules.top_up]}"]


def _limit(limit: BuyInLimit) -> str:
    return f"{limit.amount}" if limit.amount is not None else f"{limit.small_bets} times the lower limit"


def _dealing(rules: Ruleset) -> list[str]:
    origin = {
        DealOrigin.FIXED: "The dealer belongs to the house and keeps his place: dealing starts with the player closest "
        "to his left, the lowest occupied seat, every hand.",
        DealOrigin.BUTTON: "A dealer button moves to the next player clockwise after every hand; dealing starts at its "
        "left.",
    }
    burns = (
        "A card is burned before fourth, fifth, sixth and seventh street." if rules.burns else "No cards are burned."
    )
    antes = "Antes are posted automatically unless the player says otherwise."
    if not rules.auto_post_default:
        antes = "Every player is asked for his ante unless he has ticked automatic posting."
    return [
        (
            f"Everybody antes before the cards are dealt. {antes} Who does not answer is not dealt in, sits "
            "out, and owes "
            "nothing later. With fewer than two antes they are returned."
        ),
        (
            f"{origin[rules.deal_origin]} Each player gets two cards down and one up, then one up card on "
            "each of fourth, "
            f"fifth and sixth street, and the last one, the river, face down. {burns} Cards of folded hands "
            "never return."
        ),
        _river(rules),
    ]


def _river(rules: Ruleset) -> str:
    enough = "enough cards for every player"
    if rules.river_burn_reserve:
        enough = f"a card for every player and {rules.river_burn_reserve} more"
    if rules.river_shortage is RiverShortage.RECYCLE_THEN_COMMUNITY:
        return (
            f"If the deck does not hold {enough} before the river, burned and remaining cards are shuffled together "
            "and dealt. If even these do not suffice, the burned cards are shuffled and one is turned up as a card "
            "that everybody shares."
        )
    return (
        f"If the deck does not hold {enough} before the river, the next card is turned up as a card that everybody "
        "shares."
    )


def _third(rules: Ruleset) -> list[str]:
    amount = {
        BringInKind.PARAMETER: "the bring-in of the table",
        BringInKind.HALF_SMALL_BET: "half of the lower limit, rounded up",
    }
    return [
        (
            "The lowest up card must open the betting: rank first with the ace high, equal ranks by suit, clubs below "
            f"diamonds below hearts below spades. It posts {amount[rules.bring_in]}, or opens for the full "
            "lower limit; it "
            "may not fold or check. If that player has no chips, the next one clockwise may fold, bring it "
            "in, or open in "
            "full. Suits decide nothing else."
        ),
        "Others may call the bring-in or complete it to the lower limit. Completing "
        + ("counts as a raise." if rules.completion_counts_as_raise else "is not a raise: it makes the first bet."),
    ]


def _later(rules: Ruleset) -> list[str]:
    common = " A shared card counts." if rules.community_counts_for_first else " A shared card does not count."
    pair = {
        OpenPair.ANY: " If an open pair shows on fourth street, any player may bet or raise by the lower or the higher "
        "limit; after a wager by the higher limit all further ones are by the higher limit.",
        OpenPair.HOLDER_ONLY: " If a player shows an open pair on fourth street, he may bet or raise by the higher "
        "limit; after that all further wagers are by the higher limit.",
        OpenPair.OFF: "",
    }
    return [
        (
            "From fourth street on the highest board acts first, and among equal boards the one closest to "
            "the dealer's "
            f"left. Boards of up to four cards know neither straights nor flushes.{common}"
        ),
        (
            "Bets and raises are exactly the lower limit on third and fourth street, exactly the higher "
            "limit on fifth, "
            f"sixth and seventh.{pair[rules.open_pair]} Check and raise is allowed."
        ),
        _cap(rules),
        _all_in(rules),
    ]


def _cap(rules: Ruleset) -> str:
    who = "players who have not folded" if rules.heads_up_counts_all_in else "players who can still bet"
    heads_up = {
        HeadsUp.NEVER: "The cap holds for two players as well.",
        HeadsUp.TWO_REMAIN_BEFORE_CAP: f"Once only two {who} remain, raises are not limited, unless the cap was "
        "reached before.",
        HeadsUp.ROUND_START: f"Raises are not limited in a betting round that begins with two {who}.",
        HeadsUp.HAND_START: "Raises are not limited in a hand that was dealt to two players.",
    }
    return f"One bet and {rules.max_raises} raises are allowed in a betting round. {heads_up[rules.heads_up]}"


def _all_in(rules: Ruleset) -> str:
    short = {
        ShortAllIn.HALF_BET: "at least half of a full bet or raise counts as one and reopens the betting; with less,",
        ShortAllIn.FULL_BET: "a full bet or raise reopens the betting; with less,",
        ShortAllIn.ANY: "any amount reopens the betting; otherwise",
    }
    return (
        f"A player without enough chips may go all-in: {short[rules.short_all_in]} those who have acted may only call "
        "or fold, and the others may complete it. Nobody can lose or win more than what he put in from each opponent; "
        "what nobody matches is returned."
    )


def _clock(rules: Ruleset) -> list[str]:
    def seconds(clock_ms: int) -> str:
        return f"{clock_ms / 1000:g} seconds" if clock_ms else "no time limit"

    away = " Who sits out in mid-hand is folded at his next turn." if rules.away_folds_now else ""
    before = " An action may be chosen before the turn." if rules.pre_actions else ""
    return [
        (
            f"To act: {seconds(rules.action_clock_ms)}; to answer for the ante: "
            f"{seconds(rules.ante_clock_ms)}; to show or "
            f"muck: {seconds(rules.show_clock_ms)}. When the time is up the hand checks if that is free and "
            "folds if not, "
            f"a bring-in is posted, and the player sits out from the next hand.{away}{before}"
        )
    ]


def _showdown(rules: Ruleset) -> list[str]:
    odd = {
        OddUnits.ONE_EACH_FROM_LEFT: "units that are left over go one each to the winners from the dealer's left",
        OddUnits.ALL_TO_FIRST_LEFT: "what is left over goes to the first winner from the button's left",
        OddUnits.HIGH_CARD_BY_SUIT: "what is left over goes to the winner with the highest card by rank and suit",
    }
    muck = "Losing hands are mucked by themselves unless the player wants to be asked."
    if not rules.muck_losing_default:
        muck = "A player with a losing hand is asked whether he shows it, unless he has ticked automatic mucking."
    return [
        (
            "The last player to bet or raise on the river shows first, else the one who acted first, then "
            "clockwise. Cards "
            f"speak: the best five-card hand wins. A winner of a called pot is always shown. {muck} Who wins without a "
            "call need not show."
        ),
        f"Equal hands share a pot equally; {odd[rules.odd_units]}. Side pots are settled first, each by itself.",
    ]


def _rake(rules: Ruleset) -> list[str]:
    if not rules.rake_bps:
        return ["No rake is taken."]
    cap = "" if rules.rake_cap is None else f", at most {rules.rake_cap}"
    free = " Hands that end before fourth street are free." if rules.no_rake_before_fourth else ""
    return [f"The house takes {rules.rake_bps / 100:g} % of what was called{cap}, once per hand, rounded down.{free}"]


_SECTIONS: tuple[Callable[[Ruleset], list[str]], ...] = (
    _players, _dealing, _third, _later, _clock, _showdown, _rake,
)  # fmt: skip
