"""Where the four services listen."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

RUNNING = Path("var/stud.json")
"""Written by `stud up`."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """host:port of each service; the defaults are those of the services themselves."""

    table: str = "127.0.0.1:7101"
    dealer: str = "127.0.0.1:7102"
    rules: str = "127.0.0.1:7103"
    wallet: str = "127.0.0.1:7104"


NAMES = tuple(field.name for field in fields(Endpoints))


def load_endpoints(path: Path | None = None, environ: Mapping[str, str] | None = None, **given: str) -> Endpoints:
    """Returns, for each service, the first of: argument, STUD_<NAME>_ENDPOINT, the file of `stud up`, the default.

    Raises ValueError when the file is there but is none of ours.
    """
    environ = os.environ if environ is None else environ
    from_environ = {name: value for name in NAMES if (value := environ.get(f"STUD_{name.upper()}_ENDPOINT"))}
    return replace(Endpoints(), **{**_of_running(RUNNING if path is None else path), **from_environ, **given})


def _of_running(path: Path) -> dict[str, str]:
    try:
        told = json.loads(path.read_text())["endpoints"]
        return {name: str(told[name]) for name in NAMES if name in told}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as why:
        raise ValueError(f"{path}: not what `stud up` writes ({type(why).__name__})") from None
