"""Pages of docs/ that are made from something else: written, or with ``--check`` only compared."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def write_or_check(target: Path, page: Callable[[], str]) -> int:
    """Write the page; with ``--check`` return 1 when it is stale."""
    text = page()
    if "--check" not in sys.argv:
        target.write_text(text)
    elif not target.exists() or target.read_text() != text:
        sys.stderr.write(f"{target.name} is stale: run `make proto`\n")
        return 1
    return 0
