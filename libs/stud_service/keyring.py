"""The keys a service holds, read once at start from files of exactly 32 bytes in the keys directory.

    dealer.key    seals seeds at rest                       dealer
    down.key      master of the keys that seal down cards   dealer, table
    referee.key   seals seeds of closed hands               dealer, rules
    jwt-private.pem, jwt-public.pem   EdDSA pair of the development issuer

A service that is not given a key cannot read what that key seals. A deployment that gives each service only what it
needs has a folder for each: dealer/dealer.key, cards/down.key, seeds/referee.key, auth/jwt-*.pem.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from stud_core.secret import Secret

KEY_BYTES: Final = 32
JWT_PRIVATE: Final = "jwt-private.pem"
JWT_PUBLIC: Final = "jwt-public.pem"
FOLDERS: Final = {"dealer": "dealer", "down": "cards", "referee": "seeds"}
JWT_FOLDER: Final = "auth"

_FINGERPRINT: Final = b"stud/v1/key-id"


class KeyringError(ValueError):
    """A key is missing or invalid; the message says what to do and holds no material. A service then does not start."""


class MissingKey(KeyringError):
    """There is no such file."""


class Key(Secret):
    """A 256-bit key. ``key_id`` names it without telling anything about it."""

    name: str
    key_id: str

    def __new__(cls, name: str, material: bytes) -> Self:
        if len(material) != KEY_BYTES:
            raise KeyringError(f"the key {name!r} has {len(material)} bytes, must have {KEY_BYTES}")
        self = super().__new__(cls, material)
        self.name = name
        self.key_id = f"{name}-{hashlib.sha256(_FINGERPRINT + material).hexdigest()[:8]}"
        return self

    def __repr__(self) -> str:
        return f"<Key {self.key_id}>"

    __str__ = __repr__


class KeyRing:
    """Named keys. ``repr`` shows which, never what they are."""

    __slots__ = ("_keys",)

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._keys = {name: Key(name, material) for name, material in keys.items()}

    def __repr__(self) -> str:
        return f"<KeyRing {', '.join(key.key_id for key in self._keys.values())}>"

    @classmethod
    def load(cls, keys_dir: Path, *names: str) -> KeyRing:
        """Read the keys with these names. Raises MissingKey naming every file that is missing, KeyringError for one
        that holds no key.
        """
        paths = {name: home_of(keys_dir, FOLDERS[name], f"{name}.key") for name in names}
        missing = [str(path) for path in paths.values() if not path.is_file()]
        if missing:
            raise MissingKey(
                f"missing {', '.join(missing)}: mount the {KEY_BYTES}-byte keys there, set STUD_KEYS_DIR, "
                "or let `stud up` or `stud token` make development keys"
            )
        read = {name: path.read_bytes() for name, path in paths.items()}
        try:
            return cls(read)
        except KeyringError as why:
            broken = ", ".join(str(paths[name]) for name, material in read.items() if len(material) != KEY_BYTES)
            raise KeyringError(f"{broken}: {why}") from None

    def key(self, name: str) -> Key:
        """Return a key; raises KeyringError when this service was not given it."""
        try:
            return self._keys[name]
        except KeyError:
            raise KeyringError(f"this service does not hold the key {name!r}") from None


def ensure_dev_keys(keys_dir: Path) -> None:
    """Make what is missing of the three keys and the JWT pair, for development; files of mode 0600 in a 0700 folder.

    Safe to call from several processes at once. An existing key is never replaced; a private JWT key is not made
    where only a public one was given, since that one belongs to an issuer elsewhere. Raises OSError where nothing can
    be written, KeyringError when the private JWT key is not one.
    """
    keys_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, folder in FOLDERS.items():
        path = home_of(keys_dir, folder, f"{name}.key")
        with locked(path.parent):
            if not path.exists():
                write_whole(path, os.urandom(KEY_BYTES))
    private = home_of(keys_dir, JWT_FOLDER, JWT_PRIVATE)
    with locked(private.parent):
        _ensure_jwt_pair(private, home_of(keys_dir, JWT_FOLDER, JWT_PUBLIC))


def home_of(keys_dir: Path, folder: str, name: str) -> Path:
    """Returns where a key is: in the keys directory, or in a folder of its own below it if there is one, as where
    several mounts make up the directory.
    """
    flat = keys_dir / name
    return keys_dir / folder / name if not flat.exists() and (keys_dir / folder).is_dir() else flat


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Held by one process at a time."""
    with (folder / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _ensure_jwt_pair(private: Path, public: Path) -> None:
    if public.exists():
        return
    if private.exists():
        key = _read_private(private)
    else:
        key = Ed25519PrivateKey.generate()
        plain = serialization.NoEncryption()
        write_whole(private, key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    write_whole(
        public,
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
    )


def _read_private(path: Path) -> PrivateKeyTypes:
    try:
        return serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as why:
        raise KeyringError(f"{path}: cannot be read as a private key ({type(why).__name__})") from None


def write_whole(path: Path, data: bytes) -> None:
    """Write a whole file or none: no reader meets half a key, and no crash leaves one."""
    half = path.with_name(f".{path.name}.new")
    half.unlink(missing_ok=True)
    descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    half.replace(path)
