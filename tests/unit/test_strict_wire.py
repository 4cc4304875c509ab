"""The strict decoder of the tests: it takes what serialising gives and nothing else."""

from typing import Any

import pytest
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from stud.common.v1 import card_pb2
from stud.table.v1 import table_service_pb2 as pb
from tests.support.strict_wire import NotCanonical, check_canonical, check_status

VIEW = pb.TableView(hand_no=3, seats=[pb.SeatView(seat=1, account="ada", up=[card_pb2.CARD_2C, card_pb2.CARD_AH])])
UPDATE = pb.TableUpdate(table="t-1", version=7, head_hash=b"h" * 32, view=VIEW, reset=True, sent_at_ms=9, current=True)
GOOD = pb.PlayResponse(update=UPDATE).SerializeToString()
RESULT = pb.PlayResponse(result=pb.CommandResult(request_id="r", metadata={"a": "b"})).SerializeToString()


def part(**fields: object) -> bytes:
    return pb.PlayResponse(update=pb.TableUpdate(**fields)).SerializeToString()  # type: ignore[arg-type]


def test_what_serialising_gives_is_canonical():
    check_canonical(pb.PlayResponse, GOOD)
    check_canonical(pb.PlayResponse, RESULT)
    check_canonical(pb.PlayResponse, b"")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(GOOD + part(reset=True), id="the update again, with one field of it"),
        pytest.param(b"\x0a\x04" + pb.TableUpdate(version=1).SerializeToString() * 2, id="the same number twice"),
        pytest.param(part(view=VIEW)[:-1], id="cut short"),
        pytest.param(b"\x0a\x02\x10\x00", id="a default that is written out"),
        pytest.param(b"\x0a\x03\x10\x81\x00", id="a number longer than it must be"),
        pytest.param(b"\x0a\x04\x20\x01\x10\x01", id="fields out of order"),
        pytest.param(b"\xf2\x07\x00", id="a field of nobody's"),
        pytest.param(b"\x0b", id="a wire type that is none of ours"),
        pytest.param(b"\x0a\x80", id="a number without an end"),
    ],
)
def test_what_others_would_lose_or_refuse_is_an_error(data):
    with pytest.raises(NotCanonical):
        check_canonical(pb.PlayResponse, data)


def test_details_of_a_refusal_are_read_whole():
    def status(*kinds: Any) -> bytes:
        out = status_pb2.Status(code=3)
        for kind in kinds:
            packed = any_pb2.Any()
            packed.Pack(kind)
            out.details.append(packed)
        data: bytes = out.SerializeToString()
        return data

    check_status(status(error_details_pb2.ErrorInfo(reason="X", metadata={"a": "1"})))
    with pytest.raises(NotCanonical, match="does not name"):
        check_status(status(pb.TableView()))
