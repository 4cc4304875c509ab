"""How players are called at a table: a public id that says nothing of the account, and what their token says."""

from __future__ import annotations

import hmac
import re
from base64 import b32encode
from hashlib import sha256
from typing import Final

from stud_core.events import Profile
from stud_service.identity import Caller
from stud_service.refusals import Refused
from table_service.names import judged

AVATAR: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,63}")

_LABEL: Final = b"stud public player id 1\0"
_BYTES: Final = 10
"""Of an id: 16 characters, and a million accounts share none."""


class Profiles:
    """Profiles under one key of the table service: with another key everybody has another id."""

    def __init__(self, master: bytes) -> None:
        self._key = hmac.digest(master, _LABEL, sha256)

    def __repr__(self) -> str:
        return "<Profiles>"

    def player_id(self, account: str) -> str:
        """Return an account's public id, 16 characters of ``a-z2-7``."""
        return b32encode(hmac.digest(self._key, account.encode(), sha256)[:_BYTES]).decode().lower()

    def of(self, who: Caller) -> Profile:
        """Return a caller's profile. Raises Refused(INVALID_FIELD) where the token's name or avatar cannot be shown."""
        player = self.player_id(who.account)
        if who.avatar and AVATAR.fullmatch(who.avatar) is None:
            text = "the token's avatar must be 1 to 64 letters, digits and _ . : / -, beginning with a letter or digit"
            raise Refused("INVALID_FIELD", text, field="avatar")
        if not who.nickname:
            return Profile(player, avatar=who.avatar)
        name, key = judged(who.nickname)
        return Profile(player, name, who.avatar, key)
