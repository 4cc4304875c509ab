"""Ways to spoil a recorded hand so that it cannot have been played: one for each thing that the format states.

Each takes a hand that is its own copy, changes it in place and says whether there was something to spoil. What they
spoil can be told without luck: a change of cards or names that some other hand explains is not among them.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

Hand = dict[str, Any]
Spoiler = Callable[[Hand, Random], bool]

CHIPS: Final = {"bring_in", "complete", "bet", "raise", "call"}
ACTIONS: Final = CHIPS | {"check", "fold"}


def _all(hand: Hand, *kinds: str) -> list[Hand]:
    return [event for event in hand["events"] if event["type"] in kinds]


def _one(hand: Hand, rng: Random, *kinds: str) -> Hand:
    """An event of these kinds; an empty one, which is not part of the hand, where there is none."""
    found = _all(hand, *kinds)
    return rng.choice(found) if found else {}


def _drop(hand: Hand, event: Hand) -> bool:
    hand["events"] = [other for other in hand["events"] if other is not event]
    return bool(event)


# --- the header ---------------------------------------------------------------


def other_ante(hand: Hand, _rng: Random) -> bool:
    hand["ante"] += 1
    return any(seat["stack"] >= hand["ante"] for seat in hand["seats"])


def other_bring_in(hand: Hand, _rng: Random) -> bool:
    hand["bring_in"] -= 1
    return hand["bring_in"] > 0 and any(not event["all_in"] for event in _all(hand, "bring_in"))


def other_small_bet(hand: Hand, _rng: Random) -> bool:
    hand["small_bet"] += 1
    wagers = _all(hand, "complete", "raise", "bet")
    return bool(wagers) and wagers[0]["type"] == "complete" and not wagers[0]["all_in"]


def other_pot_total(hand: Hand, rng: Random) -> bool:
    hand["pot_total"] += rng.choice([1, -1])
    return True


def other_rake(hand: Hand, _rng: Random) -> bool:
    hand["rake"] += 1
    return True


def rake_of_a_tournament(hand: Hand, _rng: Random) -> bool:
    hand["kind"] = "tournament"
    return bool(hand["rake"])


def nobody_s_seat(hand: Hand, _rng: Random) -> bool:
    hand["seats"].append({"seat": 99, "player": "nobody", "stack": 1000})
    return len(hand["seats"]) <= 8


def shorter_stack(hand: Hand, rng: Random) -> bool:
    """One chip more than an all-in player had."""
    names = {event["player"] for event in _all(hand, "ante", *CHIPS) if event["all_in"]}
    for seat in hand["seats"]:
        if seat["player"] in names:
            seat["stack"] += 1
            return True
    return False


# --- antes and deals ----------------------------------------------------------


def no_ante(hand: Hand, rng: Random) -> bool:
    return _drop(hand, _one(hand, rng, "ante"))


def no_antes(hand: Hand, _rng: Random) -> bool:
    there = bool(_all(hand, "ante"))
    hand["events"] = [event for event in hand["events"] if event["type"] != "ante"]
    return there


def ante_of_another_size(hand: Hand, rng: Random) -> bool:
    event = _one(hand, rng, "ante")
    event["amount"] = event.get("amount", 0) + rng.choice([1, -1])
    return "player" in event


def ante_twice(hand: Hand, rng: Random) -> bool:
    event = _one(hand, rng, "ante")
    hand["events"].insert(0, dict(event))
    return bool(event)


def no_deal(hand: Hand, rng: Random) -> bool:
    return _drop(hand, _one(hand, rng, "deal"))


def dealt_twice(hand: Hand, rng: Random) -> bool:
    """One card for two players."""
    one, other = rng.sample(_all(hand, "deal"), 2)
    one["up"] = list(other["up"])
    return bool(one["up"] != ["??"])


# --- actions ------------------------------------------------------------------


def no_action(hand: Hand, rng: Random) -> bool:
    """Somebody who is asked again on this street, or is paid, left out: he has to act and does not."""
    return _drop(hand, _one(hand, rng, "call"))


def action_twice(hand: Hand, rng: Random) -> bool:
    event = _one(hand, rng, "call")
    if event:
        hand["events"].insert(hand["events"].index(event), dict(event))
    return bool(event)


def action_of_another(hand: Hand, rng: Random) -> bool:
    event = _one(hand, rng, "call", "raise")
    if event:
        event["player"] = rng.choice([s["player"] for s in hand["seats"] if s["player"] != event["player"]])
    return bool(event)


def chip_more(hand: Hand, rng: Random) -> bool:
    event = _one(hand, rng, *CHIPS - {"bring_in"})
    event["amount"] = event.get("amount", 0) + 1
    event["to"] = event.get("to", 0) + 1
    return "player" in event


def amount_that_is_not_the_rest(hand: Hand, rng: Random) -> bool:
    event = _one(hand, rng, *ACTIONS)
    event["amount"] = event.get("amount", 0) + 1
    return "player" in event


def other_total(hand: Hand, rng: Random) -> bool:
    event = _one(hand, rng, *ACTIONS - {"bring_in"})
    event["to"] = event.get("to", 0) + 1
    return "player" in event


def all_in_flag(hand: Hand, rng: Random) -> bool:
    event = _one(hand, rng, "ante", *ACTIONS)
    event["all_in"] = not event.get("all_in")
    return "player" in event


def first_wager_called_a_raise(hand: Hand, _rng: Random) -> bool:
    for event in _all(hand, "bet", "complete"):
        if event["type"] == "bet":
            event["type"] = "raise"
            return True
    return False


# --- streets ------------------------------------------------------------------


def no_street(hand: Hand, rng: Random) -> bool:
    return _drop(hand, _one(hand, rng, "street"))


def no_card(hand: Hand, rng: Random) -> bool:
    cards = _one(hand, rng, "street").get("cards", {})
    return bool(cards) and bool(cards.pop(rng.choice(sorted(cards))))


def card_for_who_folded(hand: Hand, rng: Random) -> bool:
    folded = {event["player"] for event in _all(hand, "fold")}
    street: Hand = next((e for e in reversed(hand["events"]) if e["type"] == "street"), {"cards": {}})
    gone = sorted(folded - street["cards"].keys())
    if gone and street["cards"]:
        street["cards"][gone[0]] = ["??"]
    return bool(gone and street["cards"])


def community_card_for_no_reason(hand: Hand, _rng: Random) -> bool:
    river = next((e for e in _all(hand, "street") if e["street"] == 7 and e["cards"]), None)
    if river is not None:
        river["cards"], river["community"] = {}, ["??"]
    return river is not None


# --- the end ------------------------------------------------------------------


def other_uncalled(hand: Hand, rng: Random) -> bool:
    event = _one(hand, rng, "uncalled")
    event["amount"] = event.get("amount", 0) + rng.choice([1, -1])
    return "player" in event


def no_uncalled(hand: Hand, rng: Random) -> bool:
    return _drop(hand, _one(hand, rng, "uncalled"))


def uncalled_to_another(hand: Hand, rng: Random) -> bool:
    event = _one(hand, rng, "uncalled")
    if event:
        event["player"] = next(s["player"] for s in hand["seats"] if s["player"] != event["player"])
    return bool(event)


def other_award(hand: Hand, rng: Random) -> bool:
    event = _one(hand, rng, "award")
    event["amount"] = event.get("amount", 0) + rng.choice([1, -1])
    return "player" in event


def no_award(hand: Hand, rng: Random) -> bool:
    return _drop(hand, _one(hand, rng, "award"))


def award_to_who_folded(hand: Hand, rng: Random) -> bool:
    folded, award = _one(hand, rng, "fold"), _one(hand, rng, "award")
    if folded and award:
        award["player"] = folded["player"]
    return bool(folded and award)


def shown_by_who_folded(hand: Hand, rng: Random) -> bool:
    folded = _one(hand, rng, "fold")
    hand["events"].append({"type": "show", "player": folded.get("player", ""), "cards": []})
    return bool(folded)


def shown_and_mucked(hand: Hand, rng: Random) -> bool:
    event = _one(hand, rng, "show")
    hand["events"].append({"type": "muck", "player": event.get("player", "")})
    return bool(event)


def shown_though_never_dealt(hand: Hand, rng: Random) -> bool:
    event = _one(hand, rng, "show")
    dealt = {card for other in _all(hand, "deal") if other["player"] != event.get("player") for card in other["up"]}
    dealt -= {"??"}
    if event and dealt:
        event["cards"] = [min(dealt), *event["cards"][1:]]
    return bool(event and dealt)


# --- order --------------------------------------------------------------------


def ante_after_the_deal(hand: Hand, rng: Random) -> bool:
    event = _one(hand, rng, "ante")
    if event:
        _drop(hand, event)
        hand["events"].insert(max(i for i, e in enumerate(hand["events"]) if e["type"] == "deal") + 1, event)
    return bool(event)


def paid_before_the_end(hand: Hand, rng: Random) -> bool:
    event, actions = _one(hand, rng, "award"), _all(hand, *ACTIONS)
    if event and actions:
        _drop(hand, event)
        hand["events"].insert(hand["events"].index(actions[0]), event)
    return bool(event and actions)


SPOILERS: Final[dict[str, tuple[Spoiler, ...]]] = {
    "kind": (rake_of_a_tournament,),
    "small_bet": (other_small_bet,),
    "ante": (other_ante, no_ante, no_antes),
    "bring_in": (other_bring_in,),
    "seats": (nobody_s_seat,),
    "seats.stack": (shorter_stack,),
    "pot_total": (other_pot_total,),
    "rake": (other_rake,),
    "events in order": (no_action, action_twice, ante_after_the_deal, paid_before_the_end),
    "ante.amount": (ante_of_another_size, ante_twice),
    "deal": (no_deal, dealt_twice),
    "action.type": (first_wager_called_a_raise,),
    "action.player": (action_of_another,),
    "action.amount": (amount_that_is_not_the_rest, chip_more),
    "action.to": (other_total,),
    "all_in": (all_in_flag,),
    "street.street": (no_street,),
    "street.cards": (no_card, card_for_who_folded),
    "street.community": (community_card_for_no_reason,),
    "uncalled.player": (uncalled_to_another,),
    "uncalled.amount": (other_uncalled, no_uncalled),
    "show": (shown_by_who_folded, shown_though_never_dealt),
    "muck": (shown_and_mucked,),
    "award.player": (award_to_who_folded,),
    "award.amount": (other_award, no_award),
}
"""Which spoiling shows that a field of the format is checked; ``big_bet`` is checked through every later wager, and
what is not here (id, source, site, unit, button, notes) says nothing that a play could contradict."""
