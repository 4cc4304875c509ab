"""The operators' pages are followed: a day with its commands as they are printed, and each call behind a command."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from stud_client.errors import from_rpc
from stud_service.signing_keys import load_private_key
from stud_service.tokens import mint
from stud_topology.services import SERVICES
from tests.e2e.test_docs import BIN, run_within
from tests.support.doc_blocks import blocks
from tests.support.system import LiveStack
from tests.support.up import up

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]

PAGE, REFERENCE = "operators.md", "operators-reference.md"
ROOT = Path(__file__).resolve().parents[2]
REFUSED = {
    "VoidHand": {"NO_HAND"},
    "AdjudicateHand": {"UNKNOWN_HAND", "HAND_NOT_ENDED"},  # the next hand's deck may be there already
    "ResolveHand": {"UNKNOWN_HAND", "HAND_NOT_ENDED"},
    "ResolveCashOut": {"NOTHING_BLOCKED"},
}
"""Calls for which nothing is there in a house where nobody has played; all others do what they say."""


def day() -> str:
    """The commands under "A day", in order."""
    text = (ROOT / "docs" / PAGE).read_text()
    part = text[text.index("\n## A day\n") : text.index("\n## Look into it\n")]
    return "".join(re.findall(r"```sh\n(.*?)```", part, re.DOTALL))


async def test_a_day_is_as_it_is_printed(tmp_path: Path):
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/bin").symlink_to(BIN)
    (file,) = blocks(PAGE, "toml")
    (tmp_path / "friday.toml").write_text(file)
    (tmp_path / "day.sh").write_text(f"set -eu\n{day()}")
    assert day().count(".venv/bin/stud ") > 20
    with up(tmp_path):
        code, output = await run_within(200, tmp_path, "bash", "day.sh")
        assert code == 0, output
    for words in (
        'house rules "friday rules"',
        "friday is open",
        "3 bots played 2 hands at friday and left",
        "the referee finds it right",
        "friday is paused",
        "proposed by olga",
        "booked: player:ada -5.00, house:cashier 5.00 EUR",
        "friday closes",
        "ada has 0.00",
        "2 hands: ok",
    ):
        assert words in output, (words, output)
    assert output.splitlines()[-1] == "ok"


class Documented(NamedTuple):
    """A call as a line of grpcurl has it, and who may make it."""

    role: str
    body: str
    port: int
    service: str
    method: str


def documented() -> Iterator[Documented]:
    for section in re.split(r"^### ", (ROOT / "docs" / REFERENCE).read_text(), flags=re.MULTILINE)[1:]:
        role = re.search(r"^For: (\w+)", section, re.MULTILINE)
        for body, port, service, method in re.findall(
            r"^grpcurl .* -d '([^']*)' 127\.0\.0\.1:(\d+) (stud\.\S+)/(\w+)$", section, re.MULTILINE
        ):
            assert role is not None
            yield Documented("operator" if role[1] == "any" else role[1], body, int(port), service, method)


NAMES = {service.port: service.name for service in SERVICES}


def by_reflection(call: Documented, address: str, token: str) -> Any:
    """Make a call with nothing but what the server tells of its contract. Raises RpcError."""
    with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        pool = DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
        method = pool.FindServiceByName(call.service).FindMethodByName(call.method)
        request = message_factory.GetMessageClass(method.input_type)()
        json_format.Parse(call.body, request, descriptor_pool=pool)
        kind = message_factory.GetMessageClass(method.output_type)
        made = channel.unary_unary(
            f"/{call.service}/{call.method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=kind.FromString,
        )
        return made(request, metadata=(("authorization", f"Bearer {token}"),), timeout=20)


def answered(call: Documented, address: str, token: str) -> str:
    """Make a call; the reason of a refusal, empty for an answer. With grpcurl, where that is installed."""
    program = shutil.which("grpcurl")
    if program is None:
        try:
            by_reflection(call, address, token)
        except grpc.RpcError as error:
            return from_rpc(error).reason  # type: ignore[arg-type]  # what it reads of an error is the same
        return ""
    words = ["-plaintext", "-format-error", "-H", f"authorization: Bearer {token}", "-d", call.body, address]
    done = subprocess.run(
        [program, *words, f"{call.service}/{call.method}"], capture_output=True, text=True, timeout=30, check=False
    )
    if done.returncode == 0:
        return ""
    details = json.loads(done.stderr)["details"]
    return next(str(detail["reason"]) for detail in details if "reason" in detail)


async def test_each_call_behind_a_command_is_as_it_is_printed(tmp_path: Path):
    calls = list(documented())
    assert {call.method for call in calls} >= {*REFUSED, "CreateTable", "ListHeldCashOuts", "ListProposals"}
    async with LiveStack(tmp_path / "var") as stack:
        key = load_private_key(stack.keys_dir)
        for call in calls:
            token = mint(f"a-{call.role}", [call.role], 60, key)
            reason = await asyncio.to_thread(answered, call, stack.endpoints[NAMES[call.port]], token)
            assert reason in REFUSED.get(call.method, {""}), (call, reason)
