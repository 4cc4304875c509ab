"""Where a recorded hand contradicts itself: things that a play of it would not show, or could not follow.

The format states more than the rules decide (``pot_total``, who is dealt which card, in which order things are
told); each of these statements is checked here. Needs no cards and plays nothing. Texts say what would be right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from stud_core.cards import DECK_SIZE
from stud_hands.record import (
    ACTIONS,
    Ante,
    Award,
    Bet,
    Complete,
    Deal,
    Fold,
    Muck,
    Raise,
    RecordedHand,
    Show,
    Street,
    Uncalled,
    cards_of,
    common_card,
    known,
    verb_of,
)

_PLAY: Final = (*ACTIONS, Street)


def unplayable(hand: RecordedHand) -> list[str]:
    """What no deck or course of streets can be made from."""
    return [*_cards_dealt_twice(hand), *_streets_out_of_order(hand), *_late_deals(hand)]


def contradictions(hand: RecordedHand) -> list[str]:
    """Everything else that the hand states and that cannot be."""
    return [
        *_ante_flags(hand),
        *_names(hand),
        *_totals(hand),
        *_sums(hand),
        *_deals(hand),
        *_order(hand),
        *_showing(hand),
    ]


# --- cards and streets --------------------------------------------------------


def _cards_dealt_twice(hand: RecordedHand) -> Iterator[str]:
    dealt = Counter(c for e in hand.events if not isinstance(e, Show) for c in cards_of(e) if known(c))
    yield from (f"the card {card} is dealt {number} times" for card, number in dealt.items() if number > 1)


def _streets_out_of_order(hand: RecordedHand) -> Iterator[str]:
    streets = [event.street for event in hand.events if isinstance(event, Street)]
    for number, street in enumerate(streets, 4):
        if street != number:
            wanted = f"wanted {number}" if number < 8 else "wanted none"
            yield f"street {street} follows street {number - 1}, {wanted}"
            return


def _late_deals(hand: RecordedHand) -> Iterator[str]:
    yield from _stands_before(hand, _PLAY, (Ante, Deal), "an ante or a deal stands after the first action")


def _deals(hand: RecordedHand) -> Iterator[str]:
    """Everybody is dealt in once, and on each street exactly those who are still in get a card."""
    dealt = Counter(event.player for event in hand.events if isinstance(event, Deal))
    for seat in hand.seats:
        if dealt[seat.player] != 1:
            yield f"{seat.player} is dealt in {dealt[seat.player]} times, wanted once"
    inside = [seat.player for seat in hand.seats]
    stub = DECK_SIZE - 3 * len(inside)
    street = 3
    for event in hand.events:
        if isinstance(event, Fold) and event.player in inside:
            inside.remove(event.player)
        elif isinstance(event, Street):
            street = event.street
            yield from _dealt_on(event, inside, stub)
            stub -= len(inside)
    if len(inside) > 1 and street < 7:
        yield f"{len(inside)} players are still in after street {street}, wanted street {street + 1}"


def _dealt_on(street: Street, inside: list[str], stub: int) -> Iterator[str]:
    if len(inside) < 2:
        yield f"street {street.street} is dealt though only {', '.join(inside) or 'nobody'} is still in"
    for player in sorted(street.cards.keys() - set(inside)):
        yield f"street {street.street} has a card for {player}, who has folded"
    if street.street == 7 and stub < len(inside):
        if common_card(street) is None:
            yield f"the river is no community card though {stub} cards are left for {len(inside)} players"
    elif common_card(street) is not None:
        yield f"the river is a community card though {stub} cards are left for {len(inside)} players"
    else:
        for player in inside:
            if player not in street.cards:
                yield f"street {street.street} has no card for {player}, who is still in"


# --- money --------------------------------------------------------------------


def _sums(hand: RecordedHand) -> Iterator[str]:
    """``pot_total`` is what was put in without what came back, and awards and rake are what it went to."""
    put_in = sum(event.amount for event in hand.events if isinstance(event, (Ante, *ACTIONS)))
    put_in -= sum(event.amount for event in hand.events if isinstance(event, Uncalled))
    if hand.pot_total != put_in:
        yield f"pot_total is {hand.pot_total}, wanted {put_in}: what was put in without what came back"
    awards = sum(event.amount for event in hand.events if isinstance(event, Award))
    if awards + hand.rake != put_in:
        yield f"awards of {awards} and a rake of {hand.rake} come to {awards + hand.rake}, wanted {put_in}"
    if hand.kind == "tournament" and hand.rake:
        yield f"a tournament hand has a rake of {hand.rake}, wanted none"


def _ante_flags(hand: RecordedHand) -> Iterator[str]:
    """Play tells the flag of every action, but not of an ante."""
    stacks = {seat.player: seat.stack for seat in hand.seats}
    for event in hand.events:
        if isinstance(event, Ante) and event.all_in != (event.amount >= stacks[event.player]):
            told, stack = "all-in" if event.all_in else "not all-in", stacks[event.player]
            yield f"the ante of {event.player} is {event.amount} of a stack of {stack}, recorded {told}"


def _totals(hand: RecordedHand) -> Iterator[str]:
    """``to`` is what a player has put in on the street, antes apart."""
    street, put_in = 3, Counter[str]()
    for event in hand.events:
        if isinstance(event, Street):
            street, put_in = event.street, Counter()
        elif isinstance(event, ACTIONS):
            put_in[event.player] += event.amount
            total = put_in[event.player]
            if event.to not in {None, total}:
                what = (
                    f"{event.player}'s {verb_of(event)} of {event.amount}"
                    if event.amount
                    else f"{event.player}'s {verb_of(event)}"
                )
                yield f"street {street}: {what} is told to make {event.to} on this street, wanted {total}"


def _names(hand: RecordedHand) -> Iterator[str]:
    """A street's first wager is a bet, on third street a complete; whatever goes on top of it is a raise.

    What goes on top of an all-in, which may have been for less, may be called a complete as well.
    """
    street, wagered, short = 3, False, False
    for event in hand.events:
        if isinstance(event, Street):
            street, wagered, short = event.street, False, False
        elif isinstance(event, Bet | Complete | Raise):
            first = "complete" if street == 3 else "bet"
            wanted = {"complete", "raise"} if short else {"raise" if wagered else first}
            if verb_of(event) not in wanted:
                name = " or ".join(sorted(wanted))
                yield f"street {street}: {event.player}'s {verb_of(event)} to {event.to} is a {name}"
            wagered, short = True, short or event.all_in


# --- order and showing --------------------------------------------------------


def _order(hand: RecordedHand) -> Iterator[str]:
    """Antes, deals, streets with their actions, then what was shown and who was paid; see the format."""
    yield from _stands_before(hand, (Deal,), (Ante,), "an ante stands after a deal")
    yield from _stands_before(hand, (Show, Award), _PLAY, "cards are shown or the pot is paid before the last action")
    yield from _stands_before(hand, (Award,), (Uncalled,), "a bet came back after the pot was paid")
    returned = False
    for event in hand.events:
        if returned and isinstance(event, ACTIONS):
            yield f"{event.player} acts on a street whose uncalled bet came back before"
            return
        returned = isinstance(event, Uncalled) or (returned and not isinstance(event, Street))


def _stands_before(hand: RecordedHand, early: tuple[type, ...], late: tuple[type, ...], text: str) -> Iterator[str]:
    """Say ``text`` if one of the ``early`` kinds stands before one of the ``late``."""
    first = next((at for at, event in enumerate(hand.events) if isinstance(event, early)), len(hand.events))
    if any(isinstance(event, late) for event in hand.events[first:]):
        yield text


def _showing(hand: RecordedHand) -> Iterator[str]:
    """Players who have folded have nothing to show; everybody else shows or mucks once."""
    folded = {event.player for event in hand.events if isinstance(event, Fold)}
    told = [event for event in hand.events if isinstance(event, Show | Muck)]
    for event in told:
        if event.player in folded:
            yield f"{event.player} {'shows' if isinstance(event, Show) else 'mucks'} though they have folded"
        if isinstance(event, Show) and max(Counter(c for c in event.cards if known(c)).values(), default=0) > 1:
            yield f"{event.player} shows a card twice"
    for player, number in Counter(event.player for event in told).items():
        if number > 1:
            yield f"{player} shows or mucks {number} times, wanted once"
