"""The one table of services. What differs from service to service by name alone is derived from it: settings,
endpoints, health, `stud up`, `stud dead`, the rights that the access list is held against, and above all who must have
passed an entry of a feed before it is dropped. A reader that is not named here may not read (`FeedReader`), so none can
be forgotten by those who trim.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from stud_eventlog import keys
from stud_eventlog.keys import Kind

HOST: Final = "127.0.0.1"

LOG_PORT: Final = 7100
"""The log's server in a local run; the services follow."""

RUNNING: Final = Path("var/stud.json")
"""Where `stud up` writes what it has started."""


METRICS_ABOVE: Final = 10
"""A service's metrics are so many ports above the service."""


class Service(NamedTuple):
    """A kind of process. It is the only one that writes its log and its feed."""

    name: str
    port: int
    """Where it listens if it is not told."""

    log: Kind | None
    """None: it decides nothing, and only reads."""

    feed: Kind | None
    """None: others read its log as a feed, or nobody does."""

    follows: tuple[Kind, ...]
    """Read in order and by cursor: entries of these feeds stay until this service has passed them. A log among them is
    read as a feed, and never trimmed.
    """

    looks_up: tuple[Kind, ...] = ()
    """Other logs that it reads where it needs to."""

    @property
    def metrics_port(self) -> int:
        """Where Prometheus asks it if it is not told."""
        return self.port + METRICS_ABOVE

    @property
    def grpc_name(self) -> str:
        """As health and reflection name it."""
        return f"stud.{self.name}.v1.{self.name.capitalize()}Service"

    @property
    def module(self) -> str:
        """What `python -m` runs."""
        return f"{self.name}_service"

    @property
    def address(self) -> str:
        """host:port where it listens, and is looked for, by default."""
        return f"{HOST}:{self.port}"


SERVICES: Final = (
    Service("wallet", 7104, "ledger", "ledger-feed", ("table-events", "verdicts"), looks_up=("table",)),
    Service("dealer", 7102, "deck", "dealer-events", ("table-events",), looks_up=("table",)),
    Service("rules", 7103, "verdicts", None, ("dealer-events",), looks_up=("table", "deck")),
    Service("table", 7101, "table", "table-events", ("dealer-events", "verdicts", "ledger-feed"), looks_up=("ledger",)),
)
"""Those who answer questions come before those who ask them. None needs another to start; they are stopped from the
last to the first.
"""

EDGE: Final = Service("edge", 7109, None, None, ())
"""What browsers talk to, where anybody wants it: it hands calls on to the services, decides nothing, and has neither a
log nor a key. So it is none of SERVICES: nobody waits for it, and all else goes on without it.
"""

PROCESSES: Final = (*SERVICES, EDGE)
"""All that there is to start; the edge last, since it asks all the others."""

NAMES: Final = tuple(service.name for service in SERVICES)
BY_PORT: Final = tuple(sorted(SERVICES, key=lambda service: service.port))


def service_called(name: str, services: Iterable[Service] = SERVICES) -> Service:
    """Raises ValueError, naming the services there are. The edge is found in PROCESSES."""
    for service in services:
        if service.name == name:
            return service
    known = ", ".join(service.name for service in services)
    raise ValueError(f"{name} is no service: want one of {known}. All are in {__name__}.SERVICES")


def readers_of(feed: Kind, services: Iterable[Service] = SERVICES) -> tuple[str, ...]:
    """Returns the names of those who follow feeds of that kind: what all of them have passed may be dropped."""
    return tuple(service.name for service in services if feed in service.follows)


def streams_of(kind: Kind, currencies: Sequence[str], shards: Iterable[int] = range(keys.SHARDS)) -> list[str]:
    """Returns the keys of all feeds of one kind, or of logs that are read as feeds: one per shard, and per currency
    where they are a ledger's. Raises ValueError for logs of tables and decks, of which there is one a table.
    """
    match kind:
        case "table-events":
            return [keys.table_feed(shard) for shard in shards]
        case "dealer-events":
            return [keys.dealer_feed(shard) for shard in shards]
        case "verdicts":
            return [keys.verdicts(shard) for shard in shards]
        case "ledger-feed":
            return [keys.ledger_feed(currency, shard) for shard in shards for currency in currencies]
        case _:
            raise ValueError(f"{kind} is no feed, and not read as one")


def followed_by(service: Service, currencies: Sequence[str], shards: Iterable[int] = range(keys.SHARDS)) -> list[str]:
    """Returns the keys of all that a service follows, shard by shard."""
    return [feed for shard in shards for kind in service.follows for feed in streams_of(kind, currencies, [shard])]


def trimmed_by(
    service: Service, currencies: Sequence[str], services: Sequence[Service] = SERVICES
) -> dict[str, tuple[str, ...]]:
    """Returns, for each feed that a service writes, the readers that must have passed what it drops."""
    if service.feed is None:
        return {}
    return dict.fromkeys(streams_of(service.feed, currencies), readers_of(service.feed, services))
