"""Changes what services trust, by files that they look at: the development key gets a successor, a token is revoked.

Each file is replaced as a whole, and in an order in which a token that verifies goes on to verify whatever comes in
between.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from stud_service import jwks
from stud_service.keyring import JWT_FOLDER, JWT_PRIVATE, JWT_PUBLIC, home_of, locked, write_whole
from stud_service.revocations import is_token_id, list_of, revoked_in, still_good
from stud_service.settings import ServiceSettings
from stud_service.signing_keys import PublicKey, algorithm_of, key_name, load_private_key, load_public_key
from stud_service.trust import jwks_file, revoked_file

KEPT: Final = 8
"""Keys in the file after a rotation; an older one goes, and with it what it signed."""


class NotOurs(ValueError):
    """The keys are an issuer's elsewhere: it rotates and revokes. The text says what is wanted."""


def rotate(settings: ServiceSettings, *, forget: bool, published: Callable[[], None] = lambda: None) -> str:
    """Makes a new pair that signs from now on; returns its name (`kid`). What the old ones signed is good until it
    ends, or with `forget` no longer. `published` is called when services may read the new key, before it signs. Raises
    KeyFileError, NotOurs, OSError.
    """
    folder = settings.keys_dir
    load_private_key(folder)
    private = home_of(folder, JWT_FOLDER, JWT_PRIVATE)
    with locked(private.parent):
        old = load_public_key(folder)
        new = Ed25519PrivateKey.generate()
        listed = [_entry(new.public_key())] + ([] if forget else [_entry(old), *_listed(jwks_file(settings))])
        kept = list({entry["kid"]: entry for entry in reversed(listed)}.values())[::-1][:KEPT]
        write_whole(jwks_file(settings), json.dumps({"keys": kept}, indent=1).encode() + b"\n")
        published()
        spki = serialization.PublicFormat.SubjectPublicKeyInfo
        write_whole(
            home_of(folder, JWT_FOLDER, JWT_PUBLIC), new.public_key().public_bytes(serialization.Encoding.PEM, spki)
        )
        plain = serialization.NoEncryption()
        write_whole(private, new.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    return key_name(new.public_key())


def _entry(key: PublicKey) -> dict[str, Any]:
    import jwt  # noqa: PLC0415 - slow to load

    made = dict(jwt.get_algorithm_by_name(algorithm_of(key)).to_jwk(key, as_dict=True))
    return {**made, "kid": key_name(key), "use": "sig", "alg": algorithm_of(key)}


def _listed(path: Path) -> list[dict[str, Any]]:
    """What the file has now, as `rotate` wrote it."""
    if not path.exists():
        return []
    try:
        keys = jwks.keys_of(path.read_bytes())
    except ValueError as why:
        raise NotOurs(f"{path}: {why}") from None
    entries = [_entry(key.key) for key in keys]
    if [entry["kid"] for entry in entries] != [key.kid for key in keys]:
        raise NotOurs(f"{path} has keys of an issuer elsewhere: it is for the issuer to replace them")
    return entries


def revoke(settings: ServiceSettings, token_id: str, until_s: float, now_s: float) -> int:
    """Puts a token on the list, until it would have ended; returns how many are on it. Those that have ended are
    dropped. Raises ValueError for what is no id and for a list that cannot be understood, OSError.
    """
    if not is_token_id(token_id):
        raise ValueError("want the id of a token (its jti): 1 to 128 printable characters without spaces")
    path = revoked_file(settings)
    with locked(path.parent):
        revoked = still_good(revoked_in(path.read_bytes()) if path.exists() else {}, now_s)
        revoked[token_id] = max(until_s, revoked.get(token_id, 0.0))
        text = list_of(revoked)
        revoked_in(text)  # which refuses a list that is too long before anybody has it
        write_whole(path, text)
    return len(revoked)
