"""The house rules in words, for people who want to play: made from the table's configuration that the engine plays by.

No sentence stands here that does not follow from a knob, a table parameter or a statement both pages share, so page
and game cannot differ. Amounts are spoken in whole currency units.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Final, NamedTuple

from stud_core.ruleset import (
    BringInKind,
    BuyInLimit,
    DealOrigin,
    HeadsUp,
    OddUnits,
    OpenPair,
    RiverShortage,
    ShortAllIn,
    TableConfig,
    TopUp,
)

WIDTH: Final = 100
_INDENT: Final = 18
_WORDS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ALWAYS_ENOUGH: Final = 6  # players whom the deck serves to the last card, whatever is burned (B.12)


class Section(NamedTuple):
    """One subject, in the order of play."""

    title: str
    text: str


def house_rules(config: TableConfig) -> list[Section]:
    """Return the complete rules of a table."""
    return [Section(title, text(config)) for title, text in _SECTIONS]


def headline(config: TableConfig) -> str:
    """What the page is about, with the version that every hand records."""
    stakes = f"{_money(config.small_bet)}/{_money(config.big_bet)} {config.currency}"
    return (
        f'Seven-card stud, fixed limit {stakes}: house rules "{config.ruleset.name}", version {config.ruleset.version}'
    )


def page(config: TableConfig) -> str:
    """Return the rules as one page of plain text, 100 columns wide."""
    lines = [headline(config)]
    for title, text in house_rules(config):
        first = title.ljust(_INDENT)
        lines += [""] * (title in _AFTER_A_BREAK)
        lines += textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=" " * _INDENT)
    return "\n".join(lines) + "\n"


# --- how things are said -----------------------------------------------------


def _money(amount: int) -> str:
    """Minor units as people write them: 500 is ``5``, 250 is ``2.50``."""
    whole, cents = divmod(amount, 100)
    return f"{whole:,}.{cents:02d}" if cents else f"{whole:,}"


def _seconds(clock_ms: int) -> str:
    seconds = f"{clock_ms / 1000:g}"
    return f"{seconds} second" if clock_ms == 1000 else f"{seconds} seconds"


def _within(clock_ms: int) -> str:
    return f" within {_seconds(clock_ms)}" if clock_ms else ", with no time limit"


def _limit(limit: BuyInLimit, config: TableConfig) -> str:
    amount = _money(limit.resolve(config.small_bet))
    return amount if limit.small_bets is None else f"{amount} ({limit.small_bets} times the lower limit)"


def _left(config: TableConfig) -> str:
    """Where counting starts: at the dealer of the house, or at the button."""
    return "the dealer's left" if config.ruleset.deal_origin is DealOrigin.FIXED else "the button's left"


# --- before the cards --------------------------------------------------------


def _table(config: TableConfig) -> str:
    small, big = _money(config.small_bet), _money(config.big_bet)
    seats = config.ruleset.seats
    players = "Two players" if seats == 2 else f"Two to {_WORDS[seats]} players"
    pause = f" {_seconds(config.hand_pause_ms)} after the last one" if config.hand_pause_ms else " at once"
    return (
        f"{players}, one seat each. All amounts are in {config.currency}. Every bet and raise is fixed: {small}, the "
        f"lower limit, in the first two betting rounds and {big}, the higher limit, in the last three. You get seven "
        "cards of your own, and your best five count. While two players are ready, the next hand begins"
        f"{pause}."
    )


def _buying_in(config: TableConfig) -> str:
    rules = config.ruleset
    least = f"You sit down with at least {_limit(rules.min_buy_in, config)}"
    if rules.max_buy_in is None:
        limits, top = "; there is no maximum", ""
    else:
        limits, top = f" and at most {_limit(rules.max_buy_in, config)}", " up to the maximum"
    stack = "your stack must then lie within the limits" if top else "your stack must then reach the minimum"
    more = {
        TopUp.WITHIN_LIMITS: f"they join your stack between two hands, and {stack}.",
        TopUp.ANY_AMOUNT: f"any amount{top} joins your stack between two hands.",
    }
    return f"{least}{limits}. You may ask for more chips at any time; {more[rules.top_up]}"


def _antes(config: TableConfig) -> str:
    rules = config.ruleset
    ante = f"Before the deal every player puts an ante of {_money(config.ante)} into the pot, or what is left if less."
    if not config.ante:
        ante = "The ante is 0 at this table: it only says that you play."
    asked = f"you are asked every hand and answer{_within(rules.ante_clock_ms)}"
    if rules.auto_post_default:
        how = f"It is posted for you; if you switch Auto Post Ante off, {asked}."
    else:
        how = f"If Auto Post Ante is off, as it is when you sit down, {asked}."
    return (
        f"{ante} {how} Without an answer you get no cards and sit out; you owe nothing when you come back. If fewer "
        "than two players post, the antes go back and nobody is dealt in."
    )


# --- cards -------------------------------------------------------------------


def _deal(config: TableConfig) -> str:
    origin = {
        DealOrigin.FIXED: "The dealer belongs to the house and never moves. Cards go round clockwise from the player "
        "closest to the dealer's left, the lowest seat.",
        DealOrigin.BUTTON: "A dealer button moves on to the next player on the left after every hand. Cards go round "
        "clockwise from the player at the button's left.",
    }
    burns = "No cards are burned (put aside unseen) in between."
    if config.ruleset.burns:
        burns = "Before fourth, fifth, sixth and seventh street one card is burned: put aside unseen."
    return (
        f"{origin[config.ruleset.deal_origin]} Each gets two cards face down and one face up (third street), then one "
        "face up on fourth, fifth and sixth street and a last one, the river, face down (seventh street). Each street "
        f"is followed by a betting round. {burns} Cards of folded hands never come back into play."
    )


def _low_card(config: TableConfig) -> str:
    small, post = _money(config.small_bet), _money(config.bring_in)
    half = "" if config.ruleset.bring_in is BringInKind.PARAMETER else ", half the lower limit"
    if half and config.small_bet % 2:
        half += " rounded up"
    suits = "Suits decide nothing else."
    if config.ruleset.odd_units is OddUnits.HIGH_CARD_BY_SUIT:
        suits = "Apart from odd chips, suits decide nothing else."
    return (
        "The lowest card showing starts third street. Aces are high; between equal cards the lowest suit counts, from "
        f"clubs up through diamonds and hearts to spades. {suits} That player must bring it in for {post}{half}, or "
        f"open for {small}; checking and folding are not allowed. The others may fold, call the {post} or complete it "
        f"to {small}; after that raises are to {_money(2 * config.small_bet)}, {_money(3 * config.small_bet)} and so "
        f"on. If everybody just calls the {post}, the round is over. With less than {post} the low card posts what it "
        f"has and the others still pay {post}; with no chips at all the next player clockwise may bring it in, open "
        "or fold."
    )


def _river(config: TableConfig) -> str:
    rules = config.ruleset
    if rules.seats <= _ALWAYS_ENOUGH:
        return f"With {_WORDS[rules.seats]} seats the deck always has a last card for every player."
    reserve = rules.river_burn_reserve
    enough = "a card for every player" + (f" and {_WORDS[reserve]} more" if reserve else "")
    spare = " (the burn is left out if it takes the last one needed)" if rules.burns and not reserve else ""
    turned = "the burned cards are shuffled and one of them" if rules.burns else "the next card of the deck"
    shared = f"{turned} is turned up as a card that everybody shares"
    if rules.river_shortage is RiverShortage.RECYCLE_THEN_COMMUNITY and (rules.burns or reserve):
        pool = "the burned cards and the rest of the deck are" if rules.burns else "the rest of the deck is"
        shared = f"{pool} shuffled and dealt, without a burn; if even that is too little, {shared}"
    counts = "counts" if rules.community_counts_for_first else "does not count"
    return (
        f"With seven or eight players the deck may run out. If it does not hold {enough} before the river{spare}, "
        f"{shared}. A shared card {counts} when the highest cards showing are looked for."
    )


# --- betting -----------------------------------------------------------------


def _bets(config: TableConfig) -> str:
    small, big = _money(config.small_bet), _money(config.big_bet)
    return (
        "From fourth street on the highest cards showing act first, or the next player clockwise if that one is "
        f"all-in; of equal ones, the closest to {_left(config)}. Pairs, two pair, three and four of a kind count, "
        "straights and flushes of up to four cards do not. If nobody has bet you check or bet; facing a bet you fold, "
        "call or raise. You may check and raise later. Bets and raises are exactly "
        f"{small} on third and fourth street and exactly {big} on fifth, sixth and seventh."
    )


def _open_pair(config: TableConfig) -> str:
    low, high = config.small_bet, config.big_bet
    small, big = _money(low), _money(high)
    after = (
        f"After one bet or raise by {big} all the others are by {big} as well: after a bet of {small} and a raise to "
        f"{_money(low + high)} the next raise is to {_money(low + 2 * high)}. A pair that shows up later changes "
        "nothing."
    )
    return {
        OpenPair.ANY: f"If a player's two cards showing on fourth street are a pair, every player may bet or raise by "
        f"{small} or by {big} in that round. {after}",
        OpenPair.HOLDER_ONLY: "If a player's two cards showing on fourth street are a pair, that player alone may bet "
        f"or raise by {small} or by {big} in that round. {after}",
        OpenPair.OFF: f"A pair showing on fourth street changes nothing: bets and raises stay at {small}.",
    }[config.ruleset.open_pair]


def _cap(config: TableConfig) -> str:
    rules = config.ruleset
    raises = "one raise" if rules.max_raises == 1 else f"{_WORDS[rules.max_raises]} raises"
    bets = [_money(number * config.big_bet) for number in range(1, rules.max_raises + 2)]
    totals = ", ".join(bets[:-1]) + f" and {bets[-1]}"
    if rules.completion_counts_as_raise:
        bring_in = "On third street the bring-in is the bet, and completing it is the first raise."
    else:
        bring_in = "On third street the bring-in does not count; completing it is the bet, not a raise."
    return (
        f"A betting round has one bet and {raises}, after which you can only call or fold: on fifth street {totals}. "
        f"{bring_in}"
    )


def _heads_up(config: TableConfig) -> str:
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


def _all_in(config: TableConfig) -> str:
    big = config.big_bet
    bet, half, full = _money(big), _money(big + (big + 1) // 2), _money(2 * big)
    others = "those who have acted may only call or fold, and the others may make it the full amount"
    short = {
        ShortAllIn.HALF_BET: "If it is at least half of what a full one would add, it counts as full and everybody may "
        f"raise again; with less {others}. Example: on a bet of {bet} an all-in for {half} or more is a raise.",
        ShortAllIn.FULL_BET: f"It counts only if it is a full one; with less {others}. Example: on a bet of {bet} only "
        f"an all-in for {full} is a raise.",
        ShortAllIn.ANY: "Whatever it is, it counts as full and everybody may raise again.",
    }
    return (
        "You play with the chips in front of you and nothing else. If they do not cover a call, you call with all of "
        "them. If they do not cover a bet or raise, you may put them all in. "
        f"{short[config.ruleset.short_all_in]} From each opponent you can win as much as you put in yourself: the "
        "rest goes into side pots, and what nobody matches comes back. When fewer than two players can still bet, "
        "the remaining cards are dealt without betting, and the hands stay hidden until the showdown."
    )


# --- the end of a hand -------------------------------------------------------


def _showdown(config: TableConfig) -> str:
    rules = config.ruleset
    asked = f"you are asked whether to show, and answer{_within(rules.show_clock_ms)}"
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


def _odd_chips(config: TableConfig) -> str:
    unit = _money(1)
    odd = {
        OddUnits.ONE_EACH_FROM_LEFT: f"What cannot be split goes out in pieces of {unit}, one to each winner in turn "
        f"from {_left(config)}.",
        OddUnits.ALL_TO_FIRST_LEFT: f"What cannot be split goes to the first winner from {_left(config)}.",
        OddUnits.HIGH_CARD_BY_SUIT: "What cannot be split goes to the winner who holds the highest single card, by "
        "rank and then by suit.",
    }
    return f"Equal hands share a pot equally. {odd[config.ruleset.odd_units]} Side pots go first, each by itself."


def _rake(config: TableConfig) -> str:
    rules = config.ruleset
    if not rules.rake_bps or rules.rake_cap == 0:
        return "The house takes nothing from the pots."
    cap = "" if rules.rake_cap is None else f" and at most {_money(rules.rake_cap)}"
    free = " A hand that ends on third street is free." if rules.no_rake_before_fourth else ""
    return (
        f"Once a hand the house takes {rules.rake_bps / 100:g} % of what was put in and called, rounded down{cap}; "
        f"never from a bet that comes back.{free}"
    )


# --- time and presence -------------------------------------------------------


def _clock(config: TableConfig) -> str:
    rules = config.ruleset
    limit = f"You have {_seconds(rules.action_clock_ms)} to act"
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


def _ahead(config: TableConfig) -> str:
    rules = config.ruleset
    if not rules.pre_actions:
        return "You choose what to do when it is your turn, not before."
    fold = "folds even if checking is free" if rules.pre_fold_is_literal else "checks if that is free"
    return (
        "Before your turn you may already choose Fold, Call, Bet or Raise; nobody else can tell. It is done when your "
        "turn comes, unless the price has changed or the street has ended: then it is dropped and you are asked. A "
        f"fold chosen ahead {fold}."
    )


_AFTER_A_BREAK: Final = {"The table", "The deal", "Streets and bets", "Short of cards", "Clock and away"}
_SECTIONS: Final[tuple[tuple[str, Callable[[TableConfig], str]], ...]] = (
    ("The table", _table),
    ("Buying in", _buying_in),
    ("Antes", _antes),
    ("The deal", _deal),
    ("The low card", _low_card),
    ("Streets and bets", _bets),
    ("The open pair", _open_pair),
    ("The cap", _cap),
    ("Heads up", _heads_up),
    ("All-in", _all_in),
    ("Short of cards", _river),
    ("Showdown", _showdown),
    ("Odd chips", _odd_chips),
    ("Rake", _rake),
    ("Clock and away", _clock),
    ("Acting ahead", _ahead),
)
