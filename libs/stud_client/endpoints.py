"""Where the services are found."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from stud_eventlog.addresses import check_address
from stud_topology.services import NAMES, RUNNING, SERVICES


class Endpoints(Mapping[str, str]):
    """host:port of each service by its name; what is not given is the default of the service itself."""

    def __init__(self, **given: str) -> None:
        """`Endpoints(table="10.0.0.5:7101")`. Raises TypeError for a name that is not a service's, ValueError for
        what is no address.
        """
        if unknown := given.keys() - set(NAMES):
            raise TypeError(f"{', '.join(sorted(unknown))}: want names of services, which are {', '.join(NAMES)}")
        for name, address in given.items():
            _check(name, address)
        self._addresses = {service.name: service.address for service in SERVICES} | given

    def __getitem__(self, name: str) -> str:
        return self._addresses[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._addresses)

    def __len__(self) -> int:
        return len(self._addresses)

    def __repr__(self) -> str:
        return f"Endpoints({', '.join(f'{name}={address!r}' for name, address in self.items())})"


def load_endpoints(path: Path | None = None, environ: Mapping[str, str] | None = None, **given: str) -> Endpoints:
    """Returns, for each service, the first of: argument, STUD_<NAME>_ENDPOINT, the file of `stud up`, the default.

    Raises ValueError when the file is there but is not ours, and for what is no address.
    """
    environ = os.environ if environ is None else environ
    from_environ = {}
    for name in NAMES:
        variable = f"STUD_{name.upper()}_ENDPOINT"
        if value := environ.get(variable):
            from_environ[name] = _check(variable, value)
    return Endpoints(**{**_of_running(RUNNING if path is None else path), **from_environ, **given})


def _check(whose: str, address: str) -> str:
    try:
        return check_address(address)
    except ValueError as wanted:
        raise ValueError(f"{whose}: {wanted}") from None


def _of_running(path: Path) -> dict[str, str]:
    try:
        told = json.loads(path.read_text())["endpoints"]
        return {name: check_address(str(told[name])) for name in NAMES if name in told}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as why:
        raise ValueError(f"{path}: not what `stud up` writes ({type(why).__name__})") from None
