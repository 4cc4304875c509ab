"""A box opens for its own place under its own key, and says nothing otherwise."""

import traceback
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from stud_core.deck_events import SealedSeed
from stud_core.shuffle import commitment
from stud_service import sealing
from stud_service.keyring import Key
from stud_service.sealing import (
    BrokenBox,
    SealError,
    WrongKey,
    hand_key,
    open_down,
    open_order,
    open_seed,
    seal_down,
    seal_order,
    seal_seed,
)

MASTER = Key("down", bytes(range(32)))
OTHER_MASTER = Key("down", bytes(32))
DEALER = Key("dealer", b"D" * 32)
REFEREE = Key("referee", b"R" * 32)
SEED = b"canary-seed-canary-seed-canary-s"
COMMITMENT = commitment("t-1", 7, SEED)
ORDER = [*range(40, 52), *range(40)]
K = hand_key(MASTER, COMMITMENT)
PLACE = ("t-1", 7, COMMITMENT)


def sealed() -> bytes:
    return seal_down(K, "t-1", 7, 3, 12, 50)


def test_a_down_card_comes_back():
    assert open_down(K, "t-1", 7, 3, 12, sealed()) == 50


@given(card=st.integers(0, 51), pos=st.integers(0, 51), seat=st.integers(1, 8), hand_no=st.integers(1, 2**62))
def test_every_card_comes_back_and_its_box_is_always_the_same(card: int, pos: int, seat: int, hand_no: int):
    box = seal_down(K, "t-1", hand_no, seat, pos, card)
    assert box == seal_down(K, "t-1", hand_no, seat, pos, card)
    assert len(box) == 17
    assert open_down(K, "t-1", hand_no, seat, pos, box) == card


@pytest.mark.parametrize(
    ("key", "table", "hand_no", "seat", "pos"),
    [
        (hand_key(OTHER_MASTER, COMMITMENT), "t-1", 7, 3, 12),
        (hand_key(MASTER, commitment("t-1", 8, SEED)), "t-1", 7, 3, 12),
        (K, "t-2", 7, 3, 12),
        (K, "t-1", 8, 3, 12),
        (K, "t-1", 7, 4, 12),
        (K, "t-1", 7, 3, 13),
    ],
    ids=["master", "commitment", "table", "hand", "seat", "position"],
)
def test_a_box_opens_nowhere_else(key: bytes, table: str, hand_no: int, seat: int, pos: int):
    with pytest.raises(BrokenBox, match=f"down card of table {table}, hand {hand_no}, seat {seat}, position {pos}"):
        open_down(key, table, hand_no, seat, pos, sealed())


@pytest.mark.parametrize("box", [b"", b"x", sealed()[:-1], sealed() + b"x", bytes([sealed()[0] ^ 1]) + sealed()[1:]])
def test_an_altered_box_does_not_open(box: bytes):
    with pytest.raises(BrokenBox):
        open_down(K, "t-1", 7, 3, 12, box)


@pytest.mark.parametrize("content", [b"", b"\x34", b"\x01\x02"])
def test_a_box_that_holds_no_card_is_broken(content: bytes):
    place = sealing._down_place("t-1", 7, 3, 12)
    box = AESGCM(K).encrypt((12).to_bytes(12, "big"), content, place)
    with pytest.raises(BrokenBox, match="holds no card"):
        open_down(K, "t-1", 7, 3, 12, box)


@pytest.mark.parametrize("card", [-1, 52])
def test_only_cards_are_sealed(card: int):
    with pytest.raises(ValueError, match="no such card"):
        seal_down(K, "t-1", 7, 3, 12, card)


def test_a_seed_comes_back_for_who_holds_the_key():
    for key in (DEALER, REFEREE):
        box = seal_seed(key, SEED, *PLACE)
        assert box.key_id == key.key_id
        assert box == seal_seed(key, SEED, *PLACE)
        assert open_seed(key, box, *PLACE) == SEED
    assert seal_seed(DEALER, SEED, *PLACE).box != seal_seed(REFEREE, SEED, *PLACE).box


def test_a_seed_under_another_key_is_told_from_a_broken_one():
    """The first is waited out (a key is missing), the second is a fault of the log."""
    with pytest.raises(WrongKey, match=f"under key '{DEALER.key_id}', not '{REFEREE.key_id}'"):
        open_seed(REFEREE, seal_seed(DEALER, SEED, *PLACE), *PLACE)
    pretended = SealedSeed(REFEREE.key_id, seal_seed(DEALER, SEED, *PLACE).box)
    with pytest.raises(BrokenBox, match="seed of table t-1, hand 7 does not open"):
        open_seed(REFEREE, pretended, *PLACE)


@pytest.mark.parametrize("place", [("t-2", 7, COMMITMENT), ("t-1", 8, COMMITMENT), ("t-1", 7, bytes(32))])
def test_seeds_and_orders_open_nowhere_else(place: tuple[str, int, bytes]):
    with pytest.raises(BrokenBox):
        open_seed(DEALER, seal_seed(DEALER, SEED, *PLACE), *place)
    with pytest.raises(BrokenBox):
        open_order(DEALER, seal_order(DEALER, ORDER, *PLACE), *place)


def test_a_stacked_order_comes_back():
    box = seal_order(DEALER, ORDER, *PLACE)
    assert open_order(DEALER, box, *PLACE) == tuple(ORDER)
    with pytest.raises(BrokenBox, match="stacked deck of table t-1, hand 7 does not open"):
        open_order(REFEREE, box, *PLACE)


def test_a_seed_is_no_order():
    with pytest.raises(BrokenBox):
        open_order(DEALER, seal_seed(DEALER, SEED, *PLACE).box, *PLACE)
    with pytest.raises(BrokenBox):
        open_seed(DEALER, SealedSeed(DEALER.key_id, seal_order(DEALER, ORDER, *PLACE)), *PLACE)


def test_boxes_with_other_things_in_them_are_broken():
    seed_place = sealing._deck_place(b"seed", *PLACE)
    order_place = sealing._deck_place(b"order", *PLACE)
    short = AESGCM(sealing._box_key(DEALER, seed_place)).encrypt(bytes(12), b"short", seed_place)
    with pytest.raises(BrokenBox, match="holds no seed"):
        open_seed(DEALER, SealedSeed(DEALER.key_id, short), *PLACE)
    doubled = AESGCM(sealing._box_key(DEALER, order_place)).encrypt(bytes(12), bytes(52), order_place)
    with pytest.raises(BrokenBox, match="holds no deck"):
        open_order(DEALER, doubled, *PLACE)


def test_only_seeds_and_decks_are_sealed():
    with pytest.raises(ValueError, match="a seed has 32 bytes"):
        seal_seed(DEALER, b"short", *PLACE)
    with pytest.raises(ValueError, match="52 different cards"):
        seal_order(DEALER, [0] * 52, *PLACE)


# Nothing shows


FAULTS: list[Callable[[], object]] = [
    lambda: open_down(hand_key(OTHER_MASTER, COMMITMENT), "t-1", 7, 3, 12, sealed()),
    lambda: open_seed(REFEREE, seal_seed(DEALER, SEED, *PLACE), *PLACE),
    lambda: open_seed(DEALER, seal_seed(DEALER, SEED, *PLACE), "t-1", 8, COMMITMENT),
    lambda: open_order(REFEREE, seal_order(DEALER, ORDER, *PLACE), *PLACE),
]


@pytest.mark.parametrize("fault", FAULTS)
def test_an_error_holds_no_material(fault: Callable[[], object]):
    with pytest.raises(SealError) as caught:
        fault()
    told = "".join(traceback.format_exception(caught.value))
    assert caught.value.__cause__ is None
    for secret in (SEED, bytes(MASTER), bytes(DEALER), bytes(REFEREE), bytes(K), bytes(ORDER)):
        for form in (secret.hex(), repr(secret), repr(list(secret))):
            assert form not in told
            assert form[2:14] not in str(caught.value)
    assert "50" not in str(caught.value)


def test_what_is_opened_or_derived_does_not_show_itself():
    seed = open_seed(DEALER, seal_seed(DEALER, SEED, *PLACE), *PLACE)
    order = open_order(DEALER, seal_order(DEALER, ORDER, *PLACE), *PLACE)
    for secret in (seed, order, K):
        text = f"{secret} {secret!r} {[secret]}"
        assert "canary" not in text
        assert "40" not in text
        assert "\\x" not in text
