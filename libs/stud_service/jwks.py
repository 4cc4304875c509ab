"""A set of keys as an issuer publishes it (JWKS, RFC 7517), read strictly.

What services cannot verify with (keys for encryption, other curves, secrets) is left out: an issuer may publish more
than we need. What cannot be meant (no JSON, a private key, two keys with one name) refuses the whole set.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from stud_service.signing_keys import PublicKey, algorithm_of
from stud_service.trusted import NO_NAME, TrustedKey

MAX_BYTES: Final = 256 * 1024
MAX_KEYS: Final = 64
MAX_KID: Final = 256
KINDS: Final = ("RSA", "EC", "OKP")
PRIVATE: Final = frozenset({"d", "p", "q", "k"})
"""Members that only a private or a shared key has."""


def keys_of(text: bytes) -> tuple[TrustedKey, ...]:
    """Returns the keys of a JWKS document that verify tokens, in its order. Raises ValueError saying what is wanted;
    nothing of the document is quoted.
    """
    found: dict[str, TrustedKey] = {}
    listed = _listed(text)
    for number, entry in enumerate(listed, 1):
        if not isinstance(entry, dict):
            raise ValueError(f"key {number} is no JSON object")
        kid = entry.get("kid", NO_NAME)
        if not isinstance(kid, str) or len(kid) > MAX_KID or not kid.isprintable():
            raise ValueError(f"key {number}: want a kid of at most {MAX_KID} printable characters")
        if entry.get("kty") in KINDS and not PRIVATE.isdisjoint(entry):
            raise ValueError(
                f"key {number} is a private key: want public ones, and a new pair, since this one is known"
            )
        key = _key_of(entry)
        if key is None or (not kid and len(listed) > 1):
            continue
        if kid in found:
            raise ValueError(f"two keys have the kid of key {number}: want each kid once")
        found[kid] = TrustedKey.of(key, kid)
    if not found:
        raise ValueError("no key in it verifies tokens: want RS256, ES256 or EdDSA keys, each with a kid")
    return tuple(found.values())


def _listed(text: bytes) -> list[Any]:
    if len(text) > MAX_BYTES:
        raise ValueError(f"want at most {MAX_BYTES} bytes")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("want JSON: an object with a list of keys under 'keys'") from None
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ValueError("want an object with a list of keys under 'keys'")
    if len(listed) > MAX_KEYS:
        raise ValueError(f"want at most {MAX_KEYS} keys")
    return listed


def _key_of(entry: Mapping[str, Any]) -> PublicKey | None:
    """Returns None for what is no key that verifies tokens."""
    import jwt  # noqa: PLC0415 - slow to load, and of no use where keys come from a PEM file

    operations = entry.get("key_ops")
    for_this = isinstance(operations, list) and "verify" in operations if operations is not None else True
    if entry.get("kty") not in KINDS or entry.get("use", "sig") != "sig" or not for_this:
        return None
    try:
        key = jwt.PyJWK(dict(entry)).key
        algorithm = algorithm_of(key)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError):
        return None
    if entry.get("alg", algorithm) != algorithm or not isinstance(key, PublicKey):
        return None
    return key
