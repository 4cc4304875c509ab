"""One command to a running system: who asks, where, the one call that decides, and what is said of it.

`operated` makes a command of a coroutine that takes a `Desk`: it adds the options that all of them have. A refusal
ends the command with exit code 2, and so does an outcome that nobody knows, or that cannot be printed: then the exact
command is printed that asks again with the same request id.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import shlex
import sys
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec
import typer
from rich.console import RenderableType

from stud.rules.v1 import rules_service_pb2 as rules
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_cli.drawing import money
from stud_cli.exit_codes import CouldNotRun, could_not_run, printed_or
from stud_cli.operate.common import (
    Asked,
    AsOption,
    EndpointsOption,
    KeysOption,
    RequestIdOption,
    TokenFileOption,
    YesOption,
)
from stud_cli.operate.identity import Identity, identify
from stud_cli.operate.repeating import keepable, words_again
from stud_cli.output import JsonFlag, command, console, last_line, notes
from stud_cli.where import endpoints
from stud_client import StudClient, StudError

TIMEOUT_S: Final = 15.0

UNSURE: Final = frozenset(
    {"OUTCOME_UNKNOWN", "CALL_DEADLINE", "DEADLINE_EXCEEDED", "UNAVAILABLE", "INTERNAL", "UNKNOWN", "CANCELLED"}
)
"""After these nobody knows whether it was done; every other reason says that nothing changed."""


TWO_DECIDE: Final = (wallet.AdjustRequest, wallet.ResolveCashOutRequest, rules.ResolveHandRequest)
"""What one operator proposes and another decides."""

T = TypeVar("T")


class Told(msgspec.Struct):
    """What a command has to say: for scripts, and for people."""

    value: dict[str, Any]
    shown: RenderableType | str


class Desk:
    """What a command needs: the services, who asks, and whether they are sure. Nobody is named, and nothing connected,
    before the first use.
    """

    def __init__(self, asked: Asked, roles: Sequence[str], *, decides: bool, ctx: typer.Context | None = None) -> None:
        self.named = bool(asked.request_id)
        self.request_id = asked.request_id or str(uuid.uuid4())
        self._asked, self._roles, self._decides = asked, roles, decides
        self._ctx, self._filled = ctx, dict[str, Any]()
        self._request: Any = None
        self._done = False
        self._who: Identity | None = None
        self._client: StudClient | None = None

    @property
    def who(self) -> Identity:
        """Who asks. Raises CouldNotRun."""
        if self._who is None:
            asked = self._asked
            self._who = identify(asked.as_name, asked.token_file, asked.keys, self._roles, decides=self._decides)
        return self._who

    @property
    def client(self) -> StudClient:
        """The services. Raises CouldNotRun."""
        if self._client is None:
            self._client = StudClient(endpoints(self._asked.where), self.who.token, timeout_s=TIMEOUT_S)
        return self._client

    async def answer(self, work: Callable[..., Awaitable[T]], *words: Any, **given: Any) -> T:
        """Return what ``work(desk, …)`` does, and end what was connected. Raises CouldNotRun for a refusal."""
        try:
            return await work(self, *words, **given)
        except StudError as error:
            proposes = isinstance(self._request, TWO_DECIDE)
            raise CouldNotRun(refusal(error, self.who.name, proposes=proposes)) from error
        finally:
            if self._client is not None:
                await self._client.close()

    async def decide(self, call: Callable[[Any], Awaitable[Any]], request: Any) -> Any:
        """Make the one call of the command that changes something. Raises CouldNotRun."""
        request.request_id = self.request_id
        self._request = request
        try:
            answer = await call(request)
        except StudError as error:
            if error.reason not in UNSURE:
                raise
            raise CouldNotRun(f"{refusal(error, self.who.name)}\n{self._again()}") from error
        except asyncio.CancelledError:
            notes.print(self._again(), markup=False, soft_wrap=True)
            raise
        self._done = True
        return answer

    def tell(self, told: Told) -> None:
        """Print what the command has to say. Raises CouldNotRun where it changed something and that cannot be printed:
        who asks again without its request id would have it done twice.
        """
        with printed_or(self._untold) if self._done else contextlib.nullcontext():
            if self._asked.json_output:
                last_line(told.value)
            else:
                console.print(told.shown, soft_wrap=True, markup=False)

    def _untold(self, why: str) -> str:
        done = f"it was done, and only the answer cannot be printed ({why})"
        return self._the_same(f"{done}: ask again with the same request id, which does nothing twice")

    def filled(self, **parameters: Any) -> None:
        """Note what the present state filled in for a parameter: whoever asks again asks for the same."""
        self._filled |= parameters

    def _again(self) -> str:
        """Say how to find out what became of the call: in the name of the same caller, with all that was filled in."""
        return self._the_same(
            "nobody knows whether it was done: ask again with the same request id, which does it once"
        )

    def _the_same(self, said: str) -> str:
        """A sentence, and below it the command that makes the same call."""
        if self._ctx is None:
            return said
        who = {"as_name": self._who.name} if self._who is not None else {}
        words = words_again(self._ctx, {**who, **self._filled, "request_id": self.request_id})
        return f"{said}\n{command()} {shlex.join(words)}"

    @property
    def for_scripts(self) -> bool:
        """Whether what is said is for scripts (``--json``)."""
        return self._asked.json_output

    @property
    def asks(self) -> bool:
        """Whether somebody is asked before what cannot be undone."""
        return not self._asked.yes

    def sure(self, question: str) -> None:
        """Ask before what cannot be undone. Raises CouldNotRun where nobody can be asked, or says no."""
        if self.asks:
            be_sure(f"{question} This cannot be undone.")


def at_a_terminal() -> bool:
    """Whether there is somebody who could answer."""
    return sys.stdin.isatty()


def be_sure(question: str) -> None:
    """Ask on standard error. Raises CouldNotRun where nobody can be asked, or says no."""
    if not at_a_terminal():
        could_not_run(f"{question} There is no terminal to ask at: say --yes")
    notes.print(f"{question} Go on? [y/N] ", end="", markup=False, soft_wrap=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        could_not_run("nothing was done")


Command = Callable[..., Awaitable[Told]]


def operated(*roles: str, decides: bool = False, asks: bool = False) -> Callable[[Command], Callable[..., None]]:
    """Make a command of ``async def name(desk, …) -> Told``, for whoever has one of ``roles``.

    ``decides``: it changes something, so it has a caller with a name and a request id; ``asks``: it may ask first.
    """
    common: dict[str, Any] = {"as_name": AsOption, "token_file": TokenFileOption, "keys": KeysOption}
    defaults: dict[str, Any] = {"as_name": "", "token_file": None, "keys": None}
    if decides:
        common["request_id"], defaults["request_id"] = RequestIdOption, ""
    if asks:
        common["yes"], defaults["yes"] = YesOption, False
    common |= {"where": EndpointsOption, "json_output": JsonFlag}
    defaults |= {"where": "", "json_output": False}

    def made(work: Command) -> Callable[..., None]:
        @functools.wraps(work)
        def run(ctx: typer.Context, **given: Any) -> None:
            keepable(ctx)
            asked = Asked(**{name: given.pop(name) for name in common})
            desk = Desk(asked, roles, decides=decides, ctx=ctx)
            desk.tell(asyncio.run(desk.answer(work, **given)))

        own = list(inspect.signature(work, eval_str=True).parameters.values())[1:]
        keyword = inspect.Parameter.KEYWORD_ONLY
        more = [
            inspect.Parameter(name, keyword, default=defaults[name], annotation=kind) for name, kind in common.items()
        ]
        context = inspect.Parameter("ctx", keyword, annotation=typer.Context)
        parameters = [context, *(parameter.replace(kind=keyword) for parameter in own), *more]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer looks at
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        del run.__wrapped__  # else the desk would be an option too
        return run

    return made


HINTS: Final = {
    "UNAUTHENTICATED": "the token is not of this system: is the key (--keys, STUD_KEYS_DIR) another one's?",
    "ROLE_NOT_ALLOWED": "docs/operators-reference.md says which role each command needs",
    "UNAVAILABLE": "start the system with `stud up`, or say where it is with --endpoints or STUD_…_ENDPOINT",
}


def refusal(error: StudError, who: str, *, proposes: bool = False) -> str:
    """Say what a service answered: every fault on a line of its own where there are several. ``proposes``: the command
    is one of those that two operators decide.
    """
    if len(error.wrong) > 1:
        lines = [f"  {fault.field}: {fault.text or fault.reason}" for fault in error.wrong]
        return "\n".join([f"{error.reason}: {len(lines)} things are wrong", *lines])
    hint = HINTS.get(error.reason, "")
    if proposes and error.reason == "OWN_INTEREST":
        hint = "`stud proposals` shows what waits for somebody else"
    asked = (
        f" (asked as {who})" if error.reason in {"ROLE_NOT_ALLOWED", "OWN_INTEREST", "SECOND_OPERATOR_REQUIRED"} else ""
    )
    said = str(error)
    if error.reason == "INSUFFICIENT_FUNDS" and "balance" in error.metadata:  # people read 1,996.00 everywhere else
        said = f"{error.reason}: the balance is {money(int(error.metadata['balance']))}"
    return f"{said}{asked}" + (f". {hint}" if hint else "")
