"""Log lines are JSON, and no card or secret gets into one by accident."""

import logging
from dataclasses import dataclass

import structlog

from stud_service.logging import MAX_ITEMS, MAX_TEXT, bound
from stud_service.refusals import Refused
from tests.support.runtime import logged

logger = structlog.get_logger("tests")


@dataclass
class Hand:
    cards: tuple[int, ...]


def test_a_line_has_what_is_bound_and_who_said_it():
    with logged("wallet") as lines:
        with bound(table="t-1", hand=7):
            logger.info("settled", version=12)
        logger.info("after")
        logger.debug("too low to be told")
    first, second = lines()
    assert first == first | {
        "event": "settled",
        "level": "info",
        "service": "wallet",
        "table": "t-1",
        "hand": 7,
        "version": 12,
    }
    assert first["timestamp"].endswith("Z")
    assert "table" not in second


def test_libraries_speak_json_too():
    with logged() as lines, bound(table="t-1"):
        logging.getLogger("stud_eventlog.writing").warning("lost %d of %s", 3, "x")
    (line,) = lines()
    assert line == line | {"event": "lost 3 of x", "logger": "stud_eventlog.writing", "table": "t-1"}


def test_telling_names_bytes_and_objects_are_not_written():
    canary = (37, 51, 12)
    with logged() as lines:
        logger.info(
            "x",
            cards=canary,
            down=[canary],
            seed="canary",
            sealed=b"canary",
            hand=Hand(canary),
            inner={"cards": canary, "fine": 1, "more": [b"canary", Hand(canary)]},
            token="canary",
        )
    (line,) = lines()
    assert line["cards"] == line["down"] == line["seed"] == line["token"] == "<hidden>"
    assert line["sealed"] == "<6 bytes>"
    assert line["hand"] == "<Hand>"
    assert line["inner"] == {"cards": "<hidden>", "fine": 1, "more": ["<6 bytes>", "<Hand>"]}
    assert "canary" not in str(line)


def test_long_values_are_cut():
    deep: list[object] = []
    for _ in range(20):
        deep = [deep]
    with logged() as lines:
        logger.info("x", text="y" * 10_000, many=list(range(1000)), deep=deep)
    (line,) = lines()
    assert len(line["text"]) == MAX_TEXT + 1
    assert len(line["many"]) == MAX_ITEMS
    assert "<list>" in str(line["deep"])


def test_tracebacks_have_no_locals_and_their_texts_no_cards():
    down_cards = ["Ah", "canary"]
    with logged() as lines:
        try:
            {"Kd": 1}[37]  # type: ignore[index]
        except KeyError as why:
            try:
                raise ValueError(f"As and 10d, not {len(down_cards)}") from why
            except ValueError:
                logger.exception("x")
    chain = lines()[0]["exception"]
    assert [(fault["exc_type"], fault["exc_value"]) for fault in chain] == [
        ("ValueError", "# and #, not #"),
        ("KeyError", "#"),
    ]
    assert chain[0]["frames"]
    assert "canary" not in str(chain)
    assert "'locals'" not in str(chain)


def test_groups_and_notes_are_masked_and_our_own_texts_kept():
    with logged() as lines:
        fault = ValueError("37")
        fault.add_note("it was 51")
        logger.error("x", exc_info=ExceptionGroup("2 faults", [fault]))
        logger.error("y", exc_info=Refused("INVALID_FIELD", "seat 9: want 1 to 8"))
        logging.getLogger("lib").error("z", exc_info=KeyError(37))
    group, refused, library = (line["exception"][0] for line in lines())
    assert group["exc_value"].startswith("# faults")
    (inner,) = group["exceptions"][0]
    assert (inner["exc_value"], inner["exc_notes"]) == ("#", ["it was #"])
    assert refused["exc_value"] == "INVALID_FIELD: seat 9: want 1 to 8"
    assert library["exc_value"] == "#"
