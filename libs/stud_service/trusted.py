"""What is trusted at this moment: the keys that tokens are verified with, and the tokens that are revoked all the same.

`trust` keeps it up to date from files and the issuer's address; `tokens` judges by it. No I/O here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from stud_service.signing_keys import PublicKey, algorithm_of, fingerprint

NO_NAME: Final = ""
"""The `kid` of a key that has none."""


class TrustedKey(NamedTuple):
    """A key, what tokens call it, and the one algorithm that it verifies."""

    kid: str
    key: PublicKey
    algorithm: str
    fingerprint: bytes

    @classmethod
    def of(cls, key: PublicKey, kid: str = NO_NAME) -> TrustedKey:
        """Raises ValueError for a key that is not taken."""
        return cls(kid, key, algorithm_of(key), fingerprint(key))


class KeySet:
    """Keys by name. One without a name serves all tokens that name no key of the others: a single key in a file, as
    ever, beside those of an issuer.
    """

    def __init__(self, keys: Iterable[TrustedKey] = ()) -> None:
        """Of two keys with one name the first counts."""
        self._by_kid: dict[str, TrustedKey] = {}
        for key in keys:
            self._by_kid.setdefault(key.kid, key)
        self._fingerprints = frozenset(key.fingerprint for key in self._by_kid.values())

    def __len__(self) -> int:
        return len(self._by_kid)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, TrustedKey) and key.fingerprint in self._fingerprints

    def __iter__(self) -> Iterator[TrustedKey]:
        return iter(self._by_kid.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeySet) and self._prints() == other._prints()

    __hash__ = None  # type: ignore[assignment]  # equal by content, and nobody's key

    def named(self, kid: str | None) -> TrustedKey | None:
        """Returns the key that a token names; for one that names none the only key, or the one without a name."""
        if kid:
            found = self._by_kid.get(kid)
            if found is not None:
                return found
        elif len(self._by_kid) == 1:
            return next(iter(self._by_kid.values()))
        return self._by_kid.get(NO_NAME)

    def kids(self) -> list[str]:
        """Returns the names, for the log."""
        return sorted(kid or "(no kid)" for kid in self._by_kid)

    def _prints(self) -> dict[str, bytes]:
        return {kid: key.fingerprint for kid, key in self._by_kid.items()}


class Trusted:
    """Keys and revocations, as they are now. Whoever has judged by them is told when they change."""

    def __init__(self, keys: KeySet, revoked: Mapping[str, float] | None = None) -> None:
        """`revoked`: the ids (`jti`) of tokens, and when each would have ended, seconds since the epoch."""
        self.keys = keys
        self.revoked: Mapping[str, float] = {} if revoked is None else revoked
        self.on_change: list[Callable[[], None]] = []
        self.on_unknown_key: Callable[[], None] = lambda: None
        """Told of a token whose key nobody knows: it may be a new one."""

    def change(self, keys: KeySet, revoked: Mapping[str, float]) -> bool:
        """Takes what is read now; returns whether it is different."""
        if keys == self.keys and revoked == self.revoked:
            return False
        self.keys, self.revoked = keys, revoked
        for tell in self.on_change:
            tell()
        return True
