"""How a hand ended, as everybody may see it: what was shown and no other card."""

from __future__ import annotations

from stud.common.v1 import card_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core.events import DealtIn, Profile
from stud_core.hand_words import hand_in_words
from stud_core.state import Hand


def put_last_hand(out: pb.LastHand, hand: Hand) -> None:
    """Fill in a hand whose pots are paid, or that was voided."""
    voided = hand.refunds is not None
    out.hand_no = hand.hand_no
    out.voided = voided
    out.street = hand.street
    out.button = hand.button
    if hand.community is not None:
        out.community = to_card(hand.community)
    won = [0] * 9
    for refund in hand.refunds or ():
        won[refund.seat] += refund.amount
    for back in hand.uncalled:
        out.uncalled.add(seat=back.seat, amount=back.amount)
    if not voided:
        out.rake = hand.rake
        for pot in sorted(hand.paid_pots, key=lambda pot: pot.pot_no):  # they are paid last side pot first
            paid = out.pots.add(pot_no=pot.pot_no, amount=pot.amount, rake=pot.rake)
            for share in pot.shares:
                paid.shares.add(seat=share.seat, amount=share.amount)
                won[share.seat] += share.amount
    for player, profile in zip(hand.dealt_in, hand.profiles, strict=True):
        seat = out.seats.add()
        _put_seat(seat, hand, player, won[player.seat])
        put_profile(seat, profile)


def _put_seat(out: pb.LastHandSeat, hand: Hand, player: DealtIn, won: int) -> None:
    seat = player.seat
    out.seat = seat
    out.account = player.account
    out.sitting_no = player.sitting_no
    out.live = hand.live[seat]
    out.up.extend([to_card(card) for card in hand.up[seat]])
    out.down_count = len(hand.down[seat])
    out.shown.extend([to_card(card) for card in hand.shown[seat]])
    out.rank = hand.ranks[seat]
    out.paid = hand.paid[seat]
    out.won = won
    out.hand_in_words = words_of_shown(hand, seat)


def put_profile(out: pb.SeatView | pb.LastHandSeat, profile: Profile | None) -> None:
    """Say how a player is called; one who sat down before there were profiles is called nothing."""
    if profile is not None:
        out.player, out.name, out.avatar = profile.player, profile.name, profile.avatar


def words_of_shown(hand: Hand, seat: int) -> str:
    """Return what the cards make that a seat has shown; empty where nothing is shown."""
    shown = hand.shown[seat]
    return hand_in_words((*shown, *hand.up[seat], *common(hand))) if shown else ""


def common(hand: Hand) -> tuple[int, ...]:
    """Return the card that is everybody's, if there is one."""
    return () if hand.community is None else (hand.community,)


def to_card(card: int) -> card_pb2.Card.ValueType:
    """Return a card of the core as the contract numbers it."""
    return card_pb2.Card.ValueType(card + 1)
