"""What may be done in a position, found by playing it through the rules engine.

A position knows no down card; the engine needs none before the showdown, so boxes without content stand for them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.cards import DECK_SIZE
from stud_core.commands import Context
from stud_core.decide import decide
from stud_core.evolve import evolve
from stud_core.rejection import Rejection
from stud_core.ruleset import TableConfig
from stud_core.state import Phase, Table
from stud_service.refusals import Refused


class Player(msgspec.Struct, frozen=True):
    """One player in deal order: chips before the ante, cards face up, the door card first."""

    seat: int
    stack: int
    up: tuple[int, ...]


class Action(msgspec.Struct, frozen=True):
    """One action after the antes; ``to`` None where the verb says it all."""

    seat: int
    verb: ev.Verb
    to: int | None
    size: ev.Size | None


class Legal(msgspec.Struct, frozen=True):
    """What is legal: ``seat`` 0 when nobody is to act."""

    seat: int
    to_call: int
    options: tuple[ev.Option, ...]
    street: int


def legal_in(config: TableConfig, players: Sequence[Player], actions: Sequence[Action]) -> Legal:
    """Play a position through and say who may do what, at a table whose configuration is sound.

    Raises Refused, including for an action that was not legal.
    """
    _check(config, players)
    state = _play_antes(config, players)
    state = _deal_on(state, players)
    for action in actions:
        hand = state.hand
        if hand is None or hand.phase is not Phase.BETTING:
            raise Refused("NO_HAND", "no betting is open any more when this action comes", field="actions")
        act = cmd.Act(_account(action.seat), hand.turn_id, action.verb, action.to, action.size)
        state = _deal_on(_send(state, act), players)
    hand = state.hand
    if hand is None or hand.phase is not Phase.BETTING:
        return Legal(0, 0, (), hand.street if hand is not None else 0)
    return Legal(hand.turn_seat, hand.to_call, hand.options, hand.street)


def _account(seat: int) -> str:
    return f"seat-{seat}"


def _check(config: TableConfig, players: Sequence[Player]) -> None:
    seats = [player.seat for player in players]
    most = config.ruleset.seats
    if not 2 <= len(seats) <= most or len(set(seats)) != len(seats):
        text = f"want 2 to {most} players at different seats"
        raise Refused("INVALID_FIELD", text, field="players", min="2", max=str(most))
    if any(not 1 <= seat <= most for seat in seats):
        raise Refused("SEAT_OUT_OF_RANGE", f"seats are 1 to {most}", field="players", min="1", max=str(most))
    if any(player.stack <= 0 for player in players):
        raise Refused("INVALID_FIELD", "every player needs chips before the ante", field="players")
    cards = [card for player in players for card in player.up]
    if len(set(cards)) != len(cards):
        raise Refused("INVALID_CARDS", "a card is there twice", field="players")
    if any(not 1 <= len(player.up) <= 4 for player in players):
        raise Refused("INVALID_CARDS", "a player has 1 to 4 cards face up", field="players", min="1", max="4")


def _play_antes(config: TableConfig, players: Sequence[Player]) -> Table:
    """A hand with its antes posted and the first deal asked for."""
    events: list[ev.Event] = [ev.TableOpened(config)]
    for number, player in enumerate(players, 1):
        name = _account(player.seat)
        currency, stacked = config.currency, config.stacked
        seat, chips = player.seat, player.stack
        request = ev.BuyInRequested(currency, stacked, number, seat, name, chips, 0, auto_post=True, muck_losing=True)
        events += [request, ev.PlayerSeated(number, player.seat, player.stack)]
    seats = tuple([player.seat for player in players])
    events += [ev.DeckReady(1, b""), ev.AntesOpened(1, 1, 0, (), seats, ev.ENGINE)]
    dealt_in: list[ev.DealtIn] = []
    for number, player in enumerate(players, 1):
        ante = min(config.ante, player.stack)
        left = player.stack - ante
        events.append(ev.AntePosted(1, player.seat, ante, all_in=not left, stack=left))
        dealt_in.append(ev.DealtIn(player.seat, number, _account(player.seat), left))
    events.append(ev.HandStarted(1, config.ruleset.version, "position", seats[-1], tuple(dealt_in)))
    events.append(ev.DealRequested(1, 1, 3, ev.DealMode.NORMAL, burn=False, targets=seats))
    return evolve(Table(), events, 1)


def _send(state: Table, command: cmd.Command) -> Table:
    version = state.version + 1
    decided = decide(state, command, Context(now_ms=0, version=version))
    if isinstance(decided, Rejection):
        raise Refused.from_rejection(decided)
    return evolve(state, decided, version)


def _deal_on(state: Table, players: Sequence[Player]) -> Table:
    """Deal what is asked for, as long as the position knows the cards."""
    up = {player.seat: player.up for player in players}
    while state.hand is not None and state.hand.deal is not None:
        deal = state.hand.deal
        if deal.mode is ev.DealMode.COMMUNITY:
            raise Refused("INVALID_CARDS", "a river with a community card cannot be given as a position")
        at = deal.street - 3
        if deal.street < 7 and any(len(up[seat]) <= at for seat in deal.targets):
            return state
        shown = [ev.UpCard(seat, up[seat][at]) for seat in deal.targets] if deal.street < 7 else []
        first = sum([len(boxes) for boxes in state.hand.down])
        seats = deal.targets * {3: 2, 7: 1}.get(deal.street, 0)
        boxes = [ev.DownCard(seat, (first + n) % DECK_SIZE, b"") for n, seat in enumerate(seats)]
        root = b"" if deal.deal_no == 1 else None
        state = _send(state, cmd.RecordCards(1, deal.deal_no, tuple(shown), tuple(boxes), None, root))
    return state
