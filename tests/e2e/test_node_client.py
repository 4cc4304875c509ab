"""A client in another language, from `protos/` alone: grpc-js and proto-loader as npm gives them (tests/node)."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.inspect.audit import audit_log
from stud_core.ledger.names import RAKE
from stud_service.signing_keys import load_private_key
from stud_service.tokens import mint
from tests.support import node
from tests.support.deep import DEEP
from tests.support.system import Live, shared

pytestmark = shared("node")
STACK = {"only": {"table": {"STUD_COMMANDS_PER_S": "1000", "STUD_COMMANDS_BURST": "1000"}}}
"""The players choose ahead as fast as a machine can; what people may do in a second is another test's matter."""

STUD = Path(sys.executable).with_name("stud")
HANDS = 50
SMALL_BET = 500
BUY_IN = 40 * SMALL_BET
DEPOSIT = 100 * BUY_IN


def plan(live: Live, preset: str, seed: int) -> dict[str, Any]:
    """What the client is told: where, who with which token, which table."""
    key = load_private_key(live.stack.keys_dir)
    table = f"node-{preset.replace('_', '-')}"
    names = [f"{table}-{seat}" for seat in range(1, 9)]
    staff = {"operator": "olga", "cashier": "carl"}
    return {
        "protos": str(node.ROOT / "protos"),
        "endpoints": {name: live.stack.endpoints[name] for name in ("table", "wallet")},
        "tokens": {role: mint(name, [role], 3600, key) for role, name in staff.items()}
        | {"spectator": mint("walter", ["player"], 3600, key)}
        | {"players": {name: mint(name, ["player"], 3600, key) for name in names}},
        "table": table,
        "rules": {"preset": preset, "ruleset": {"rake_bps": 300}, "override_fields": ["rake_bps"]},
        "currency": "EUR",
        "small_bet": SMALL_BET,
        "buy_in": BUY_IN,
        "deposit": DEPOSIT,
        "hands": HANDS,
        "seed": seed,
    }


async def audited(live: Live) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *(STUD, "audit", "--json"),
        cwd=live.stack.data_dir,
        env={"STUD_REDIS_URL": live.stack.redis_url},
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out
    value: dict[str, Any] = json.loads(out.decode().splitlines()[-1])
    return value


async def test_a_node_client_plays_both_rulesets_and_its_books_are_those_of_the_audit(live: Live, tmp_path: Path):
    node.modules()
    plays = []
    for seed, preset in enumerate(("playnow", "william_hill"), 1):
        told = tmp_path / f"{preset}.json"
        told.write_text(json.dumps(plan(live, preset, seed)))
        plays.append(node.run("play.js", told, timeout_s=160))
    results = await asyncio.gather(*plays)
    print(json.dumps(results, indent=1))
    for result in results:
        assert result["hands"] == HANDS
        counts = result["counts"]
        assert min(counts["cuts"], counts["replayed"], counts["acts"], counts["antes"], counts["shows"]) > 0
        assert min(counts["batches"], counts["inline"]) > 0
        assert min(result["rake"], result["showdowns"]) > 0
        assert sum(result["balances"].values()) + result["rake"] == 8 * DEPOSIT
    ahead = results[1]["counts"]
    assert min(ahead["armed"], ahead["taken"], ahead["cleared"]) > 0

    balances = {name: money for result in results for name, money in result["balances"].items()}
    found = await audited(live)
    assert found == {
        "accounts": 16,
        "ledger_sum": 0,
        "liabilities": sum(balances.values()),
        "open_hands": 0,
        "unsettled": 0,
        "disputed": 0,
        "ok": True,
    }
    _, ledgers = await audit_log(live.log)
    (ledger,) = (ledger for ledger in ledgers if ledger.currency == "EUR")
    assert dict(ledger.players()) == balances
    assert ledger.balances.get(RAKE, 0) == sum(result["rake"] for result in results)


async def test_a_decoder_that_keeps_the_last_of_what_comes_twice_sees_no_view():
    """Why everything that is sent is canonical: parsers may join what comes twice, and this one does not."""
    view, mine = pb.TableView(hand_no=7), pb.PrivateView(seat=3)
    parts = [pb.TableUpdate(version=1, view=view), pb.TableUpdate(mine=mine)]
    whole = pb.TableUpdate(version=1, view=view, mine=mine)
    twice = b"".join(pb.PlayResponse(update=part).SerializeToString() for part in parts)
    assert pb.PlayResponse.FromString(twice).update == whole  # Google's parsers join the two
    once = pb.PlayResponse(update=whole).SerializeToString()
    words = [once.hex(), twice.hex()]
    first, second = await node.run("decode.js", node.ROOT / "protos", *words, timeout_s=30)
    assert (first["update"]["view"]["hand_no"], first["update"]["mine"]["seat"]) == (7, 3)
    assert (second["update"]["view"], second["update"]["mine"]["seat"]) == (None, 3)


@pytest.mark.skipif(not DEEP, reason="takes a minute: make deep")
async def test_a_node_client_whose_event_loop_slept_half_a_minute_is_served(live: Live):
    """Twenty, each asleep at another moment between two pings of the server; every other one pings as well."""
    token = mint("walter", ["player"], 3600, load_private_key(live.stack.keys_dir))
    sleeps = [
        node.run(
            *("sleep.js", node.ROOT / "protos", live.stack.endpoints["table"], token),
            *(str(1_500 * number), "30000", str(number % 2)),
            timeout_s=120,
        )
        for number in range(20)
    ]
    assert await asyncio.gather(*sleeps) == ["served"] * 20
