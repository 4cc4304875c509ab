"""A small file that somebody replaces while we run: certificates, keys, a list of tokens.

It is read again when it has changed. What cannot be read, or not be understood, or is gone, changes nothing: what was
read last goes on being good, and `problem` says what is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, TypeVar

T = TypeVar("T")

MAX_BYTES: Final = 256 * 1024


class WatchedFile(Generic[T]):
    """`value` is what the file said last, None while it has said nothing."""

    def __init__(
        self, path: Path, parse: Callable[[bytes], T], *, optional: bool = False, max_bytes: int = MAX_BYTES
    ) -> None:
        """`parse` raises ValueError for what it cannot understand. `optional`: it need not exist, until it has."""
        self.path = path
        self.value: T | None = None
        self.problem = ""
        self.good_at = time.monotonic()
        """When it was last found to be fine."""
        self._parse = parse
        self._optional = optional
        self._max_bytes = max_bytes
        self._seen: tuple[int, ...] | None = None

    def look(self) -> bool:
        """Reads it again if it has changed; returns whether `value` is another one. Never raises."""
        try:
            found = self.path.stat()
            seen = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
            if seen == self._seen and not self.problem:
                self.good_at = time.monotonic()
                return False
            value = self._parse(self._read())
        except FileNotFoundError:
            self._wrong("" if self._optional and self.value is None else "it is not there")
            return False
        except OSError as why:
            self._wrong((why.strerror or type(why).__name__).lower())
            return False
        except ValueError as why:
            self._wrong(str(why))
            return False
        except Exception as why:  # noqa: BLE001  (a library at its wits' end must not end the service)
            self._wrong(f"it cannot be read ({type(why).__name__})")
            return False
        self._seen, self.problem, self.good_at = seen, "", time.monotonic()
        changed = value != self.value
        self.value = value
        return changed

    def _wrong(self, problem: str) -> None:
        self.problem = problem
        if not problem:
            self.good_at = time.monotonic()

    def _read(self) -> bytes:
        with self.path.open("rb") as file:
            data = file.read(self._max_bytes + 1)
        if len(data) > self._max_bytes:
            raise ValueError(f"want at most {self._max_bytes} bytes")
        return data
