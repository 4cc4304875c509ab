"""Writes the table of settings in docs/operators-reference.md from what the code reads: `--check` only compares."""

from __future__ import annotations

import re
import sys

from edge_service import settings as edge
from stud_service.settings import PREFIX, Variable, variables
from stud_topology.services import BY_PORT, EDGE
from tools.pages import ROOT, write_or_check

TARGET = ROOT / "docs/operators-reference.md"
COMPOSE = ROOT / "docker-compose.yml"
BEGIN, END = "<!-- settings -->\n", "<!-- end of settings -->\n"


def all_variables() -> list[Variable]:
    """Return what services, commands and the compose file take from the environment."""
    return [
        *variables(),
        *(
            Variable(
                f"{PREFIX}{service.name.upper()}_LISTEN",
                f"where {service.name} listens; takes precedence over `STUD_LISTEN`",
                service.address,
            )
            for service in BY_PORT
        ),
        *(
            Variable(
                f"{PREFIX}{service.name.upper()}_ENDPOINT",
                f"where commands and clients find {service.name}; takes precedence over what `stud up` wrote",
                service.address,
            )
            for service in BY_PORT
        ),
        *edge.variables(),
        Variable(edge.LISTEN, "where the edge listens; takes precedence over `STUD_LISTEN`", EDGE.address),
        Variable(
            "STUD_TLS_CA",
            "commands: CA of services at `grpcs://`; takes precedence over what `stud up` wrote",
            "gRPC's",
        ),
        Variable("STUD_TLS_NAME", "commands: name that the services' certificate has", "the address"),
        Variable("STUD_TLS_CLIENT_CERTIFICATE", "commands and the health check: certificate to show", "none"),
        Variable("STUD_TLS_CLIENT_KEY", "its private key", "none"),
        Variable("STUD_AS", "commands: who asks, where `--as` does not say", "nobody"),
        Variable("STUD_TOKEN", "commands: the token to ask with, where `--token-file` brings none", "none"),
        *(
            Variable(
                variable, f"compose file: password of the log's user {variable.rpartition('_')[2].lower()}", default
            )
            for variable, default in dict(re.findall(r"\$\{(\w+):-([^}]*)\}", COMPOSE.read_text())).items()
        ),
    ]


def page() -> str:
    """Return the page as it should be now."""
    before, _, rest = TARGET.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{TARGET.name} has no {BEGIN.strip()} … {END.strip()}")
    rows = [f"| `{v.name}` | {v.meaning} | `{v.default}` |\n" for v in all_variables()]
    return "".join([before, BEGIN, "| variable | meaning | default |\n|---|---|---|\n", *rows, END, after])


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, page))
