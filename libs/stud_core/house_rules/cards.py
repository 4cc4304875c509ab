"""The house rules from sitting down to the first bet, and where the deck runs short."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement

from stud_core.events import DealMode
from stud_core.house_rules.saying import WORDS, limit, money, seconds, span, within
from stud_core.river import RiverPlan, river_plan
from stud_core.ruleset import OFFER_MS, BringInKind, DealOrigin, HeadsUp, Ruleset, TableConfig, TopUp


def table(config: TableConfig) -> str:
    small, big = money(config.small_bet), money(config.big_bet)
    seats = config.ruleset.seats
    players = "Two players" if seats == 2 else f"Two to {WORDS[seats]} players"
    pause = f" {seconds(config.hand_pause_ms)} after the last one" if config.hand_pause_ms else " at once"
    return (
        f"{players}, one seat each. All amounts are in {config.currency}. The lower limit, {small}, holds in the first "
        f"two betting rounds and the higher, {big}, in the last three. You get seven cards of your own, and your best "
        "five count. While two players are ready, the next hand begins"
        f"{pause}."
    )


def buying_in(config: TableConfig) -> str:
    rules = config.ruleset
    least = f"You sit down with at least {limit(rules.min_buy_in, config)}"
    if rules.max_buy_in is None:
        limits, top = "; there is no maximum", ""
    else:
        limits, top = f" and at most {limit(rules.max_buy_in, config)}", " up to the maximum"
    stack = "it then lies within the limits" if top else "it then reaches the minimum"
    more = {
        TopUp.WITHIN_LIMITS: f"they join your stack between two hands if {stack}.",
        TopUp.ANY_AMOUNT: f"any amount{top} joins your stack between two hands.",
    }
    never = " What never fits is paid out when you leave."
    if rules.top_up is TopUp.ANY_AMOUNT and not top:
        never = ""
    back = ""
    if rules.rathole_ms:
        but = " (or the maximum, if that is less)" if top else ""
        back = f" If you leave and come back within {span(rules.rathole_ms)}, you bring what you left with{but}."
    wait = _waiting(rules)
    return f"{least}{limits}.{back}{wait} You may ask for more chips, in a hand too; {more[rules.top_up]}{never}"


def _waiting(rules: Ruleset) -> str:
    if rules.waiting_list is None:
        return ""
    places = "one place" if rules.waiting_list == 1 else f"{rules.waiting_list} places"
    return (
        f" When no seat is free you may join the waiting list of {places}: whoever waits longest is offered the "
        f"next free seat, which is kept for them for {span(rules.offer_ms or OFFER_MS)}; whoever lets it pass is off "
        "the list."
    )


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
    how += " Switching it on while you are asked posts."
    declined = "If you decline or do not answer" if rules.ante_clock_ms else "If you decline"
    return (
        f"{ante} {how} {declined}, you get no cards and sit out; you owe nothing when you come back. If fewer "
        "than two players post, the antes go back and nobody is dealt in."
    )


def deal(config: TableConfig) -> str:
    origin = {
        DealOrigin.FIXED: "The dealer belongs to the house and never moves. Cards go round clockwise from the player "
        "closest to the dealer's left, the lowest seat.",
        DealOrigin.BUTTON: "A dealer button, first at the highest seat that posts, moves on to the next player on the "
        "left after every hand that had cards. Cards go round clockwise from the player at the button's left.",
    }
    burns = "No cards are burned."
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
    return (
        "The lowest card showing starts third street. An ace is the highest here; of equal cards it is the lowest "
        f"suit: clubs, then diamonds, hearts, spades. That player must bring it in for {post}{half}, or open for "
        f"{small}; checking and folding are not allowed. The others may fold, call the {post} or complete it to "
        f"{small}{_raises(config)}. If everybody just calls the {post}, the round is over. With less than {post} the "
        f"low card posts what it has and the others still pay {post}; with no chips at all the next player clockwise "
        "may bring it in, open or fold."
    )


def _raises(config: TableConfig) -> str:
    """What comes on top of the completion: as far as the cap lets it, where there always is one."""
    rules = config.ruleset
    most = rules.max_raises - rules.completion_counts_as_raise
    first, second = money(2 * config.small_bet), money(3 * config.small_bet)
    if most > 2 or rules.heads_up is not HeadsUp.NEVER:
        return f"; after that raises are to {first}, {second} and so on"
    return ("", f"; after that one raise is to {first}", f"; after that raises are to {first} and {second}")[most]


def river(config: TableConfig) -> str:
    rules = config.ruleset
    plans = list(_rivers(rules))
    spare = ""
    if any(rules.burns and not plan.burn for _, plan in plans if plan.mode is DealMode.NORMAL):
        spare = " (the burn is left out if it takes the last one needed)"
    short = min([dealt for dealt, plan in plans if plan.mode is not DealMode.NORMAL], default=0)
    if not short:
        return f"With {WORDS[rules.seats]} seats the deck always has a last card for every player{spare}."
    players = " or ".join(WORDS[short : rules.seats + 1])
    reserve = rules.river_burn_reserve
    enough = "a card for every player still in" + (f" and {WORDS[reserve]} more" if reserve else "")
    return (
        f"With {players} players dealt in the deck may run out. If it does not hold {enough} before the river{spare}, "
        f"{_instead(rules, plans)}"
    )


def _instead(rules: Ruleset, plans: list[tuple[int, RiverPlan]]) -> str:
    """What is done where the deck does not suffice; only what can happen at this table."""
    pool = "the burned cards and the rest of the deck are" if rules.burns else "the rest of the deck is"
    again = f"{pool} shuffled and dealt, without a burn"
    turned = "the burned cards are shuffled and one of them" if rules.burns else "the next card of the deck"
    counts = "counts" if rules.community_counts_for_first else "does not count"
    shared = (
        f"{turned} is turned up instead, as a card that everybody shares. It {counts} when the highest cards showing "
        "are looked for."
    )
    modes = {plan.mode for _, plan in plans}
    if DealMode.RECYCLE not in modes:
        return shared
    if DealMode.COMMUNITY not in modes:
        return f"{again}."
    fewest = min(dealt for dealt, plan in plans if plan.mode is DealMode.COMMUNITY)
    return f"{again}; if even that is too little (with {WORDS[fewest]} dealt in), {shared}"


def _rivers(rules: Ruleset) -> Iterator[tuple[int, RiverPlan]]:
    """Every way to come to the river at a table with so many seats: the players dealt in, and the plan (B.12)."""
    for counts in combinations_with_replacement(range(rules.seats, 1, -1), 5):
        yield counts[0], river_plan(rules, counts)
