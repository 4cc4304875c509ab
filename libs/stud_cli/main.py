"""The ``stud`` command."""

from __future__ import annotations

from stud_cli.interrupts import INTERRUPTED, ended_by_ctrl_c

with ended_by_ctrl_c():
    import os
    from contextlib import suppress
    from typing import Annotated

    import typer

    from stud_cli.loading import LoadingGroup
    from stud_service import dumps
    from stud_service.settings import load_settings

app = typer.Typer(
    cls=LoadingGroup,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    help="Seven-card stud: run it, watch it, replay it, audit it. Example: stud demo --hands 5",
)


@app.callback()
def stud(
    ca: Annotated[str, typer.Option("--tls-ca", envvar="STUD_TLS_CA", help="CA of the services (PEM).")] = "",
    certificate: Annotated[
        str, typer.Option("--tls-certificate", envvar="STUD_TLS_CLIENT_CERTIFICATE", help="Your certificate (PEM).")
    ] = "",
    key: Annotated[str, typer.Option("--tls-key", envvar="STUD_TLS_CLIENT_KEY", help="Its key (PEM).")] = "",
    name: Annotated[
        str, typer.Option("--tls-name", envvar="STUD_TLS_NAME", help="Name that the services' certificate has.")
    ] = "",
) -> None:
    """Nothing is done before the command but to note how it reaches services at grpcs://HOST:PORT."""
    given = {
        "STUD_TLS_CA": ca,
        "STUD_TLS_CLIENT_CERTIFICATE": certificate,
        "STUD_TLS_CLIENT_KEY": key,
        "STUD_TLS_NAME": name,
    }
    os.environ.update({variable: value for variable, value in given.items() if value})


def main() -> None:
    """Run the command line."""
    try:
        _forbid_dumps()
        app()
    except KeyboardInterrupt:  # before or after the command, which tells itself how far it came
        raise SystemExit(INTERRUPTED) from None


def _forbid_dumps() -> None:
    """Some commands read keys. Whoever allows dumps allows them for what is started from here too."""
    with suppress(ValueError):  # settings that cannot be used: the command says so, if it needs them
        if load_settings("table").allow_core:
            return
    dumps.forbid()
