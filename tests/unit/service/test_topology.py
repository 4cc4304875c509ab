"""One table says who reads what; nobody who reads can be forgotten by those who trim."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stud_client import Endpoints, StudClient
from stud_eventlog import keys
from stud_service import feeds as feeds_module
from stud_service.feeds import FeedReader
from stud_service.runtime import Runtime
from stud_service.settings import ServiceSettings, load_settings
from stud_topology import services
from stud_topology.services import (
    BY_PORT,
    SERVICES,
    Service,
    followed_by,
    readers_of,
    service_called,
    streams_of,
    trimmed_by,
)
from tests.arch.repository import ROOT
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated

FIFTH = Service("archive", 7109, None, None, ("table-events", "dealer-events", "ledger-feed", "verdicts"))


def test_what_each_service_follows():
    currencies = ["EUR", "XTS"]
    assert followed_by(service_called("table"), currencies, [7]) == [
        "{s07}:dealer-events",
        "{s07}:verdicts",
        "{ledger:EUR}:to:s07",
        "{ledger:XTS}:to:s07",
    ]
    assert followed_by(service_called("wallet"), currencies, [7]) == ["{s07}:table-events", "{s07}:verdicts"]
    assert followed_by(service_called("dealer"), currencies, [7]) == ["{s07}:table-events"]
    assert followed_by(service_called("rules"), currencies, [7]) == ["{s07}:dealer-events"]
    for service in SERVICES:
        assert len(followed_by(service, ["EUR"])) == keys.SHARDS * len(service.follows)


def test_every_log_and_feed_has_one_writer_and_every_feed_a_reader():
    written = [kind for service in SERVICES for kind in (service.log, service.feed) if kind is not None]
    assert len(written) == len(set(written))
    assert set(written) == keys.LOG_KINDS | {"table-events", "dealer-events", "ledger-feed"}
    for service in SERVICES:
        assert service.feed is None or readers_of(service.feed)
        assert {service.log, service.feed}.isdisjoint({*service.follows, *service.looks_up})
        assert service.feed is None or service.log is not None, "a feed tells what was decided"
        assert set(service.follows) <= set(written)
        assert set(service.looks_up) <= keys.LOG_KINDS


def test_only_feeds_are_trimmed_and_by_whoever_writes_them():
    assert trimmed_by(service_called("rules"), ["EUR"]) == {}
    trimmed = [feed for service in SERVICES for feed in trimmed_by(service, ["EUR", "USD"])]
    assert len(trimmed) == len(set(trimmed)) == 4 * keys.SHARDS
    for kind in keys.LOG_KINDS - {"verdicts"}:
        with pytest.raises(ValueError, match="no feed"):
            streams_of(kind, ["EUR"])


def test_names_and_ports_are_told_apart():
    assert len({service.name for service in SERVICES}) == len({service.port for service in SERVICES}) == len(SERVICES)
    assert services.LOG_PORT not in {service.port for service in SERVICES}
    assert [service.port for service in BY_PORT] == sorted(service.port for service in SERVICES)


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_what_is_named_is_there(service: Service):
    assert (ROOT / "services" / service.module / "__main__.py").is_file()
    assert f"service {service.grpc_name.rpartition('.')[2]} {{" in "".join(
        path.read_text() for path in (ROOT / "protos/stud" / service.name).rglob("*.proto")
    )
    assert load_settings(service.name, environ={}).listen == service.address == Endpoints()[service.name]


async def test_the_client_has_a_stub_for_each():
    async with StudClient(Endpoints(), "token") as client:
        stubs = [name for name, member in vars(StudClient).items() if isinstance(member, property)]
        made = [getattr(client, name) for name in stubs]
        assert len(made) == len(SERVICES)
        assert set(client._channels) == set(services.NAMES)


def test_a_name_that_is_no_services_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=f"archive is no service: want one of {', '.join(services.NAMES)}"):
        service_called("archive")
    with pytest.raises(TypeError, match=r"archive, mint: want names of services, which are wallet"):
        Endpoints(mint="h:1", archive="h:2")
    with pytest.raises(ValueError, match="archive is no service"):
        load_settings("archive")


def test_endpoints_are_a_mapping():
    given = Endpoints(table="h:1")
    assert (dict(given), len(given)) == ({**dict(Endpoints()), "table": "h:1"}, len(SERVICES))
    assert repr(given).startswith("Endpoints(wallet='127.0.0.1:7104', ")


# Who reads


async def handle(_: Any) -> None: ...


def runtime_of(name: str, log: Any = None) -> Runtime:
    return Runtime(name, ServiceSettings(), log)


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_nobody_reads_what_the_table_does_not_say(service: Service):
    """Else whoever trims would not know of the reader."""
    read_as_feeds: set[keys.Kind] = {"verdicts", "table-events", "dealer-events", "ledger-feed"}
    for kind in read_as_feeds - set(service.follows):
        (feed,) = streams_of(kind, ["EUR"], [7])
        with pytest.raises(ValueError, match=rf"{service.name} follows .*stud_topology\.services"):
            FeedReader(runtime_of(service.name), handle, lambda _: None, feeds=[feed])
    for feed in (keys.ledger_log("EUR"), keys.table_log(7, "t"), "nonsense"):
        with pytest.raises(ValueError, match="follows"):
            FeedReader(runtime_of(service.name), handle, lambda _: None, feeds=[feed])
    with pytest.raises(ValueError, match="archive is no service"):
        FeedReader(runtime_of("archive"), handle, lambda _: None)


@simulated
async def test_a_fifth_reader_is_waited_for_as_soon_as_it_stands_in_the_table(tmp_path: Path, monkeypatch):
    """Nothing is dropped before the new one has passed it, though no service was told of it by name."""
    monkeypatch.setitem(FeedReader.__init__.__kwdefaults__, "services", (*SERVICES, FIFTH))
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.play(2, STAY)
        await game.close()
        log = system.runtimes["table"].log
        mine = followed_by(FIFTH, system.runtimes["table"].settings.currencies)
        await asyncio.sleep(2 * feeds_module.TRIM_EVERY_S)
        feeds = {feed: list(entries) for feed, entries in system.store.data.feeds.items()}
        assert set(feeds) <= set(mine)
        assert max(len(entries) for entries in feeds.values()) > 10
        for feed in feeds:
            read = await log.read_feeds({feed: "0-0"}, 10_000, 0)
            await log.store_cursors("archive", {feed: read[-1].entry_id})
        await asyncio.sleep(2 * feeds_module.TRIM_EVERY_S)
        assert {len(entries) for entries in system.store.data.feeds.values()} == {1}
