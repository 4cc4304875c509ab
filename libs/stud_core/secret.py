"""Bytes and cards that must not show themselves: ``repr``, ``str`` and formatting hide the content.

This guards against the accidents that leak secrets (a log line, a traceback with locals, a debugger's
variable view); it is no protection against code that wants to read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Never, overload


class Secret(bytes):
    """A key or a seed. Equal to, and usable as, the bytes it holds."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} bytes>"

    __str__ = __repr__

    def __format__(self, _spec: str) -> str:
        return repr(self)

    def __reduce_ex__(self, _protocol: object) -> Never:
        raise TypeError("a secret is not pickled or copied")


class SecretCards(Sequence[int]):
    """Cards, or anything else that tells of them, in an order that nobody may see.

    Not a tuple: serialisers (of JSON logs, for instance) would write one out without asking.
    """

    __slots__ = ("_cards",)

    def __init__(self, cards: Iterable[int]) -> None:
        self._cards = tuple(cards)

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> SecretCards: ...
    def __getitem__(self, at: int | slice) -> int | SecretCards:
        return SecretCards(self._cards[at]) if isinstance(at, slice) else self._cards[at]

    def __len__(self) -> int:
        return len(self._cards)

    def __iter__(self) -> Iterator[int]:
        return iter(self._cards)

    def __eq__(self, other: object) -> bool:
        return self._cards == (other._cards if isinstance(other, SecretCards) else other)

    def __hash__(self) -> int:
        return hash(self._cards)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)}>"

    def __format__(self, _spec: str) -> str:
        return repr(self)

    def __reduce_ex__(self, _protocol: object) -> Never:
        raise TypeError("secret cards are not pickled or copied")
