"""The keys of tokens: which kinds there are, the one algorithm that each is good for, and the files they come from.

The algorithm is pinned by the key, never chosen by a token: EdDSA for an Ed25519 key, ES256 for a P-256 key, RS256 for
an RSA key of 2048 bits or more. No other key is taken.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

from stud_service.keyring import JWT_FOLDER, JWT_PRIVATE, JWT_PUBLIC, home_of

MIN_RSA_BITS = 2048
WANTED = f"want an Ed25519 key, an EC key on P-256, or an RSA key of {MIN_RSA_BITS} bits or more"

PrivateKey = Ed25519PrivateKey | EllipticCurvePrivateKey | RSAPrivateKey
PublicKey = Ed25519PublicKey | EllipticCurvePublicKey | RSAPublicKey


class KeyFileError(ValueError):
    """A key file is missing or holds no usable key. The text names it."""


def algorithm_of(key: object) -> str:
    """Returns the algorithm a key is good for; raises ValueError, saying what is wanted, for one that is not taken."""
    if isinstance(key, (Ed25519PrivateKey, Ed25519PublicKey)):
        return "EdDSA"
    if isinstance(key, (EllipticCurvePrivateKey, EllipticCurvePublicKey)) and isinstance(key.curve, SECP256R1):
        return "ES256"
    if isinstance(key, (RSAPrivateKey, RSAPublicKey)) and key.key_size >= MIN_RSA_BITS:
        return "RS256"
    raise ValueError(WANTED)


def fingerprint(key: PublicKey) -> bytes:
    """Returns 32 bytes that only this key has."""
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).digest()


def key_name(key: PublicKey) -> str:
    """Returns what a key of ours is called in the header of tokens (`kid`): the beginning of its fingerprint."""
    return fingerprint(key).hex()[:16]


def public_key_of(pem: bytes) -> PublicKey:
    """Reads the text of a PEM file; raises ValueError saying what is wanted."""
    try:
        key = serialization.load_pem_public_key(pem)
    except (ValueError, TypeError, UnsupportedAlgorithm) as why:
        raise ValueError(f"cannot be read as a public key ({type(why).__name__})") from None
    algorithm_of(key)
    if not isinstance(key, PublicKey):  # which `algorithm_of` has refused
        raise TypeError(WANTED)
    return key


def load_private_key(keys_dir: Path) -> PrivateKey:
    """Reads `jwt-private.pem`; raises KeyFileError."""
    path = _find(keys_dir, JWT_PRIVATE)
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as why:
        raise KeyFileError(f"{path}: cannot be read as a private key ({type(why).__name__})") from None
    try:
        algorithm_of(key)
    except ValueError as wanted:
        raise KeyFileError(f"{path}: {wanted}") from None
    if not isinstance(key, PrivateKey):
        raise KeyFileError(f"{path}: {WANTED}")
    return key


def load_public_key(keys_dir: Path) -> PublicKey:
    """Reads `jwt-public.pem`; raises KeyFileError."""
    path = _find(keys_dir, JWT_PUBLIC)
    try:
        return public_key_of(path.read_bytes())
    except OSError as why:
        raise KeyFileError(f"{path}: cannot be read as a public key ({type(why).__name__})") from None
    except ValueError as why:
        raise KeyFileError(f"{path}: {why}") from None


def _find(keys_dir: Path, name: str) -> Path:
    try:
        path = home_of(keys_dir, JWT_FOLDER, name)
        if path.is_file():
            return path
    except OSError as why:
        raise KeyFileError(f"{keys_dir} cannot be read ({why.strerror}): set STUD_KEYS_DIR") from None
    raise KeyFileError(
        f"there is no {name} in {keys_dir}: set STUD_KEYS_DIR (`stud up` and `stud token` make keys for development)"
    )
