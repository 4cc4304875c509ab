"""Keeps what is trusted up to date: keys from files and from the issuer's address, revocations from a file.

    jwt-public.pem     one key, without a name            in the keys directory, as ever
    jwks.json          keys by name (`kid`)               STUD_JWKS_FILE, else in the keys directory
    STUD_JWKS_URL      keys by name, of the issuer        fetched beside the loop
    revoked.txt        tokens that are good no longer     STUD_REVOKED_FILE, else in the keys directory

All are optional, but for one key. Files are looked at every two seconds, the address every STUD_JWKS_REFRESH_S, and at
once (but not more often than every ten seconds) when a token names a key that nobody knows. What cannot be had or
understood changes nothing: what was read last is good until something better is read, and that it is old is told.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import structlog

from stud_service import jwks
from stud_service.aside import aside
from stud_service.fetching import FetchError, fetch
from stud_service.keyring import JWT_FOLDER, JWT_PUBLIC, home_of
from stud_service.revocations import MAX_BYTES, revoked_in, still_good
from stud_service.settings import ServiceSettings
from stud_service.signing_keys import KeyFileError, load_public_key, public_key_of
from stud_service.trusted import KeySet, Trusted, TrustedKey
from stud_service.watched_file import WatchedFile

JWKS_FILE: Final = "jwks.json"
REVOKED_FILE: Final = "revoked.txt"
LOOK_S: Final = 2.0
SOONEST_S: Final = 10.0
"""Between two questions at the issuer's address, whoever asks with whatever token."""

GIVEN_UP_S: Final = 30.0
"""An answer that takes longer (in a name server, say) counts as none."""

SPREAD: Final = 0.1
"""Four services, and everybody's, do not ask at the same moment."""

logger = structlog.get_logger(__name__)


def revoked_file(settings: ServiceSettings) -> Path:
    """Returns where the list of revoked tokens is."""
    return settings.revoked_file or home_of(settings.keys_dir, JWT_FOLDER, REVOKED_FILE)


def jwks_file(settings: ServiceSettings) -> Path:
    """Returns where the file with keys by name is."""
    return settings.jwks_file or home_of(settings.keys_dir, JWT_FOLDER, JWKS_FILE)


class Trust:
    """One for a process. `trusted` is what all of it comes to."""

    def __init__(
        self,
        settings: ServiceSettings,
        *,
        on_change: Callable[[], None] = lambda: None,
        clock_s: Callable[[], float] = time.time,
        soonest_s: float = SOONEST_S,
    ) -> None:
        """Reads the files for the first time. Raises KeyFileError where nothing is trusted, or what a file says cannot
        be understood: a service does not start with less than it was given.
        """
        self._settings, self._clock_s, self._soonest_s = settings, clock_s, soonest_s
        folder = settings.keys_dir
        self._pem = WatchedFile(
            home_of(folder, JWT_FOLDER, JWT_PUBLIC), lambda pem: TrustedKey.of(public_key_of(pem)), optional=True
        )
        self._file = WatchedFile(jwks_file(settings), jwks.keys_of, optional=settings.jwks_file is None)
        self._revoked = WatchedFile(
            revoked_file(settings), revoked_in, optional=settings.revoked_file is None, max_bytes=MAX_BYTES
        )
        self._issuer = IssuerKeys(settings.jwks_url, settings.jwks_ca) if settings.jwks_url else None
        self._wanted = asyncio.Event()
        self._told: dict[str, str] = {}
        self._stuck_since: float | None = None
        self._read_first()
        self.trusted = Trusted(self._keys(), self._still_revoked())
        self.trusted.on_unknown_key = self._wanted.set
        self.trusted.on_change.append(on_change)

    def _read_first(self) -> None:
        for file in self._files().values():
            file.look()
            if file.problem and not (file is self._pem and self._has_others()):
                raise KeyFileError(f"{file.path}: {file.problem}")
        if not self._keys() and self._issuer is None:
            load_public_key(self._settings.keys_dir)  # which says what is missing

    def _has_others(self) -> bool:
        return self._issuer is not None or self._file.value is not None

    def _files(self) -> dict[str, WatchedFile[Any]]:
        return {"public_key": self._pem, "jwks_file": self._file, "revoked": self._revoked}

    def _keys(self) -> KeySet:
        """Files first: they were put there by whoever runs this."""
        return KeySet(self._each_key())

    def _each_key(self) -> Iterator[TrustedKey]:
        yield from self._file.value or ()
        yield from self._issuer.keys if self._issuer is not None else ()
        if self._pem.value is not None:
            yield self._pem.value

    def _still_revoked(self) -> dict[str, float]:
        return still_good(self._revoked.value or {}, self._clock_s())

    # While it runs

    async def follow_files(self) -> None:
        """Looks at the files again and again. Never returns."""
        while True:
            looks = aside(self._look, "look at keys")
            await asyncio.wait([looks], timeout=GIVEN_UP_S)
            if not looks.done():
                self._stuck_since = time.monotonic() - GIVEN_UP_S
                self.problems()
                await asyncio.wait([looks])
                self._stuck_since = None
            self._take()
            await asyncio.sleep(LOOK_S)

    async def follow_issuer(self) -> None:
        """Asks the issuer, where there is an address, for its keys again and again."""
        while self._issuer is not None:
            asked_at = time.monotonic()
            self._wanted.clear()
            await self._issuer.ask()
            self._take()
            await asyncio.sleep(self._soonest_s)
            if self._issuer.problem:
                continue
            every_s = self._settings.jwks_refresh_s * random.uniform(1 - SPREAD, 1 + SPREAD)  # noqa: S311  (no secret)
            try:
                async with asyncio.timeout(max(0.0, asked_at + every_s - time.monotonic())):
                    await self._wanted.wait()
            except TimeoutError:
                pass

    def _look(self) -> None:
        for file in self._files().values():
            file.look()

    def _take(self) -> None:
        if self.trusted.change(self._keys(), self._still_revoked()):
            logger.warning("trust_changed", kids=self.trusted.keys.kids(), revoked=len(self.trusted.revoked))
        self.problems()

    def problems(self) -> dict[str, str]:
        """Returns what is wrong with each source, and logs what was not known yet."""
        found = {name: file.problem for name, file in self._files().items() if file.problem}
        if self._stuck_since is not None:
            found = dict.fromkeys(self._files(), "its file system does not answer")
        if self._issuer is not None and self._issuer.problem:
            found["jwks_url"] = self._issuer.problem
        for name, problem in found.items():
            if self._told.get(name) != problem:
                logger.error("trust_is_stale", source=name, why=problem)
        for name in self._told.keys() - found.keys():
            logger.warning("trust_is_fresh", source=name)
        self._told = found
        return found

    def stale_s(self) -> dict[str, float]:
        """Returns for how many seconds each source could not be read; 0 = it can."""
        now = time.monotonic()
        stale = {name: now - file.good_at if file.problem else 0.0 for name, file in self._files().items()}
        if self._stuck_since is not None:
            stale = dict.fromkeys(stale, now - self._stuck_since)
        if self._issuer is not None:
            stale["jwks_url"] = now - self._issuer.good_at if self._issuer.problem else 0.0
        return stale


class IssuerKeys:
    """The keys at an address. One question at a time, also where an answer never comes."""

    def __init__(self, url: str, ca: Path | None) -> None:
        self.keys: tuple[TrustedKey, ...] = ()
        self.problem = ""
        self.good_at = time.monotonic()
        self._url, self._ca = url, ca
        self._asking: asyncio.Future[tuple[TrustedKey, ...]] | None = None

    async def ask(self) -> None:
        """Never raises but for a cancellation; `problem` says what went wrong."""
        if self._asking is None or self._asking.done():
            self._asking = aside(lambda: jwks.keys_of(fetch(self._url, jwks.MAX_BYTES, self._ca)), "fetch keys")
        done, _ = await asyncio.wait([self._asking], timeout=GIVEN_UP_S)
        if not done:
            self.problem = f"no answer within {GIVEN_UP_S:g} s"
            return
        try:
            self.keys = self._asking.result()
        except (FetchError, ValueError) as why:
            self.problem = str(why)
            return
        except Exception as why:  # noqa: BLE001  (nothing that an issuer says may end the service)
            self.problem = f"its answer cannot be read ({type(why).__name__})"
            return
        self.problem, self.good_at = "", time.monotonic()
