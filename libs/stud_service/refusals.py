"""Refusals as they leave a service: reason -> gRPC status, and google.rpc.ErrorInfo beside it.

The catalogue is ``stud/errors/v1/reasons.proto``; a test holds this table to it. Refusing is not a fault: a refused
call changed nothing, and the text is for people and may change. What the metadata say in one line of legal actions and
of wrong fields, a further detail says for machines (``stud/errors/v1/details.proto``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from stud.errors.v1 import details_pb2
from stud_core.events import Option
from stud_core.rejection import Problem, Rejection
from stud_core.wording import phrase
from stud_wire.codec import to_message

DOMAIN = "stud"
MAX_TEXT = 500
"""Bytes of a text or of one metadata value. Trailers are limited to 8 KiB in all."""

MAX_METADATA = 8
MAX_DETAILS = 4800
"""Bytes of all details. They are sent in base64, with the text beside them, which may be three times as long there."""

MAX_PROBLEMS = 100
MAX_PROBLEM_TEXT = 160

_Code = grpc.StatusCode

_REASONS: dict[grpc.StatusCode, str] = {
    _Code.INVALID_ARGUMENT: """INVALID_FIELD MALFORMED_MESSAGE REQUEST_ID_REQUIRED INVALID_RULESET INVALID_TABLE
        SEAT_OUT_OF_RANGE UNKNOWN_CURRENCY INVALID_ADJUSTMENT INVALID_CARDS INVALID_DECK""",
    _Code.ALREADY_EXISTS: """REQUEST_ID_REUSED TABLE_EXISTS SEAT_TAKEN ALREADY_SEATED ALREADY_WAITING NAME_TAKEN
        ALREADY_DONE ALREADY_DECIDED""",
    _Code.UNAUTHENTICATED: "UNAUTHENTICATED TOKEN_EXPIRED TOKEN_REVOKED",
    _Code.PERMISSION_DENIED: "ROLE_NOT_ALLOWED OWN_INTEREST",
    _Code.INTERNAL: "INTERNAL",
    _Code.UNAVAILABLE: "LOG_UNAVAILABLE OUTCOME_UNKNOWN LOG_BEHIND STOPPING KEYS_UNAVAILABLE",
    _Code.DATA_LOSS: "LOG_BROKEN",
    _Code.DEADLINE_EXCEEDED: "CALL_DEADLINE",
    _Code.RESOURCE_EXHAUSTED: "RESUME_FROM_VERSION TABLE_FULL WAITING_LIST_FULL RATE_LIMITED",
    _Code.NOT_FOUND: "UNKNOWN_TABLE UNKNOWN_SITTING UNKNOWN_HAND UNKNOWN_ACCOUNT UNKNOWN_RULESET",
    _Code.OUT_OF_RANGE: "BUY_IN_TOO_SMALL BUY_IN_TOO_LARGE TOP_UP_OUT_OF_LIMITS",
    _Code.ABORTED: "RESERVATION_EXPIRED SEAT_LEFT",
    _Code.FAILED_PRECONDITION: """TABLE_NOT_OPEN TABLE_PAUSED TABLE_NOT_PAUSED NOT_SEATED TOP_UP_OPEN LEAVING
        ALREADY_SITTING_OUT NOT_SITTING_OUT NO_CHIPS NO_HAND HAND_NOT_STARTABLE NOT_YOUR_TURN STALE_TURN ILLEGAL_ACTION
        DEADLINE_PASSED NO_PROMPT STALE_PROMPT UNEXPECTED_CARDS HAND_ALREADY_ENDED PRE_ACTION_NOT_ALLOWED
        INSUFFICIENT_FUNDS ACCOUNT_FROZEN ACCOUNT_NOT_FROZEN SITTING_MISMATCH CLAIM_MISMATCH ESCROW_OVERDRAWN
        STACKED_NOT_ALLOWED NOTHING_BLOCKED SECOND_OPERATOR_REQUIRED HAND_DISPUTED SETTLEMENT_BLOCKED HAND_NOT_ENDED
        NO_REFEREE_FIGURES
        STACKED_DECKS_OFF DECK_ALREADY_COMMITTED HAND_RUNNING NO_TIME_CHIP NO_WAITING_LIST NOT_WAITING SEAT_FREE""",
}

CODES: dict[str, grpc.StatusCode] = {reason: code for code, names in _REASONS.items() for reason in names.split()}
"""Every reason of the catalogue, without its prefix, and the status it is sent with."""


class Refused(Exception):
    """The call is refused. Handlers raise it; the error interceptor sends it.

    `reason` is a name of the catalogue without "REASON_" (anything else is a ValueError here, not a surprise for a
    client). Metadata is for machines: "field", "min", "max", "legal", "rule" and the like. `legal` lists what would
    have been legal, `problems` everything that is wrong with a request.
    """

    legal: tuple[Option, ...] = ()
    problems: tuple[Problem, ...] = ()

    def __init__(self, reason: str, text: str, **metadata: str) -> None:
        if reason not in CODES:
            raise ValueError(f"{reason!r} is not a reason of the catalogue")
        super().__init__(f"{reason}: {text}")
        self.reason = str(reason)
        self.text = text
        self.metadata = metadata

    @property
    def code(self) -> grpc.StatusCode:
        return CODES[self.reason]

    @classmethod
    def from_rejection(cls, rejection: Rejection) -> Self:
        """Returns the refusal of a command by the core: its rule and what would have been right as metadata."""
        numbers = {
            "min": rejection.least,
            "max": rejection.most,
            "turn_id": rejection.turn_id,
            "prompt_id": rejection.prompt_id,
            "balance": rejection.balance,
        }
        metadata = {name: str(number) for name, number in numbers.items() if number is not None}
        words = {"rule": rejection.rule, "legal": legal_text(rejection.legal), "field": rejection.field}
        words["account"] = rejection.account
        metadata |= {name: word for name, word in words.items() if word}
        refused = cls(str(rejection.reason), rejection.text, **metadata)
        refused.legal = rejection.legal
        refused.problems = rejection.problems
        return refused

    @classmethod
    def of_problems(cls, problems: Sequence[Problem]) -> Self:
        """Returns the refusal of a request that is wrong in several places: for the first of them, and all are
        listed.
        """
        first = problems[0]
        bounds = {"min": first.least, "max": first.most}
        metadata = {name: str(bound) for name, bound in bounds.items() if bound is not None}
        refused = cls(first.reason, "; ".join([str(problem) for problem in problems]), field=first.field, **metadata)
        refused.problems = tuple(problems)
        return refused

    def status(self) -> Any:
        """Returns the google.rpc.Status with its details."""
        info = error_details_pb2.ErrorInfo(reason=self.reason, domain=DOMAIN)
        for name, value in list(self.metadata.items())[:MAX_METADATA]:
            info.metadata[name] = cut(str(value))
        number: int = self.code.value[0]
        status = status_pb2.Status(code=number, message=cut(self.text), details=[_packed(info)])
        if self.legal:
            legal = details_pb2.LegalActions(options=[to_message(option) for option in self.legal])
            status.details.append(_packed(legal))
        if self.problems:
            status.details.append(_packed(_wrong_fields(self.problems, MAX_DETAILS - status.ByteSize())))
        return status


def cut(text: str, size: int = MAX_TEXT) -> str:
    """Returns the beginning of a text, that many bytes at most: its characters may be up to four each."""
    return text.encode(errors="replace")[:size].decode(errors="ignore")


def _packed(message: Any) -> any_pb2.Any:
    detail = any_pb2.Any()
    detail.Pack(message)
    return detail


def _wrong_fields(problems: Sequence[Problem], room: int) -> details_pb2.WrongFields:
    """As many as there is room for, in order: without their texts where all of them take too much, for machines need
    none; the first in any case.
    """
    wrong = details_pb2.WrongFields(fields=[_wrong_field(problem) for problem in problems[:MAX_PROBLEMS]])
    if wrong.ByteSize() + _PACKING > room:
        for field in wrong.fields:
            field.ClearField("text")
    while len(wrong.fields) > 1 and wrong.ByteSize() + _PACKING > room:
        del wrong.fields[-1]
    return wrong


_PACKING = 64
"""Bytes by which a detail grows when it is packed: its type's name and three lengths."""


def _wrong_field(problem: Problem) -> details_pb2.WrongField:
    return details_pb2.WrongField(
        reason=problem.reason,
        field=problem.field,
        text=cut(problem.text, MAX_PROBLEM_TEXT),
        min=problem.least,
        max=problem.most,
    )


def legal_text(options: tuple[Option, ...]) -> str:
    """Returns legal actions for people, e.g. "fold; call 200; raise to 400". Amounts are minor units."""
    return "; ".join(phrase(option, options) for option in options)
