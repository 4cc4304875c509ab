"""Where the services are found."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from stud_client.tls import Tls, tls_of
from stud_eventlog.addresses import check_endpoint
from stud_topology.services import NAMES, RUNNING, SERVICES


class Endpoints(Mapping[str, str]):
    """host:port of each service by its name, `grpcs://host:port` where it speaks TLS; what is not given is the default
    of the service itself.
    """

    def __init__(self, **given: str) -> None:
        """`Endpoints(table="grpcs://10.0.0.5:7101")`. Raises TypeError for a name that is not a service's, ValueError
        for what is no address.
        """
        self.tls = tls_of()
        """What is trusted, as the environment says."""
        if unknown := given.keys() - set(NAMES):
            raise TypeError(f"{', '.join(sorted(unknown))}: want names of services, which are {', '.join(NAMES)}")
        for name, address in given.items():
            _check(name, address)
        self._addresses = {service.name: service.address for service in SERVICES} | given

    def trusting(self, tls: Tls) -> Endpoints:
        """Returns the same services, with something else trusted."""
        found = Endpoints(**self)
        found.tls = tls
        return found

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
    running = _of_running(RUNNING if path is None else path)
    from_environ = {}
    for name in NAMES:
        variable = f"STUD_{name.upper()}_ENDPOINT"
        if value := environ.get(variable):
            from_environ[name] = _check(variable, value)
    return Endpoints(**{**running.endpoints, **from_environ, **given}).trusting(tls_of(environ, running.tls))


def _check(whose: str, address: str) -> str:
    try:
        return check_endpoint(address)
    except ValueError as wanted:
        raise ValueError(f"{whose}: {wanted}") from None


class _Running(NamedTuple):
    """What `stud up` wrote."""

    endpoints: Mapping[str, str] = {}
    tls: Mapping[str, str] = {}


def _of_running(path: Path) -> _Running:
    try:
        told = json.loads(path.read_text())
        tls = {name: str(value) for name, value in dict(told.get("tls") or {}).items()}
        return _Running(
            {name: check_endpoint(str(told["endpoints"][name])) for name in NAMES if name in told["endpoints"]}, tls
        )
    except FileNotFoundError:
        return _Running()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as why:
        raise ValueError(f"{path}: not what `stud up` writes ({type(why).__name__})") from None
