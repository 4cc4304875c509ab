"""One document from a web address, with bounds: https, so many bytes, so many seconds, no redirects.

Blocking; `aside` runs it beside the loop.
"""

from __future__ import annotations

import http.client
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

READ_S: Final = 5.0
"""For a connection, and for each piece of an answer."""

WHOLE_S: Final = 10.0
PIECE: Final = 16 * 1024
OWN: Final = frozenset({"127.0.0.1", "::1", "localhost"})


def check_web_address(url: str) -> str:
    """Returns an address that documents are fetched from; raises ValueError saying what is wanted."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("want https://host[:port]/path") from None
    if parts.scheme not in {"https", "http"} or not parts.hostname or port == 0 or "@" in parts.netloc or "#" in url:
        raise ValueError("want https://host[:port]/path, without a user, a password or '#'")
    if parts.scheme == "http" and parts.hostname not in OWN:
        raise ValueError("want https: over http anybody on the way could give us keys (http is for this machine alone)")
    return url


class FetchError(Exception):
    """The document could not be had; the text says why, in a few words."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Where keys come from is for operators to say."""
        return


def fetch(url: str, max_bytes: int, ca: Path | None = None) -> bytes:
    """Returns what is at an address. `ca`: certificates that are trusted beside the system's. Raises FetchError."""
    try:
        context = ssl.create_default_context()
        if ca is not None:
            context.load_verify_locations(ca)
    except (OSError, ValueError) as why:
        raise FetchError(f"the certificates of its CA cannot be read ({type(why).__name__})") from None
    opener = urllib.request.build_opener(_NoRedirects, urllib.request.HTTPSHandler(context=context))
    request = urllib.request.Request(url, headers={"Accept": "application/json", "User-Agent": "stud"})  # noqa: S310
    try:
        with opener.open(request, timeout=READ_S) as answer:
            return _read(answer, max_bytes, time.monotonic() + WHOLE_S)
    except urllib.error.HTTPError as why:
        why.close()
        raise FetchError(f"it answered {why.code}") from None
    except urllib.error.URLError as why:
        raise FetchError(_in_words(why.reason)) from None
    except (OSError, http.client.HTTPException, ValueError) as why:
        raise FetchError(_in_words(why)) from None


def _read(answer: Any, max_bytes: int, until_s: float) -> bytes:
    data = b""
    while piece := answer.read1(PIECE):
        data += piece
        if len(data) > max_bytes:
            raise FetchError(f"its answer has more than {max_bytes} bytes")
        if time.monotonic() > until_s:
            raise FetchError(f"its answer takes longer than {WHOLE_S:g} s")
    return data


def _in_words(why: object) -> str:
    if isinstance(why, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {why.verify_message}"
    if isinstance(why, TimeoutError):
        return f"no answer within {READ_S:g} s"
    if isinstance(why, OSError) and why.strerror:
        return why.strerror.lower()
    return type(why).__name__
