"""Who calls: a token from a file or the environment, else one that is made with the development key for ``--as NAME``.

A token is read here without its signature, to say whose it is and when it ended; whether it is good is the services'
to judge.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import os
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from stud_cli.exit_codes import could_not_run, said_as
from stud_cli.local.keys import keys_dir
from stud_service.settings import load_settings
from stud_service.signing_keys import load_private_key
from stud_service.tokens import mint

LIFE_S = 300
"""Of a token that is made for one command."""

TOOLS = "stud-tools"
"""Who asks where nobody is named and nothing is decided."""


class Claims(msgspec.Struct):
    """What a token says of itself; ``exp`` in seconds since the epoch."""

    sub: str
    exp: float = 0.0
    roles: list[str] = []
    jti: str = ""


class Identity(msgspec.Struct, frozen=True):
    """A caller and their token."""

    name: str
    token: str


def identify(name: str, token_file: Path | None, keys: Path | None, roles: Sequence[str], *, decides: bool) -> Identity:
    """Return who calls as one of ``roles``; whoever ``decides`` something has a name. Raises CouldNotRun."""
    told = _told(token_file)
    if told is not None:
        place, token = told
        return _checked(place, token, name)
    name = name or os.environ.get("STUD_AS", "")
    if not name.isprintable():
        could_not_run(
            "who you are (--as or STUD_AS) is no text that can be kept: want an account or operator, e.g. ada"
        )
    if not name and decides:
        could_not_run(
            "say who you are, since the log notes who decides: --as NAME (or STUD_AS), or a token (STUD_TOKEN)"
        )
    return Identity(name or TOOLS, _made(name or TOOLS, roles[0], keys))


def _told(token_file: Path | None) -> tuple[str, str] | None:
    """Where a token was given, and the token."""
    if token_file is not None:
        with said_as(f"{token_file} cannot be read ({{}}): want a file with a token", OSError, UnicodeDecodeError):
            return str(token_file), token_file.read_text().strip()
    token = os.environ.get("STUD_TOKEN", "").strip()
    return ("STUD_TOKEN", token) if token else None


def _checked(place: str, token: str, name: str) -> Identity:
    claims = read_claims(token)
    if claims is None:
        could_not_run(f"{place} holds no token: want what `stud token` or your issuer printed, in one line")
    if name and claims.sub != name:
        could_not_run(f"the token of {place} speaks for {claims.sub}, not for {name}: leave one of them out")
    late_s = time.time() - claims.exp
    if claims.exp and late_s >= 0:
        when = dt.datetime.fromtimestamp(claims.exp, dt.UTC)
        ended = f"expired at {when:%Y-%m-%d %H:%M:%S} UTC, {span(late_s)} ago"
        could_not_run(f"the token of {claims.sub} ({place}) {ended}: get a new one")
    return Identity(claims.sub, token)


def read_claims(token: str) -> Claims | None:
    """Return what a token says, unverified; None where it is none."""
    parts = token.split(".")
    if len(parts) != 3 or not (token.isascii() and token.isprintable()):
        return None
    try:
        payload = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return msgspec.json.decode(payload, type=Claims)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        return None


def span(seconds: float) -> str:
    """Return a length of time in its greatest unit: ``3 minutes``."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {unit}{'s' if number > 1 else ''}"
    number = max(0, int(seconds))
    return f"{number} second{'' if number == 1 else 's'}"


def _made(name: str, role: str, keys: Path | None) -> str:
    way_out = (
        "--token-file FILE or STUD_TOKEN brings a token, --keys DIR or STUD_KEYS_DIR the key that one is made with"
    )
    with said_as(f"nobody says who you are ({{}}): {way_out}", ValueError):
        life_s = min(LIFE_S, load_settings("table").token_max_life_s)
        return mint(name, [role], life_s, load_private_key(keys_dir() if keys is None else keys))
