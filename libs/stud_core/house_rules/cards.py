"""The house rules from sitting down to the first bet, and where the deck runs short."""

from __future__ import annotations

from typing import Final

from stud_core.house_rules.saying import WORDS, limit, money, seconds, within
from stud_core.ruleset import BringInKind, DealOrigin, OddUnits, RiverShortage, TableConfig, TopUp

_ALWAYS_ENOUGH: Final = 6  # players whom the deck serves to the last card, whatever is burned (B.12)


def table(config: TableConfig) -> str:
    small, big = money(config.small_bet), money(config.big_bet)
    seats = config.ruleset.seats
    players = "Two players" if seats == 2 else f"Two to {WORDS[seats]} players"
    pause = f" {seconds(config.hand_pause_ms)} after the last one" if config.hand_pause_ms else " at once"
    return (
        f"{players}, one seat each. All amounts are in {config.currency}. Every bet and raise is fixed: {small}, the "
        f"lower limit, in the first two betting rounds and {big}, the higher limit, in the last three. You get seven "
        "cards of your own, and your best five count. While two players are ready, the next hand begins"
        f"{pause}."
    )


def buying_in(config: TableConfig) -> str:
    rules = config.ruleset
    least = f"You sit down with at least {limit(rules.min_buy_in, config)}"
    if rules.max_buy_in is None:
        limits, top = "; there is no maximum", ""
    else:
        limits, top = f" and at most {limit(rules.max_buy_in, config)}", " up to the maximum"
    stack = "your stack must then lie within the limits" if top else "your stack must then reach the minimum"
    more = {
        TopUp.WITHIN_LIMITS: f"they join your stack between two hands, and {stack}.",
        TopUp.ANY_AMOUNT: f"any amount{top} joins your stack between two hands.",
    }
    return f"{least}{limits}. You may ask for more chips at any time; {more[rules.top_up]}"


def antes(config: TableConfig) -> str:
    rules = config.ruleset
    ante = f"Before the deal every player puts an ante of {money(config.ante)} into the pot, or what is left if less."
    if not config.ante:
        ante = "The ante is 0 at this table: it only says that you play."
    asked = f"you are asked every hand and answer{within(rules.ante_clock_ms)}"
    if rules.auto_post_default:
        how = f"It is posted for you; if you switch Auto Post Ante off, {asked}."
    else:
        how = f"If Auto Post Ante is off, as it is when you sit down, {asked}."
    return (
        f"{ante} {how} Without an answer you get no cards and sit out; you owe nothing when you come back. If fewer "
        "than two players post, the antes go back and nobody is dealt in."
    )


def deal(config: TableConfig) -> str:
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


def low_card(config: TableConfig) -> str:
    small, post = money(config.small_bet), money(config.bring_in)
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
        f"to {small}; after that raises are to {money(2 * config.small_bet)}, {money(3 * config.small_bet)} and so "
        f"on. If everybody just calls the {post}, the round is over. With less than {post} the low card posts what it "
        f"has and the others still pay {post}; with no chips at all the next player clockwise may bring it in, open "
        "or fold."
    )


def river(config: TableConfig) -> str:
    rules = config.ruleset
    if rules.seats <= _ALWAYS_ENOUGH:
        return f"With {WORDS[rules.seats]} seats the deck always has a last card for every player."
    reserve = rules.river_burn_reserve
    enough = "a card for every player" + (f" and {WORDS[reserve]} more" if reserve else "")
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
