"""Down cards are opened in the vault and nowhere else, for the hand that runs."""

import msgspec
import pytest

from stud_core.events import DownCard
from stud_core.state import Table
from stud_service.sealing import BrokenBox, hand_key, seal_down
from table_service.vault import Vault
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated

MASTER = b"m" * 32


@simulated
async def test_the_cards_of_every_live_seat_are_opened_for_the_showdown(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(4)
        await game.until_turn(street=4)
        cards = game.actor.vault.live_cards(game.table)
        assert set(cards) == {seat for seat in game.hand.order if game.hand.live[seat]}
        seen = [card for seat_cards in cards.values() for card in seat_cards]
        assert len(set(seen)) == 8
        up = [card for seat in game.hand.order for card in game.hand.up[seat]]
        assert not set(seen) & set(up)
        assert game.actor.vault.seat_cards(game.table, 1) == cards[1]


def test_between_hands_there_is_nothing_to_open():
    vault = Vault("t-1", MASTER)
    assert vault.live_cards(Table()) == {}
    assert vault.seat_cards(Table(), 1) == ()


def test_it_does_not_say_what_it_holds():
    vault = Vault("t-1", MASTER)
    assert repr(vault) == str(vault) == "<Vault>"
    assert not hasattr(vault, "__dict__")  # nothing walks through its fields by accident


@simulated
async def test_a_box_of_another_seat_hand_or_table_does_not_open(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        table, master = game.table, game.actor.vault._master
        key = hand_key(master, table.commitment)
        for place in (("t-2", 1, 1), ("t-1", 2, 1), ("t-1", 1, 2)):
            box = DownCard(1, 0, seal_down(key, *place, 0, 51))
            down: list[tuple[DownCard, ...]] = [(box,) if seat == 1 else () for seat in range(9)]
            hand = msgspec.structs.replace(table.running, down=down)
            with pytest.raises(BrokenBox) as fault:
                Vault("t-1", master).seat_cards(msgspec.structs.replace(table, hand=hand), 1)
            assert "51" not in str(fault.value)


@simulated
async def test_cards_of_a_hand_are_forgotten_with_the_next_one(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        first = dict(game.actor.vault._cards) or game.actor.vault.live_cards(game.table)
        assert first
        boxes = set(game.actor.vault._cards)
        await game.play(1)
        await game.until_turn(hand_no=2)
        game.actor.vault.live_cards(game.table)
        assert not boxes & set(game.actor.vault._cards)
