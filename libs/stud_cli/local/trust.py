"""``stud keys``: what the services of this machine trust, a new development key, and tokens that are revoked.

Services look at the files every two seconds; nothing is started again.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from stud_cli.exit_codes import could_not_run, said_as
from stud_cli.local.keys import keys_dir
from stud_cli.local.pid_file import read_running
from stud_cli.operate.identity import read_claims, span
from stud_cli.output import JsonFlag, console, last_line, notes, table_of
from stud_service.rotating import revoke as put_on_the_list
from stud_service.rotating import rotate as new_pair
from stud_service.settings import ServiceSettings, load_settings
from stud_service.trust import LOOK_S, Trust, revoked_file
from stud_service.trusted import KeySet
from stud_topology.services import RUNNING

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="What services trust: keys and revocations. Example: stud keys show",
)


def _settings() -> ServiceSettings:
    with said_as("{}", ValueError):
        return msgspec.structs.replace(load_settings("table"), keys_dir=keys_dir(), jwks_url="")


@app.command()
def show(json_output: JsonFlag = False) -> None:
    """List the keys of the files by which tokens are verified, and how many tokens are revoked.

    Example: stud keys show
    """
    with said_as("{}", ValueError):
        trust = Trust(_settings())
    keys, revoked = trust.trusted.keys, trust.trusted.revoked
    if json_output:
        last_line({"keys": _rows(keys), "revoked": dict(revoked)})
        return
    rows = [(row["kid"] or "(jwt-public.pem)", row["algorithm"], row["sha256"]) for row in _rows(keys)]
    console.print(table_of("Keys that tokens are verified with", ("kid", "algorithm", "SHA-256"), rows))
    console.print(f"{len(revoked)} tokens are revoked")


def _rows(keys: KeySet) -> list[dict[str, str]]:
    return [{"kid": key.kid, "algorithm": key.algorithm, "sha256": key.fingerprint.hex()} for key in keys]


@app.command()
def rotate(
    forget: Annotated[bool, typer.Option("--forget", help="Tokens of the old keys are good no longer.")] = False,
    json_output: JsonFlag = False,
) -> None:
    """Make a new development key that signs from now on. Tokens of the old one stay good until they end.

    Example: stud keys rotate
    """
    with said_as("{}", ValueError), said_as("the keys cannot be written ({})", OSError):
        kid = new_pair(_settings(), forget=forget, published=_let_services_read)
    if json_output:
        last_line({"kid": kid, "forgot": forget})
    else:
        old = "are good no longer" if forget else "stay good until they end"
        console.print(f"{kid} signs from now on; tokens of older keys {old}")


def _let_services_read() -> None:
    """Whoever gets a token of the new key gets in at once: services that run here know it by then."""
    if read_running(RUNNING) is not None:
        with notes.status("services read the new key"):
            time.sleep(LOOK_S * 1.5)


@app.command()
def revoke(
    token_id: Annotated[str, typer.Argument(help="Id of a token: its claim jti.")] = "",
    token_file: Annotated[Path | None, typer.Option("--token-file", help="A file with the token, instead.")] = None,
    ttl_s: Annotated[
        int | None, typer.Option("--ttl", help="Seconds until it ends by itself: the longest life there is.", min=1)
    ] = None,
    json_output: JsonFlag = False,
) -> None:
    """Revoke a token: services refuse it, and end what it opened, within two seconds; also after a restart.

    Example: stud keys revoke 6b1f0c9a2d4e8f37
    """
    settings, now_s = _settings(), time.time()
    until_s = now_s + (settings.token_max_life_s if ttl_s is None else ttl_s)
    if token_file is not None:
        if token_id:
            could_not_run("want the id of a token or a file with one, not both")
        token_id, until_s = _of_file(token_file, until_s)
    with said_as("{}", ValueError), said_as(f"{revoked_file(settings)} cannot be written ({{}})", OSError):
        number = put_on_the_list(settings, token_id, until_s, now_s)
    if json_output:
        last_line({"revoked": token_id, "until": int(until_s), "on_the_list": number})
    else:
        console.print(
            f"{token_id} is revoked for {span(until_s - now_s)}; {number} on the list {revoked_file(settings)}"
        )


def _of_file(path: Path, until_s: float) -> tuple[str, float]:
    with said_as(f"{path} cannot be read ({{}}): want a file with a token", OSError, UnicodeDecodeError):
        claims = read_claims(path.read_text().strip())
    if claims is None:
        could_not_run(f"{path} holds no token: want what `stud token` or your issuer printed, in one line")
    if not claims.jti:
        could_not_run(
            f"the token of {path} has no id (jti), so it cannot be revoked: wait for its end, or withdraw its key"
        )
    return claims.jti, claims.exp or until_s
