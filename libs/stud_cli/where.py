"""Where a running system is: ``--endpoints``, else the environment, else ``var/stud.json``, else the defaults."""

from __future__ import annotations

from stud_cli.exit_codes import said_as
from stud_client import Endpoints, load_endpoints
from stud_eventlog.addresses import SECURE


def parsed(text: str) -> dict[str, str]:
    """Return ``table=host:port,wallet=host:port`` as a mapping; raises ValueError."""
    pairs = [pair.partition("=") for pair in text.split(",")]
    if any(not name or ":" not in address for name, _, address in pairs):
        raise ValueError(
            f"{text!r}: want names of services and addresses, such as table=10.0.0.5:7101,wallet=10.0.0.5:7104"
        )
    names = [name.strip() for name, _, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice} is named twice: want one address for each service")
    return {name.strip(): address.strip() for name, _, address in pairs}


def endpoints(text: str) -> Endpoints:
    """Return where the services are; what ``text`` does not name comes from elsewhere. Raises CouldNotRun."""
    if not text:
        with said_as("{}", ValueError):
            return _readable(load_endpoints())
    with said_as("--endpoints: {}", ValueError, TypeError):
        known = load_endpoints()
        return _readable(Endpoints(**{**known, **parsed(text)}).trusting(known.tls))


def _readable(endpoints: Endpoints) -> Endpoints:
    """Raises ValueError now, and not at the first call, where a file of TLS cannot be read."""
    if any(address.startswith(SECURE) for address in endpoints.values()):
        endpoints.tls.credentials()
    return endpoints
