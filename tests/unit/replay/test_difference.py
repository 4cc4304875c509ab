"""The difference of two versions: what changed, per seat and table, and nothing else."""

from stud.common.v1 import card_pb2, seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core.presets import PLAYNOW
from stud_replay.difference import Change, difference
from stud_replay.plain import change_dict
from tests.support.replayed import RandomTable, frames_of


def view(**fields: object) -> pb.TableView:
    seat = pb.SeatView(seat=1, account="ada", stack=10_000, up=[card_pb2.CARD_2C])
    return pb.TableView(seats=[seat, pb.SeatView(seat=2)], hand_no=3, pot_total=150, **fields)  # type: ignore[arg-type]


def test_the_same_is_no_difference():
    assert difference(view(), view()) == ()


def test_every_kind_of_value_is_told_for_people():
    after = view(community=card_pb2.CARD_AH, waiting_for="PAUSED", commitment=b"\xab" * 32)
    after.pot_total = 1_275
    after.turn.seat, after.turn.to_call, after.turn.deadline_ms = 1, 500, 1_700_000_000_000
    after.pots.add(amount=1_200, seats=[1, 2])
    seat = after.seats[0]
    seat.stack, seat.live = 8_750, True
    seat.up.append(card_pb2.CARD_TD)
    seat.last_action.verb, seat.last_action.by = seat_pb2.VERB_RAISE, seat_pb2.ACTION_ORIGIN_TIMEOUT
    after.seats[1].account = "bea"
    changes = difference(view(), after)
    assert [change.words for change in changes] == [
        "ada (seat 1): stack 100 -> 87.50",
        "ada (seat 1): live nothing -> yes",
        "ada (seat 1): up 2c -> 2c Td",
        "ada (seat 1): last action.verb nothing -> verb_raise",
        "ada (seat 1): last action.by nothing -> action_origin_timeout",
        "bea (seat 2): account nothing -> bea",
        "table: waiting for nothing -> PAUSED",
        "table: community nothing -> Ah",
        "table: pots nothing -> (amount 12, seats 1 2)",
        "table: pot total 1.50 -> 12.75",
        "table: turn.seat nothing -> 1",
        "table: turn.to call nothing -> 5",
        "table: turn.deadline ms nothing -> 2023-11-14T22:13:20.000Z",
        "table: commitment nothing -> abababababababab…",
    ]
    assert next(change.words for change in difference(after, view())) == "ada (seat 1): stack 87.50 -> 100"


def test_over_whole_hands_what_differs_is_named_and_what_does_not_is_not():
    frames = list(frames_of(RandomTable(PLAYNOW, 2, 6).commits))
    for before, after in zip(frames[::3], frames[5::3], strict=False):
        changes = difference(before.view, after.view)
        named = {(change.seat, change.field.split(".")[0]) for change in changes}
        for old, new in zip(before.view.seats, after.view.seats, strict=False):
            assert ((old.seat, "stack") in named) == (old.stack != new.stack)
            assert ((old.seat, "up") in named) == (list(old.up) != list(new.up))
        assert ((0, "pot_total") in named) == (before.view.pot_total != after.view.pot_total)
        assert all(change.before != change.after for change in changes), changes


def test_as_json():
    plain = change_dict(Change(1, "ada", "stack", "1", "2"))
    words = {"field": "stack", "before": "1", "after": "2", "words": "ada (seat 1): stack 1 -> 2"}
    assert plain == {"seat": 1, "account": "ada", **words}
