"""Node and the packages of tests/node, installed once by npm as anybody gets them. Tests that need them are skipped
where either is missing, and say so.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "tests" / "node"
PACKAGES = ("package.json", "package-lock.json", ".npmrc")
OLDEST = 18
INSTALL_WITHIN_S = 90


@cache
def _modules() -> Path | str:
    """The folder of the installed packages, or why there is none."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return "node and npm are not on PATH"
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < OLDEST:
        return f"node is {version}: want {OLDEST} or newer"
    content = b"".join((SOURCES / name).read_bytes() for name in PACKAGES)
    place = ROOT / "var" / "node" / hashlib.sha256(content).hexdigest()[:16]
    if not place.is_dir():
        problem = _install(npm, place)
        if problem:
            return problem
    return place / "node_modules"


def _install(npm: str, place: Path) -> str:
    """Installs beside the place and moves it there, since other workers may do the same now. Returns what failed."""
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=place.parent))
    try:
        for name in PACKAGES:
            shutil.copy(SOURCES / name, beside)
        words = [npm, "ci", "--prefer-offline", "--fetch-retries=1"]
        subprocess.run(words, cwd=beside, check=True, capture_output=True, timeout=INSTALL_WITHIN_S)
        with contextlib.suppress(OSError):  # another worker was faster
            beside.rename(place)
    except subprocess.SubprocessError as fault:
        said = (getattr(fault, "stderr", None) or b"").decode(errors="replace").strip()
        return f"npm could not install the packages: {said[-300:] or type(fault).__name__}"
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return ""


def modules() -> Path:
    """The folder of the installed packages; skips the test where they cannot be had."""
    found = _modules()
    if isinstance(found, str):
        pytest.skip(found)
    return found


async def run(script: str, *words: str | Path, timeout_s: float) -> Any:
    """Runs a script of tests/node and returns the JSON on its last line; fails with what it said otherwise."""
    return json.loads((await said(SOURCES / script, *words, timeout_s=timeout_s))[-1])


async def said(
    script: Path, *words: str | Path, timeout_s: float = 30, cwd: Path | None = None, **environ: str
) -> list[str]:
    """Runs a script and returns the lines that it printed; fails with what it said otherwise."""
    process = await asyncio.create_subprocess_exec(
        *("node", script, *words),
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "NODE_PATH": str(modules()), **environ},
    )
    try:
        async with asyncio.timeout(timeout_s):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, f"{script.name} ended with {process.returncode}: {err.decode()[-4000:]}"
    return out.decode().splitlines()
