"""Calls that were accepted, and what each was answered first: small enough to be kept for good.

A call is named by who makes it and the request id they gave it; its content is told apart by a digest. Of each call
stay 15 bytes that name it and 28 that say what it was (12 of its content's digest, the version, one number): in memory
about 160 bytes, 142 to 172 by how full the dictionary is. Neither accounts nor request ids are kept, and the garbage
collector looks at none of it.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Final

import msgspec

NAME_SIZE: Final = 15
"""120 bits: nobody finds a second call with the name of another player's. Bytes of up to 15 take 48 in memory."""

CONTENT_SIZE: Final = 12
"""96 bits: whoever looks for two contents with one digest could fool only themselves."""

_ANSWER: Final = struct.Struct(f">{CONTENT_SIZE}sqq")


class First(msgspec.Struct, frozen=True, gc=False):
    """The first answer: version of the commit, and the one number that goes with it (0 = none)."""

    content: bytes
    version: int
    number: int = 0

    def repeats(self, content: bytes) -> bool:
        """Whether a call with this content is the same call; ``content`` is a digest of at least 12 bytes."""
        return self.content == content[:CONTENT_SIZE]


def name_of(caller: str, request_id: str) -> bytes:
    """Name a call. The length keeps apart whom and what a plain sequence of both could mean."""
    text = f"{len(caller)}:{caller}{request_id}"
    return hashlib.blake2b(text.encode(), digest_size=NAME_SIZE).digest()


class Remembered:
    """First answers by name of the call, in the order in which they were given."""

    __slots__ = ("_answers", "_unnamed")
    __hash__ = None  # type: ignore[assignment]  # it changes

    def __init__(self) -> None:
        self._answers: dict[bytes, bytes] = {}
        self._unnamed: list[tuple[str, str, bytes, int, int]] = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remembered) and self._named() == other._named()

    def __len__(self) -> int:
        return len(self._named())

    def get(self, name: bytes) -> First | None:
        """Return what a call was answered first, None if it was never accepted."""
        packed = self._named().get(name)
        return None if packed is None else First(*_ANSWER.unpack(packed))

    def put(self, name: bytes, content: bytes, version: int, number: int = 0) -> None:
        """Remember an accepted call; ``content`` is a digest, ``number`` at most 63 bits."""
        self._named()[name] = _ANSWER.pack(content[:CONTENT_SIZE], version, number)

    def put_unnamed(self, caller: str, request_id: str, content: bytes, version: int, number: int = 0) -> None:
        """Remember an accepted call that is named when somebody asks, if anybody does before all is dropped: making a
        name costs more than all the rest.
        """
        self._unnamed.append((caller, request_id, content, version, number))

    def _named(self) -> dict[bytes, bytes]:
        if self._unnamed:
            for caller, request_id, content, version, number in self._unnamed:
                self._answers[name_of(caller, request_id)] = _ANSWER.pack(content[:CONTENT_SIZE], version, number)
            self._unnamed.clear()
        return self._answers

    def forget(self, name: bytes) -> None:
        """Forget a call, if it is known."""
        self._named().pop(name, None)

    def keep(self, most: int) -> None:
        """Forget the oldest calls above a number."""
        answers = self._named()
        while len(answers) > most:
            del answers[next(iter(answers))]


class Generations:
    """Calls that are remembered for this hand and the last."""

    __slots__ = ("_last", "_now")
    __hash__ = None  # type: ignore[assignment]  # it changes

    def __init__(self) -> None:
        self._now = Remembered()
        self._last = Remembered()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Generations) and (self._now, self._last) == (other._now, other._last)

    def __len__(self) -> int:
        return len(self._now) + len(self._last)

    def get(self, name: bytes) -> First | None:
        """Return what a call was answered first, None if it is not known (any more)."""
        return self._now.get(name) or self._last.get(name)

    def put(self, name: bytes, content: bytes, version: int, number: int = 0, *, most: int | None = None) -> None:
        """Remember an accepted call; with ``most``, no more than that many of this hand's."""
        self._now.put(name, content, version, number)
        if most is not None:
            self._now.keep(most)

    def put_unnamed(self, caller: str, request_id: str, content: bytes, version: int, number: int = 0) -> None:
        """Remember an accepted call of this hand that is named when somebody asks."""
        self._now.put_unnamed(caller, request_id, content, version, number)

    def turn(self) -> None:
        """Another hand begins: what is older than the last is forgotten."""
        self._last, self._now = self._now, Remembered()
