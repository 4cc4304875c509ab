"""The page of house rules says what is played: another knob or table parameter, another page."""

from __future__ import annotations

import re
from enum import IntEnum
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from stud_core import bet_ahead
from stud_core import events as ev
from stud_core.house_rules import WIDTH, headline, house_rules, page
from stud_core.presets import PLAYNOW, STAKES, WILLIAM_HILL, Stakes, table_config
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
    TableConfig,
    TopUp,
)
from tests.support.core_table import FREE, account, knobs
from tests.support.table_driver import deal
from tests.unit.core.house import House
from tests.vectors.positions import both, fourth_street

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests/golden/rules"
RAKED = knobs(PLAYNOW, rake_bps=500)
BANKED = knobs(PLAYNOW, time_bank_ms=30_000)
WAITING = knobs(PLAYNOW, waiting_list=10)

CLOCKS = (0, 1_000, 10_000, 12_500, 600_000)

# Values of the knobs that are no enum or bool: every number where there are few, both ends and some between otherwise.
VALUES: dict[str, tuple[Any, ...]] = {
    "name": ("playnow", "william_hill", "friday_night"),
    "version": (1, 2, 2**31 - 1),
    "max_raises": tuple(range(1, 11)),
    "river_burn_reserve": (0, 1, 2),
    "action_clock_ms": CLOCKS,
    "ante_clock_ms": CLOCKS,
    "show_clock_ms": CLOCKS,
    "min_buy_in": (
        BuyInLimit(small_bets=10),
        BuyInLimit(small_bets=20),
        BuyInLimit(amount=5_000),
        BuyInLimit(amount=1),
    ),
    "max_buy_in": (None, BuyInLimit(small_bets=40), BuyInLimit(small_bets=99), BuyInLimit(amount=20_001)),
    "rake_bps": (0, 1, 250, 1_000),
    "rake_cap": (None, 0, 1, 300),
    "seats": tuple(range(2, 9)),
    "rathole_ms": (0, 1_000, 90_000, 3_600_000, 86_400_000),
    "sit_out_max_ms": (None, 1_000, 60_000, 600_000, 3_600_000),
    "sit_out_max_hands": (None, 1, 2, 20),
    "time_bank_ms": (0, 1_000, 30_000, 600_000),
    "time_bank_chips": (None, 2, 5, 20),
    "time_bank_refill_hands": (None, 1, 2, 50),
    "reconnect_ms": (None, 1_000, 20_000, 120_000),
    "waiting_list": (None, 1, 2, 100),
    "offer_ms": (None, 5_000, 60_000, 600_000),
}

# Where a knob shows only together with another one.
BASES: dict[str, Ruleset] = {
    "pre_fold_is_literal": WILLIAM_HILL,
    "pre_check_call_any": WILLIAM_HILL,
    "rake_cap": RAKED,
    "no_rake_before_fourth": RAKED,
    "time_bank_chips": BANKED,
    "time_bank_refill_hands": BANKED,
    "offer_ms": WAITING,
}

PARAMETERS: dict[str, tuple[Any, ...]] = {
    "currency": ("EUR", "CAD", "XTS"),
    "small_bet": (400, 500, 501),
    "big_bet": (500, 1_000, 1_001),
    "ante": (0, 50, 51),
    "bring_in": (1, 200, 499),
    "hand_pause_ms": (0, 3_000, 5_000),
}
NO_RULES = {
    "table_id": "names the table",
    "name": "names the table",
    "ruleset": "is the knobs",
    "stacked": "only rehearsals have it, in XTS",
}


def values(knob: str) -> tuple[Any, ...]:
    kind = get_type_hints(Ruleset)[knob]
    if kind is bool:
        return (False, True)
    if isinstance(kind, type) and issubclass(kind, IntEnum):
        return tuple(kind)
    return VALUES[knob]


SPOKEN = list(Ruleset.__struct_fields__)


def text(rules: Ruleset, **parameters: Any) -> str:
    """The page with its lines joined, so that a sentence is found wherever it is broken."""
    return " ".join(page(table_config(rules, **parameters)).split())


@pytest.mark.parametrize("knob", SPOKEN)
def test_every_value_of_a_knob_makes_another_page(knob: str):
    base = BASES.get(knob, PLAYNOW)
    pages = {text(knobs(base, **{knob: value})) for value in values(knob)}
    assert len(pages) == len(values(knob)) > 1


@pytest.mark.parametrize("parameter", PARAMETERS)
@both
def test_every_table_parameter_makes_another_page(rules: Ruleset, parameter: str):
    chosen = PARAMETERS[parameter]
    pages = {text(rules, **{parameter: value}) for value in chosen}
    assert len(pages) == len(chosen)
    assert set(PARAMETERS) | set(NO_RULES) == set(TableConfig.__struct_fields__)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"deal_origin": DealOrigin.FIXED}, "closest to the dealer's left, the lowest seat"),
        ({"deal_origin": DealOrigin.BUTTON}, "of equal ones, the closest to the button's left"),
        ({"burns": True}, "seventh street one card is burned"),
        ({"burns": False}, "No cards are burned"),
        ({"bring_in": BringInKind.HALF_SMALL_BET}, "for 2.50, half the lower limit, or open for 5"),
        ({"completion_counts_as_raise": True}, "completing it is the first raise"),
        ({"completion_counts_as_raise": False}, "completing it is the bet, not a raise"),
        ({"max_raises": 1}, "one bet and one raise, after which you can only call or fold: on fifth street 10 and 20."),
        (
            {"max_raises": 4},
            "one bet and four raises, after which you can only call or fold: on fifth street 10, 20, 30,",
        ),
        ({"heads_up": HeadsUp.NEVER}, "The cap holds for two players"),
        ({"heads_up": HeadsUp.TWO_REMAIN_BEFORE_CAP}, "unless the cap of the round was reached before"),
        ({"heads_up": HeadsUp.ROUND_START}, "left when a betting round begins, raises are unlimited"),
        ({"heads_up": HeadsUp.HAND_START}, "If a hand is dealt to two players, raises are unlimited"),
        ({"heads_up": HeadsUp.NEVER}, "complete it to 5; after that raises are to 10, 15 and so on."),
        ({"heads_up": HeadsUp.NEVER, "max_raises": 2}, "complete it to 5; after that raises are to 10 and 15."),
        ({"heads_up": HeadsUp.NEVER, "max_raises": 1}, "complete it to 5; after that one raise is to 10."),
        (
            {"heads_up": HeadsUp.NEVER, "max_raises": 1, "completion_counts_as_raise": True},
            "complete it to 5. If everybody just calls",
        ),
        ({"heads_up": HeadsUp.NEVER, "max_raises": 1}, "by 10 as well: after a bet of 10 the raise is to 20."),
        ({"heads_up_counts_all_in": True}, "all-in is counted as left"),
        ({"heads_up_counts_all_in": False}, "all-in is not counted as left"),
        ({"open_pair": OpenPair.ANY}, "every player may bet or raise by 5 or by 10"),
        ({"open_pair": OpenPair.HOLDER_ONLY}, "that player alone may bet or raise by 5 or by 10"),
        ({"open_pair": OpenPair.OFF}, "bets and raises stay at 5"),
        ({"short_all_in": ShortAllIn.HALF_BET}, "On a bet of 10 an all-in for 15 or more is a raise"),
        ({"short_all_in": ShortAllIn.FULL_BET}, "On a bet of 10 only an all-in for 20 is a raise"),
        (
            {"short_all_in": ShortAllIn.ANY},
            "whatever it is, it counts as full and everybody may raise again. From each",
        ),
        (
            {"short_all_in": ShortAllIn.HALF_BET},
            "Several such all-ins add up: each is measured from the last full bet or",
        ),
        (
            {"short_all_in": ShortAllIn.FULL_BET},
            "is a raise. Several such all-ins add up: each is measured from the last",
        ),
        ({"river_shortage": RiverShortage.COMMUNITY}, "the burned cards are shuffled and one of them is turned up"),
        ({"river_shortage": RiverShortage.RECYCLE_THEN_COMMUNITY}, "the rest of the deck are shuffled and dealt"),
        ({"river_shortage": RiverShortage.COMMUNITY, "burns": False}, "the next card of the deck is turned up"),
        ({"river_burn_reserve": 0}, "the burn is left out if it takes the last one needed"),
        ({"river_burn_reserve": 2}, "a card for every player still in and two more"),
        ({"community_counts_for_first": True}, "It counts when the highest"),
        ({"community_counts_for_first": False}, "It does not count when the highest"),
        ({"odd_units": OddUnits.ONE_EACH_FROM_LEFT}, "pieces of 0.01, one to each winner"),
        ({"odd_units": OddUnits.ALL_TO_FIRST_LEFT}, "goes to the first winner from the dealer's left"),
        ({"odd_units": OddUnits.HIGH_CARD_BY_SUIT}, "the highest single card, by rank and then by suit"),
        (
            {"odd_units": OddUnits.HIGH_CARD_BY_SUIT},
            "Suits never decide who wins, only which of equal low cards starts and",
        ),
        ({"odd_units": OddUnits.ONE_EACH_FROM_LEFT}, "Suits never decide a pot, only which of equal low cards starts."),
        ({"action_clock_ms": 0}, "no time limit to act"),
        ({"action_clock_ms": 12_500}, "You have 12.5 seconds to act"),
        ({"ante_clock_ms": 1_000}, "you are asked every hand and answer within 1 second."),
        ({"show_clock_ms": 0}, "asked whether to show, and answer, with no time limit."),
        ({"show_clock_ms": 0}, "If nobody calls you, you win and are asked too. Odd chips"),
        ({"show_clock_ms": 5_000}, "you win and are asked too. Without an answer in time your cards stay hidden."),
        ({"pre_actions": True}, "Before your turn you may already choose Fold, Call, Bet or Raise"),
        ({"pre_actions": True}, "connected or not; it checks if that is free."),
        ({"pre_actions": True, "pre_fold_is_literal": True}, "connected or not; it folds even if checking is free."),
        (
            {"pre_actions": True, "pre_check_call_any": True},
            "already choose Fold, Check, Call, Call Any, Bet or Raise;",
        ),
        (
            {"pre_actions": True, "pre_check_call_any": True},
            "Check, Call, Bet and Raise are dropped, and you are asked",
        ),
        (
            {"pre_actions": True, "pre_check_call_any": True},
            "calls whatever there is to call, and checks if that is free; it stands at any price, but not without a",
        ),
        ({"pre_actions": True}, "impossible or you lose the connection. A fold chosen ahead"),
        ({"away_folds_now": True}, "the hand you are in is folded at your next turn (a bring-in is posted)"),
        ({"away_folds_now": False}, "you first finish the hand you are in"),
        ({"auto_post_default": True}, "It is posted for you; if you switch Auto Post Ante off"),
        ({"auto_post_default": False}, "If Auto Post Ante is off, as it is when you sit down"),
        ({"muck_losing_default": True}, "Any other losing hand stays hidden; if you switch"),
        ({"muck_losing_default": False}, "With any other losing hand you are asked whether to show"),
        ({"min_buy_in": BuyInLimit(amount=4_000)}, "at least 40 and at most 200 (40 times the lower limit)."),
        ({"max_buy_in": None}, "there is no maximum"),
        ({"top_up": TopUp.ANY_AMOUNT}, "any amount up to the maximum joins your stack"),
        ({"top_up": TopUp.WITHIN_LIMITS, "max_buy_in": None}, "if it then reaches the minimum"),
        ({"rake_bps": 0}, "The house takes nothing"),
        ({"rake_bps": 250, "rake_cap": 300}, "takes 2.5 % of what was put in and called, rounded down and at most 3;"),
        ({"rake_bps": 250}, "It comes out of the main pot first, which it may use up, then out of the side pots."),
        ({"rake_bps": 250, "rake_cap": 0}, "The house takes nothing"),
        ({"rake_bps": 250}, "A hand that ends on third street is free."),
        (
            {"rathole_ms": 3_600_000},
            "back within 1 hour, you bring what you left with (or the maximum, if that is less).",
        ),
        ({"rathole_ms": 90_000, "max_buy_in": None}, "come back within 90 seconds, you bring what you left with. You"),
        ({"sit_out_max_ms": 600_000}, "until you come back. If you sit out for 10 minutes, your seat is given up and"),
        (
            {"sit_out_max_hands": 1},
            "If you sit out while one hand is dealt, your seat is given up and you are paid out.",
        ),
        ({"sit_out_max_ms": 60_000, "sit_out_max_hands": 20}, "sit out for 1 minute or while 20 hands are dealt, your"),
        (
            {"time_bank_ms": 30_000},
            "You sit down with one time chip: each adds 30 seconds to a turn before its time is over.",
        ),
        ({"time_bank_ms": 30_000}, "A used one does not come back. When they are over you check if that is free"),
        (
            {"time_bank_ms": 30_000, "time_bank_chips": 4, "time_bank_refill_hands": 1},
            "For every hand that you are dealt",
        ),
        (
            {"time_bank_ms": 30_000, "time_bank_chips": 4, "time_bank_refill_hands": 9},
            "with 4 time chips: each adds 30",
        ),
        ({"time_bank_ms": 30_000, "time_bank_refill_hands": 9}, "For every 9 hands that you are dealt into one of the"),
        (
            {"reconnect_ms": 20_000},
            "If the connection is lost when they are over you have 20 seconds more, once in a hand.",
        ),
        ({"show_connection": True}, "hand on. Everybody sees whose connection is lost. If you press Sit Out"),
        ({"waiting_list": 10}, "no seat is free you may join the waiting list of 10 places: whoever waits longest is"),
        (
            {"waiting_list": 10},
            "which is kept for them for 30 seconds; whoever lets it pass is off the list. You may ask",
        ),
        (
            {"waiting_list": 1, "offer_ms": 60_000},
            "the waiting list of one place: whoever waits longest is offered the",
        ),
        ({"waiting_list": 1, "offer_ms": 60_000}, "kept for them for 1 minute; whoever"),
        ({"seats": 2}, "Two players, one seat each."),
        ({"seats": 6}, "With six seats the deck always has a last card for every player."),
        ({"seats": 7, "river_burn_reserve": 0}, "(the burn is left out if it takes the last one needed)."),
    ],
)
def test_the_words_are_those_of_the_value(changes: dict[str, object], words: str):
    rules = knobs(PLAYNOW, **changes)
    assert words in text(rules)


@pytest.mark.knob("pre_fold_is_literal", True, False)
@pytest.mark.parametrize(("literal", "told"), [(True, "folds even if checking is free"), (False, "checks if that is")])
def test_a_fold_chosen_ahead_is_told_where_it_can_be_chosen(literal: bool, told: str):
    assert f"A fold chosen ahead stands at any price, connected or not; it {told}" in text(
        knobs(WILLIAM_HILL, pre_fold_is_literal=literal)
    )
    assert "chosen ahead" not in text(knobs(PLAYNOW, pre_fold_is_literal=literal))


def test_what_is_off_is_not_mentioned():
    assert "is free." not in text(knobs(RAKED, no_rake_before_fourth=False)).partition("Rake")[2]
    assert "button" not in text(PLAYNOW)
    assert "half the lower limit" not in text(PLAYNOW)
    assert "posts, or" not in text(PLAYNOW, ante=0)
    assert "rounded up" in text(WILLIAM_HILL, small_bet=25)
    assert "rounded up" not in text(WILLIAM_HILL)


@both
def test_the_page_is_the_one_that_was_read_and_agreed(rules: Ruleset):
    assert page(table_config(rules)) == (GOLDEN / f"{rules.name}.txt").read_text()


@both
@pytest.mark.parametrize("stakes", STAKES.values(), ids=lambda stakes: str(stakes.small_bet))
def test_one_page_for_people(rules: Ruleset, stakes: Stakes):
    lines = page(table_config(rules, stakes)).splitlines()
    assert len(lines) <= 95
    assert max(len(line) for line in lines) <= WIDTH == 100
    knob_names = [name for name in Ruleset.__struct_fields__ if "_" in name]
    told = text(rules)
    assert not [name for name in knob_names if name in told]
    assert "None" not in told


@both
def test_examples_are_in_the_tables_own_stakes(rules: Ruleset):
    """7/16, ante 0.30: whatever number the page names is made of these."""
    told = text(knobs(rules, name="x"), small_bet=700, big_bet=1_600, ante=30)
    bring_in = "3.50"
    stakes = {"7", "16", "7/16", "0.30", bring_in, "14", "21"}
    fourth, fifth, all_in = {"23", "39"}, {"32", "48", "64"}, {"24", "5.25"}
    limits = {"70", "280", "10", "40"}
    others = {"3", "0.01", "1"}  # seconds, the smallest coin, the version
    numbers = set(re.findall(r"\d[\d.,/]*\d|\d", told.replace("A-2-3-4-5", "")))
    assert numbers <= stakes | fourth | fifth | all_in | limits | others
    assert stakes | fourth | fifth | all_in <= numbers


def test_sections_stand_in_the_order_of_play():
    titles = [section.title for section in house_rules(table_config(PLAYNOW))]
    assert titles == [
        "The table", "Buying in", "Antes", "The deal", "The low card", "The betting", "The open pair", "The cap",
        "Heads up", "All-in", "Short of cards", "Hands", "Showdown", "Odd chips", "Rake", "Clock and away",
        "Acting ahead", "Void, disputed",
    ]  # fmt: skip
    assert "version 1" in headline(table_config(PLAYNOW))


# --- numbers in the text, held against the engine -----------------------------

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")
SHORT = [
    PLAYNOW,
    WILLIAM_HILL,
    knobs(PLAYNOW, seats=7),
    knobs(WILLIAM_HILL, seats=7),
    knobs(PLAYNOW, seats=6),
    knobs(PLAYNOW, burns=False),
    knobs(PLAYNOW, river_burn_reserve=0),
    knobs(PLAYNOW, river_burn_reserve=2, seats=7),
    knobs(PLAYNOW, river_shortage=RiverShortage.COMMUNITY),
    knobs(WILLIAM_HILL, burns=True),
    knobs(WILLIAM_HILL, river_burn_reserve=1, river_shortage=RiverShortage.RECYCLE_THEN_COMMUNITY),
]


def section(config: TableConfig, title: str) -> str:
    return dict(house_rules(config))[title]


def river_mode(rules: Ruleset, players: int, live: int) -> ev.DealMode:
    """How the river came to ``live`` players after the others had folded on sixth street."""
    table = deal(rules, players)
    table.passively_to(6)
    for _ in range(players - live):
        table.play(f"{table.turn} fold")
    table.passively_to(7)
    return table.events(ev.DealRequested)[-1].mode


@pytest.mark.parametrize("rules", SHORT)
def test_the_deck_runs_out_with_as_many_players_as_the_page_says(rules: Ruleset):
    """That nobody folds takes the most cards (B.12); where some do before the river the deck may serve once more."""
    told = section(table_config(rules), "Short of cards")
    modes = {(n, live): river_mode(rules, n, live) for n in range(6, rules.seats + 1) for live in (4, n)}
    short = sorted({players for (players, _), mode in modes.items() if mode is not ev.DealMode.NORMAL})
    if short:
        assert told.startswith(f"With {' or '.join(NUMBERS[n] for n in short)} players dealt in the deck may run out.")
    else:
        assert told.startswith(f"With {NUMBERS[rules.seats]} seats the deck always has a last card")
    assert ("everybody shares" in told) is (ev.DealMode.COMMUNITY in modes.values())
    assert ("shuffled and dealt" in told) is (ev.DealMode.RECYCLE in modes.values())
    assert not [number for number in NUMBERS[rules.seats + 1 :] if number in told]


@pytest.mark.parametrize("stakes", [STAKES[5], STAKES[25], STAKES[300], STAKES[500], Stakes(501, 1_001, 3, 499)])
@both
def test_the_least_all_in_that_counts_is_the_one_the_page_says(rules: Ruleset, stakes: Stakes):
    told = section(table_config(rules, stakes), "All-in")
    found = re.search(r"all-in for ([\d.]+) or more is a raise.*bring-in: ([\d.]+) is the least that counts", told)
    assert found is not None
    raised, completed = (round(100 * float(amount)) for amount in found.groups())
    for less in (0, 1):
        if completed - less > table_config(rules, stakes).bring_in:
            assert wagers(rules, stakes, 3, completed - less) == (1 - less)
        assert wagers(rules, stakes, 5, raised - less) == (2 - less)


def wagers(rules: Ruleset, stakes: Stakes, street: int, total: int) -> int:
    """Full wagers of a round after an all-in to ``total``: a completion, or a raise of a bet on fifth street."""
    config = table_config(rules, stakes)
    paid = stakes.ante + (config.bring_in if street > 3 else 0)
    up = {1: "Ac Kd Jh", 2: "Qc Td 8h", 3: "2c 7d 5h"}
    limits: dict[str, Any] = {field: getattr(config, field) for field in ("small_bet", "big_bet", "ante", "bring_in")}
    house = House(knobs(rules, **FREE, auto_post_default=True), {1: 9_999, 2: paid + total, 3: 9_999}, up=up, **limits)
    house.start()
    if street == 3:
        house.play(f"3 bring_in, 1 call, 2 complete {total}")
    else:
        house.passive(street)
        house.play(f"1 bet, 2 raise {total}")
    return house.hand.wagers


@both
@pytest.mark.parametrize("open_pair", OpenPair)
def test_where_both_limits_are_one_there_is_nothing_to_choose(rules: Ruleset, open_pair: OpenPair):
    told = text(knobs(rules, open_pair=open_pair), small_bet=3, big_bet=3, ante=1, bring_in=2)
    assert "A pair showing on fourth street changes nothing: bets and raises stay at 0.03." in told
    assert "or by" not in told
    assert "open pair apart" not in told


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, True),
        ({"max_buy_in": None}, True),
        ({"top_up": TopUp.ANY_AMOUNT}, True),
        ({"top_up": TopUp.ANY_AMOUNT, "max_buy_in": None}, False),
    ],
)
def test_chips_that_never_fit_are_told_where_that_can_be(changes: dict[str, object], told: bool):
    """Always, but where any amount fits and there is no maximum."""
    assert ("What never fits is paid out when you leave." in text(knobs(PLAYNOW, **changes))) is told


@pytest.mark.parametrize("verb", [ev.Verb.FOLD, ev.Verb.CALL, ev.Verb.RAISE])
def test_what_becomes_of_a_choice_ahead_is_what_the_page_says(verb: ev.Verb):
    told = section(table_config(WILLIAM_HILL), "Acting ahead")
    table = fourth_street(WILLIAM_HILL, up={1: "Ac Kd", 2: "Qc Td", 3: "2c 7d"})
    table.play("1 bet 500")
    chosen = bet_ahead.choose(table.state, account(3), verb)
    assert isinstance(chosen, bet_ahead.PreAction)
    table.play("2 raise 1000")
    stands = f"A {verb.name.lower()} chosen ahead stands at any price, connected or not" in told
    dropped = re.search(r"Call, Bet and Raise are dropped.* if the price changes, .* lose the connection", told)
    assert dropped is not None
    assert bet_ahead.holds(table.state, account(3), chosen) is stands
    assert chosen.outlives_connection is stands
    table.play("3 call", "1 call")
    assert not bet_ahead.holds(table.state, account(3), chosen)
    assert "The end of the round and Sit Out drop every choice." in told


@both
def test_void_and_disputed_hands_are_told(rules: Ruleset):
    told = section(table_config(rules), "Void, disputed")
    assert "everybody gets back what they put in" in told
    assert "nothing is paid until it is decided" in told
