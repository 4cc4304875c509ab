"""Keys come from files, are made once, and are never shown."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from stud_service.keyring import (
    FOLDERS,
    JWT_PRIVATE,
    JWT_PUBLIC,
    Key,
    KeyRing,
    KeyringError,
    MissingKey,
    ensure_dev_keys,
)
from stud_service.signing_keys import load_private_key, load_public_key

MATERIAL = bytes(range(100, 132))
FILES = ["dealer.key", "down.key", "referee.key", JWT_PRIVATE, JWT_PUBLIC]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def keys_in(folder: Path) -> list[str]:
    return sorted(path for path in content(folder) if not path.endswith(".lock"))


def test_development_keys_are_made_once(tmp_path: Path):
    keys_dir = tmp_path / "var" / "keys"
    ensure_dev_keys(keys_dir)
    first = content(keys_dir)
    ensure_dev_keys(keys_dir)
    assert content(keys_dir) == first
    assert keys_in(keys_dir) == sorted(FILES)
    ring = KeyRing.load(keys_dir, *FOLDERS)
    assert len({bytes(ring.key(name)) for name in FOLDERS}) == 3


def test_only_their_owner_may_read_them(tmp_path: Path):
    keys_dir = tmp_path / "keys"
    ensure_dev_keys(keys_dir)
    assert stat.S_IMODE(keys_dir.stat().st_mode) == 0o700
    assert {stat.S_IMODE((keys_dir / name).stat().st_mode) for name in FILES} == {0o600}


def test_what_is_missing_is_added_and_the_rest_kept(tmp_path: Path):
    (tmp_path / "down.key").write_bytes(MATERIAL)
    ensure_dev_keys(tmp_path)
    assert KeyRing.load(tmp_path, "down").key("down") == MATERIAL
    (tmp_path / JWT_PUBLIC).unlink()
    private = (tmp_path / JWT_PRIVATE).read_bytes()
    ensure_dev_keys(tmp_path)
    assert (tmp_path / JWT_PRIVATE).read_bytes() == private
    assert load_public_key(tmp_path) == load_private_key(tmp_path).public_key()


def test_no_private_key_is_made_for_somebody_elses_public_one(tmp_path: Path):
    public = Ed25519PrivateKey.generate().public_key()
    assert isinstance(public, Ed25519PublicKey)
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / JWT_PUBLIC).write_bytes(pem)
    ensure_dev_keys(tmp_path)
    assert not (tmp_path / JWT_PRIVATE).exists()
    assert (tmp_path / JWT_PUBLIC).read_bytes() == pem


def test_a_folder_for_each_key_is_used_where_there_is_one(tmp_path: Path):
    for folder in (*FOLDERS.values(), "auth"):
        (tmp_path / folder).mkdir()
    ensure_dev_keys(tmp_path)
    places = ["dealer/dealer.key", "cards/down.key", "seeds/referee.key", f"auth/{JWT_PRIVATE}", f"auth/{JWT_PUBLIC}"]
    assert keys_in(tmp_path) == sorted(places)
    assert KeyRing.load(tmp_path, "down").key("down") == (tmp_path / "cards" / "down.key").read_bytes()
    assert load_public_key(tmp_path) == load_private_key(tmp_path).public_key()


@pytest.mark.process
def test_processes_that_start_together_agree(tmp_path: Path):
    code = f"""
from pathlib import Path
from stud_service.keyring import ensure_dev_keys, KeyRing
import hashlib
ensure_dev_keys(Path({str(tmp_path)!r}))
print([KeyRing.load(Path({str(tmp_path)!r}), name).key(name).key_id for name in ("dealer", "down", "referee")])
"""
    started = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert len({process.communicate(timeout=60)[0] for process in started}) == 1


def test_a_missing_key_is_named(tmp_path: Path):
    with pytest.raises(MissingKey, match=r"down\.key.*referee\.key.*STUD_KEYS_DIR"):
        KeyRing.load(tmp_path, "down", "referee")
    with pytest.raises(KeyringError, match="does not hold the key 'dealer'"):
        KeyRing({"down": MATERIAL}).key("dealer")


@pytest.mark.parametrize("size", [0, 16, 31, 33, 64])
def test_a_key_has_32_bytes(tmp_path: Path, size: int):
    (tmp_path / "down.key").write_bytes(bytes(size))
    with pytest.raises(KeyringError, match=rf"down\.key: the key 'down' has {size} bytes, must have 32"):
        KeyRing.load(tmp_path, "down")


def test_a_key_is_named_by_what_tells_nothing_about_it():
    key = KeyRing({"down": MATERIAL}).key("down")
    assert key.key_id.startswith("down-")
    assert key.key_id == Key("down", MATERIAL).key_id != Key("down", bytes(32)).key_id
    assert key.name == "down"


def test_keys_do_not_show_themselves():
    ring = KeyRing({"down": MATERIAL})
    key = ring.key("down")
    shown = [repr(ring), str(ring), repr(key), str(key), f"{key}", f"{ring!r}", repr([key]), repr({1: key})]
    assert not any(MATERIAL.hex()[:8] in text or "defg" in text for text in shown)
    assert repr(key) == f"<Key {key.key_id}>"
    assert repr(ring) == f"<KeyRing {key.key_id}>"
