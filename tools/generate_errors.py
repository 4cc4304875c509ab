"""Writes docs/errors.md from the catalogue's own comments: `--check` only compares."""

from __future__ import annotations

import re
import sys

from tools.pages import ROOT, write_or_check

SOURCE = ROOT / "protos/stud/errors/v1/reasons.proto"
TARGET = ROOT / "docs/errors.md"
HEAD = """# Refusals

Every refusal is a gRPC status with a `google.rpc.ErrorInfo`: `reason` is a name of this list, `domain` is "stud",
`metadata` says what would have been right. On a Play stream it is a `CommandResult`. A refused call changed nothing.
Texts are for people and may change; reasons do not. This page is made from `protos/stud/errors/v1/reasons.proto`.

Two further details, behind the ErrorInfo in the same `google.rpc.Status`, say for machines what the metadata say in one
line (`protos/stud/errors/v1/details.proto`): `stud.errors.v1.LegalActions`, every action that would have been legal
with its amounts, where metadata has "legal" (on a Play stream `CommandResult.legal`); and `stud.errors.v1.WrongFields`,
everything that is wrong with what a table was to be opened with, each with its field and, where a number says it, the
least and the greatest value that would be right; the metadata are of the first.

| reason | status | when |
|---|---|---|
"""
_ENTRY = re.compile(r"((?:  // .*\n)+)  REASON_(\w+) = \d+;")


def page() -> str:
    """Return the page as the catalogue has it now."""
    rows = []
    for comment, name in _ENTRY.findall(SOURCE.read_text()):
        text = " ".join(line.strip().removeprefix("//").strip() for line in comment.splitlines())
        if name != "UNSPECIFIED":
            words, _, code = text.rstrip(".").rpartition(". ")
            rows.append(f"| `{name}` | {code} | {words}. |")
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, page))
