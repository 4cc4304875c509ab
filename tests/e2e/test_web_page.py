"""The page of examples/web, played in Chromium against bots through the edge: both rulesets, over Connect and over
gRPC-Web, with a reload and an edge that dies meanwhile. The page's books are those of the ledger.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from stud.common.v1.ruleset_pb2 import Ruleset
from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_cli.inspect.audit import audit_log
from stud_cli.local.bots import Bot
from stud_service.signing_keys import load_private_key
from stud_service.tokens import mint
from tests.support.chromium import Chromium, binary
from tests.support.deep import DEEP
from tests.support.system import Live, shared
from tests.support.web_page import CHIPS, Page, built

pytestmark = [*shared("web"), pytest.mark.timeout(1_800 if DEEP else 300)]
STACK: dict[str, Any] = {"web": True, "environ": {"STUD_COMMANDS_PER_S": "1000", "STUD_COMMANDS_BURST": "1000"}}
"""The page is driven faster than people are."""

STUD = Path(sys.executable).with_name("stud")
HANDS = 20 if DEEP else 3
SMALL_BET = 500
DEPOSIT, BUY_IN = 1_000_000, 20_000
BOTS = ("bea", "cleo", "dora")
RULESETS = [
    pytest.param("playnow", "", id="playnow, connect"),
    pytest.param("william_hill", "?protocol=grpc-web", id="william_hill, grpc-web"),
]


@pytest.fixture(scope="module")
def page_folder() -> Path:
    binary()
    return built()


@pytest.fixture
def browser(page_folder: Path) -> Iterator[Chromium]:
    with Chromium(binary()) as chromium:
        yield chromium


async def table_with_bots(
    live: Live, preset: str, seated: Sequence[str] = BOTS, **rules: Any
) -> tuple[str, str, list[asyncio.Task[None]]]:
    """A table where bots sit, and an account with money for whoever plays by the page."""
    table = live.new_id("web")
    people = live.people
    await people.operator.tables.CreateTable(
        pb.CreateTableRequest(
            table=table, currency="EUR", preset=preset, small_bet=SMALL_BET, request_id=f"{table}-o", **rules
        )
    )
    names = [f"{table}-{name}" for name in (*seated, "ada")]
    for name in names:
        player = people.player(name)
        await player.wallet.OpenAccount(wallet.OpenAccountRequest(currency="EUR"))
        await people.cashier.wallet.Deposit(
            wallet.DepositRequest(currency="EUR", account=name, amount=DEPOSIT, reference=name, request_id=f"{name}-d")
        )
    bots = []
    for seat, name in enumerate(names[:-1], 1):
        taken = pb.TakeSeatRequest(table=table, amount=BUY_IN, seat=seat, auto_post=True, request_id=f"{name}-s")
        await people.player(name).tables.TakeSeat(taken)
        bots.append(asyncio.create_task(Bot(people.player(name), table, random.Random(seat)).run()))
    return table, names[-1], bots


async def serve(live: Live, folder: Path) -> None:
    """The edge with the page, once."""
    if live.stack.only.get("edge") is None:
        live.stack.only["edge"] = {"STUD_EDGE_PAGES": str(folder)}
        await live.stack.restart_service("edge")


def token(live: Live, account: str) -> str:
    return mint(account, ["player"], 3600, load_private_key(live.stack.keys_dir))


async def ledger_of(live: Live, account: str) -> int:
    _, ledgers = await audit_log(live.log)
    (ledger,) = (ledger for ledger in ledgers if ledger.currency == "EUR")
    return dict(ledger.players())[account]


@pytest.mark.parametrize(("preset", "query"), RULESETS)
async def test_hands_are_played_and_the_books_are_those_of_the_ledger(
    live: Live, page_folder: Path, browser: Chromium, preset: str, query: str
):
    await serve(live, page_folder)
    table, account, bots = await table_with_bots(live, preset)
    page, rng = Page(browser, live.stack.web, query), random.Random(preset)
    loop = asyncio.get_running_loop()

    def of_the_edge(work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, loop).result(60)

    def play() -> None:
        page.open(360, 740, phone=True) if query else page.open()
        page.log_in(token(live, account))
        page.choose_table(table)
        page.sit(4, CHIPS)
        browser.ask("document.querySelector('[data-key=muckLosing]')?.click()")
        page.until("dealt in", rng, lambda seen: seen["known"] >= 2)
        browser.do("Page.reload")
        browser.wait("document.readyState === 'complete'")
        page.until("there again", rng, lambda seen: seen["seated"])
        page.until("one hand over", rng, lambda seen: len(page.hands) >= 1)
        of_the_edge(live.stack.kill_service("edge"))
        page.until("told of it", rng, lambda seen: seen["offline"])
        of_the_edge(live.stack.start_service("edge"))
        page.until("connected again", rng, lambda seen: not seen["offline"])
        page.until(f"{HANDS} hands over", rng, lambda seen: len(page.hands) >= HANDS)
        of_the_edge(live.people.operator.tables.DrainTable(pb.DrainTableRequest(table=table, request_id=f"{table}-e")))
        page.until("drained", rng, lambda seen: seen["state"] == "No new hand begins")
        page.press_button("leave")
        page.until("paid out", rng, lambda seen: seen["escrows"] == "0" and not seen["seated"])

    try:
        await asyncio.to_thread(play)
        balance = int(page.look()["balance"])
        assert balance == DEPOSIT + sum(page.hands.values())
        assert balance == await ledger_of(live, account)
        assert page.done["keys"] > 0
        assert page.done["clicks"] > 0
        assert [said for said in browser.complaints() if "ERR_" not in said and "Failed to fetch" not in said] == []
        assert browser.ask("document.documentElement.scrollWidth <= innerWidth")
        await live.people.operator.tables.CloseTable(pb.CloseTableRequest(table=table, request_id=f"{table}-c"))
        await asyncio.gather(*bots)
        assert (await audited(live))["ok"]
    finally:
        for bot in bots:
            bot.cancel()
        await asyncio.gather(*bots, return_exceptions=True)


async def audited(live: Live) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *(STUD, "audit", "--json"),
        cwd=live.stack.data_dir,
        env={"STUD_REDIS_URL": live.stack.redis_url},
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out
    found: dict[str, Any] = json.loads(out.decode().splitlines()[-1])
    return found


async def test_refusals_are_told_in_words_and_a_wrong_token_leads_back_to_the_beginning(
    live: Live, page_folder: Path, browser: Chromium
):
    await serve(live, page_folder)
    table = live.new_id("web")
    opened = pb.CreateTableRequest(table=table, currency="EUR", preset="playnow", small_bet=500, request_id=table)
    await live.people.operator.tables.CreateTable(opened)
    page = Page(browser, live.stack.web)

    def visit() -> list[str]:
        said = []
        problem = "document.getElementById('login-problem').textContent"
        page.open()
        for wrong in ("nonsense", token(live, "ada")[:-6] + "AAAAAA"):
            page.log_in(wrong)
            browser.wait(f"!document.getElementById('login').hidden && {problem} !== ''")
            said.append(browser.ask(problem))
            browser.ask(f"(document.getElementById('token').value = '', {problem} = '')")
        page.log_in(token(live, f"{table}-poor"))
        page.choose_table(table)
        for amount in ("a few", "1", "100"):
            page.sit(1, amount)
            said.append(browser.ask("document.getElementById('problem').textContent"))
            browser.ask("document.getElementById('chips').close()")
        assert browser.ask("sessionStorage.length") == 1
        browser.ask("document.getElementById('log-out').click()")
        assert browser.ask("sessionStorage.length") == 0
        return said

    said = await asyncio.to_thread(visit)
    assert said[0].startswith("That is no token")
    assert said[1] == "That token is no good here."
    assert said[2].startswith("Want an amount")
    assert said[3] == "At least €50."
    assert said[4] == "Your balance is €0: ask the cashier."


async def test_whoever_waits_gets_the_seat_that_is_kept_for_them_and_may_take_more_time(
    live: Live, page_folder: Path, browser: Chromium
):
    await serve(live, page_folder)
    rules = Ruleset(seats=2, time_bank_ms=30_000, time_bank_chips=2, waiting_list=5)
    fields = ["seats", "time_bank_ms", "time_bank_chips", "waiting_list"]
    table, account, bots = await table_with_bots(live, "playnow", BOTS[:2], ruleset=rules, override_fields=fields)
    page, rng = Page(browser, live.stack.web), random.Random(4)
    loop = asyncio.get_running_loop()
    said = "document.getElementById('seat-actions').textContent"

    def play() -> None:
        page.open()
        page.log_in(token(live, account))
        page.choose_table(table)
        browser.wait("Boolean(document.querySelector('[data-key=wait]'))")
        page.press_button("wait")
        page.pay(CHIPS)
        browser.wait(f"{said}.includes('number 1')")
        leave = pb.LeaveSeatRequest(table=table, request_id=f"{table}-l")
        leaving: Any = live.people.player(f"{table}-bea").tables.LeaveSeat(leave)
        asyncio.run_coroutine_threadsafe(leaving, loop).result(60)
        browser.wait(f"{said}.includes('is kept for you')")
        page.sit(1, CHIPS)
        page.until("on turn", rng, lambda seen: "x" in seen["keys"])
        browser.press("x")
        browser.wait("document.querySelector('[data-key=x]')?.textContent.includes('(1)')")
        browser.wait("parseInt(document.querySelector('.seconds').textContent) > 30")

    try:
        await asyncio.to_thread(play)
    finally:
        for bot in bots:
            bot.cancel()
        await asyncio.gather(*bots, return_exceptions=True)


async def test_everything_is_named_for_whoever_hears_the_page(live: Live, page_folder: Path, browser: Chromium):
    """By the tree that screen readers are given: every button, link and field has a name, every card is spoken."""
    await serve(live, page_folder)
    table, account, bots = await table_with_bots(live, "william_hill")
    page, rng = Page(browser, live.stack.web), random.Random(3)

    def heard() -> dict[str, list[str]]:
        page.open()
        page.log_in(token(live, account))
        page.choose_table(table)
        page.sit(4, CHIPS)
        page.until("dealt in", rng, lambda seen: seen["known"] >= 2 and seen["keys"])
        found: dict[str, list[str]] = {}
        for node in browser.do("Accessibility.getFullAXTree")["nodes"]:
            if not node.get("ignored"):
                found.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
        moves = "getComputedStyle(document.querySelector('.cards .card')).animationName"
        assert browser.ask(moves) == "dealt"
        browser.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
        assert browser.ask(moves) == "none"
        return found

    try:
        found = await asyncio.to_thread(heard)
    finally:
        for bot in bots:
            bot.cancel()
        await asyncio.gather(*bots, return_exceptions=True)
    assert len(found["button"]) >= 5
    for role in ("button", "link", "image", "checkbox", "heading", "timer"):
        assert "" not in found[role], (role, found[role])
    spoken = [name for name in found["image"] if " of " in name]
    assert len([name for name in spoken if name.endswith("face down")]) >= 2
    assert "face down" in found["image"]


async def test_a_page_asks_for_nothing_from_elsewhere(live: Live, page_folder: Path, browser: Chromium):
    await serve(live, page_folder)
    page = Page(browser, live.stack.web)

    def visit() -> list[str]:
        page.open()
        page.log_in(token(live, "eve"))
        browser.wait("!document.getElementById('lobby').hidden")
        time.sleep(0.2)
        return browser.requests()

    asked = await asyncio.to_thread(visit)
    assert asked
    assert [address for address in asked if not address.startswith(f"http://{live.stack.web}/")] == []
