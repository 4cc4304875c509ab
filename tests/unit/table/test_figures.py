"""Figures of a table: what its last hands were like, from nothing but what happened there."""

from __future__ import annotations

from pathlib import Path

from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as ev
from stud_core.events import Verb
from stud_eventlog import keys
from stud_wire.commits import decode_commit
from table_service.figures import HANDS, HOUR_MS, Figures
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated


def played(figures: Figures, at_ms: int, dealt_in: int, on_fourth: int, *pots: int) -> None:
    """A hand goes by."""
    seats = tuple(ev.DealtIn(seat, seat, f"p{seat}", 100) for seat in range(1, dealt_in + 1))
    figures.fold([ev.HandStarted(1, 1, "test", 0, seats)], at_ms)
    for street in (3, 4):
        up = tuple(ev.UpCard(seat, seat) for seat in range(1, (dealt_in if street == 3 else on_fourth) + 1))
        figures.fold([ev.CardsDealt(1, street - 2, street, up, (), None, None)], at_ms)
    figures.fold([ev.PotAwarded(no, pot, 0, ()) for no, pot in enumerate(pots)], at_ms)
    figures.fold([ev.HandEnded(1, 1, (), (), 0)], at_ms)


def test_of_no_hand_nothing_is_told():
    assert Figures().told() is None


def test_one_hand_has_no_pace():
    figures = Figures()
    played(figures, 5_000, 4, 3, 600, 200)
    assert figures.told() == pb.TableFigures(
        hands=1, average_pot=800, hands_per_hour=0, fourth_street_percent=75, last_hand_at_ms=5_000
    )


def test_the_pace_is_from_the_first_hand_to_the_last():
    figures = Figures()
    for number in range(7):
        played(figures, 1_000 + number * 60_000, 2, 1 if number % 2 else 2, 100 * number)
    told = figures.told()
    assert told is not None
    assert (told.hands, told.hands_per_hour, told.average_pot) == (7, 60, 300)
    assert told.fourth_street_percent == round(100 * 11 / 14)


def test_a_voided_hand_counts_for_nothing():
    figures = Figures()
    played(figures, 1_000, 2, 2, 100)
    figures.fold([ev.HandStarted(2, 1, "test", 0, ()), ev.PotAwarded(0, 9_000, 0, ())], 2_000)
    figures.fold([ev.HandVoided(2, 1, (), "why", "op")], 2_000)
    played(figures, 3_000, 2, 2, 300)
    told = figures.told()
    assert told is not None
    assert (told.hands, told.average_pot) == (2, 200)


def test_only_the_last_fifty_hands_of_an_hour_count():
    figures = Figures()
    for number in range(HANDS + 20):
        played(figures, number, 2, 2, 1 if number < 20 else 3)
    told = figures.told()
    assert told is not None
    assert (told.hands, told.average_pot) == (HANDS, 3)
    played(figures, HANDS + HOUR_MS + 19, 2, 2, 7)
    told = figures.told()
    assert told is not None
    assert (told.hands, told.average_pot) == (2, 5)


def test_an_hour_after_the_last_hand_they_are_old():
    figures = Figures()
    assert not figures.are_old(HOUR_MS)
    played(figures, 1_000, 2, 2, 100)
    assert not figures.are_old(1_000 + HOUR_MS)
    assert figures.are_old(1_001 + HOUR_MS)
    figures.forget()
    assert figures.told() is None


async def told_of(system: MemorySystem, table: str) -> pb.TableSummary:
    answer: pb.ListTablesResponse = await system.call("ListTables", pb.ListTablesRequest(), "eve")
    return next(line for line in answer.tables if line.table == table)


@simulated
async def test_a_table_tells_what_its_hands_were_like_and_so_does_a_rebuild_of_its_log(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        assert not (await told_of(system, game.id)).HasField("figures")
        await game.play(3, STAY)
        figures = (await told_of(system, game.id)).figures
        pots = await pots_of(system, game)
        assert figures.hands == len(pots) >= 3
        assert figures.average_pot == sum(pots) // len(pots)
        assert figures.fourth_street_percent == 100
        assert figures.hands_per_hour > 0
        await game.operate(pb.PauseTableRequest(reason="a test"))
        await game.until(lambda table: table.hand is None and table.verified_hand == table.hand_no)
        before = (await told_of(system, game.id)).figures
        await system.stop("table")
        await system.start("table")
        assert (await told_of(system, game.id)).figures == before


async def pots_of(system: MemorySystem, game: Game) -> list[int]:
    """What was paid in each hand, from the log."""
    pots, pot = [], 0
    async for stored in system.runtimes["table"].log.read_all(keys.table_log(keys.shard_of(game.id), game.id)):
        for event in decode_commit(stored.body).events:
            if isinstance(event, ev.PotAwarded):
                pot += event.amount
            elif isinstance(event, ev.HandEnded):
                pots.append(pot)
                pot = 0
    return pots


@simulated
async def test_who_folds_on_third_street_does_not_see_the_fourth(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(4)
        await game.play(1, {**dict.fromkeys(Verb, 0), Verb.FOLD: 1, Verb.BRING_IN: 1})
        assert (await told_of(system, game.id)).figures.fourth_street_percent == 0
