"""What real processes make of keys and revocations: all four services hear of a revoked token, and a service whose
issuer is away says so.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from stud.dealer.v1 import dealer_service_pb2 as dealer
from stud.rules.v1 import rules_service_pb2 as rules
from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_cli.local.pid_file import write_running
from stud_cli.local.ports import Port
from stud_cli.local.system import LocalSystem
from stud_client import Endpoints, StudClient, StudError
from stud_service.healthcheck import asked
from stud_service.signing_keys import load_private_key
from stud_service.tokens import mint
from tests.support.issuer import ED_KEY, jwk, jwks, publishing, signed
from tests.support.runtime import until
from tests.support.runtime_process import Running, get_table, log_url, start
from tests.support.scrape import scrape, value_of
from tests.support.valkey import fresh_server, session_server, valkey_server

__all__ = ["fresh_server", "log_url", "session_server", "start", "valkey_server"]

SERVICES: dict[str, Callable[[StudClient], Any]] = {
    "table": lambda client: client.tables.ListTables(pb.ListTablesRequest()),
    "dealer": lambda client: client.dealer.GetCommitment(dealer.GetCommitmentRequest(table="t-1", hand_no=1)),
    "rules": lambda client: client.rules.ListRulesets(rules.ListRulesetsRequest()),
    "wallet": lambda client: client.wallet.GetAccount(wallet.GetAccountRequest(currency="EUR")),
}


async def reason(client: StudClient, name: str) -> str:
    """Why a service refuses; a call that is only about nothing has got in."""
    try:
        await SERVICES[name](client)
    except StudError as error:
        return error.reason if error.reason.startswith("TOKEN") else ""
    return ""


async def test_a_revoked_token_is_refused_by_every_service_also_after_a_restart(tmp_path: Path):
    system = LocalSystem(tmp_path / "var", environ={"STUD_METRICS_PORT": "0"})
    async with system:
        write_running(tmp_path / "var/stud.json", system.running())
        key = load_private_key(system.keys_dir)
        bad = StudClient(Endpoints(**system.endpoints), mint("ada", ["player"], 600, key, token_id="stolen"))
        good = bad.with_token(mint("ada", ["player"], 600, key))
        async with bad, good.with_token(mint("ada", ["player"], 600, key)):
            lobby: Any = bad.tables.WatchLobby(pb.WatchLobbyRequest())
            await lobby.read()
            assert [await reason(bad, name) for name in SERVICES] == [""] * 4
            stud = [str(Path(sys.executable).parent / "stud"), "keys", "revoke", "stolen", "--json"]
            done = await asyncio.to_thread(subprocess.run, stud, cwd=tmp_path, capture_output=True, check=False)
            assert done.returncode == 0, done.stderr
            for name in SERVICES:
                await until(lambda name=name: is_revoked(bad, name))  # type: ignore[misc]
                assert await reason(good, name) == ""
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await to_its_end(lobby)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
            await system.kill_service("wallet")
            await system.start_service("wallet")
            await until(lambda: is_revoked(bad, "wallet"))
            assert await reason(good, "wallet") == ""


async def to_its_end(stream: Any) -> None:
    while await stream.read() is not grpc.aio.EOF:
        pass


async def is_revoked(client: StudClient, name: str) -> bool:
    return await reason(client, name) == "TOKEN_REVOKED"


def test_a_service_does_not_serve_before_it_has_keys_and_says_when_its_issuer_is_away(
    start: Callable[..., Running], log_url: str, tmp_path: Path
):
    """With no other key than the issuer's."""
    (tmp_path / "empty").mkdir()
    port = Port()
    with publishing() as site:
        site.status, site.body = 500, jwks(jwk(ED_KEY, "a"))
        settings = {"STUD_KEYS_DIR": str(tmp_path / "empty"), "STUD_JWKS_URL": site.url, "STUD_JWKS_REFRESH_S": "10"}
        service = start(log_url, STUD_METRICS_PORT=str(port.number), **settings)
        assert "it answered 500" in service.line("trust_is_stale")["why"]
        service.until(lambda: "started" in service.events())
        assert "NOT_SERVING" in str(asked(service.address).problem)
        assert asked(service.address).stale == ("jwks_url",)
        with pytest.raises(grpc.RpcError) as caught:
            get_table(service.address, signed(ED_KEY, "a"))
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert value_of(scrape(port.address), "stud_token_keys") == 0
        site.status = 200
        service.until_serving()
        assert get_table(service.address, signed(ED_KEY, "a")).update.table == "t"
        told = scrape(port.address)
        assert value_of(told, "stud_token_keys") == 1
        assert value_of(told, "stud_serving") == 1
        site.status = 500
        service.until(lambda: asked(service.address).stale == ("jwks_url",), timeout_s=40)
        assert asked(service.address).problem is None
        assert get_table(service.address, signed(ED_KEY, "a")).update.table == "t"
        checked = subprocess.run(
            [sys.executable, "-m", "stud_service.healthcheck", service.address],
            capture_output=True,
            text=True,
            check=False,
        )
        assert checked.returncode == 0
        assert "jwks_url is out of reach" in checked.stderr
