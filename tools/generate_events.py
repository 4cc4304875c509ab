"""Writes docs/events.md from the comments of protos/stud/events/v1: `--check` only compares."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

from tools.pages import ROOT, write_or_check

PROTOS = ROOT / "protos"
TARGET = ROOT / "docs/events.md"
COMMIT = "stud/events/v1/commit.proto"
MESSAGE, FIELD = 4, 2  # numbers of FileDescriptorProto.message_type and DescriptorProto.field, as source paths use them
LOGS = {
    "table log": (
        "Tables",
        """One log per table: `{s07}:table:<id>`. The table service writes it. What other services read rides in the
same append as a copy in `{s07}:table-events`.""",
    ),
    "deck log": (
        "Decks",
        """One log per table: `{s07}:deck:<id>`. The dealer writes it; copies in `{s07}:dealer-events`, for the table
and the referee. Cards are sealed, or already shown.""",
    ),
    "verdict log": (
        "Verdicts",
        "One log per shard: `{s07}:verdicts`. The referee writes it; table and wallet read the log itself.",
    ),
    "ledger": (
        "Ledgers",
        """One log per currency: `{ledger:EUR}:transfers`. The wallet writes it; answers to tables are copied to
`{ledger:EUR}:to:s07`.""",
    ),
}
HEAD = """# Events

A log is a stream of commits: one command, one commit, one entry, one version. A commit holds its events in order, when
it was decided, who asked with which request id, and the message that caused it
([commit.proto](../protos/stud/events/v1/commit.proto)). Each entry's hash covers the one before it. Events say what
came of a decision (cards, amounts, stacks), so that a reader only folds them. Amounts are minor units, times are
milliseconds since the epoch, versions are numbers of commits. `s07` stands for the table's shard, `EUR` for its
currency (`libs/stud_eventlog/keys.py` names every key). This page is made from `protos/stud/events/v1`.
"""
Comments = dict[tuple[int, ...], str]


def descriptors() -> dict[str, FileDescriptorProto]:
    """Return the compiled files under events/v1, comments included."""
    sources = sorted(str(path.relative_to(PROTOS)) for path in (PROTOS / "stud/events/v1").glob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "set"
        words = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTOS}", "--include_source_info"]
        subprocess.run([*words, f"--descriptor_set_out={out}", *sources], check=True)
        files = FileDescriptorSet.FromString(out.read_bytes()).file
    return {file.name: file for file in files}


def comments_of(file: FileDescriptorProto) -> Comments:
    """Return comments by the path of what they stand above."""
    places = file.source_code_info.location
    return {tuple(place.path): " ".join(place.leading_comments.split()) for place in places if place.leading_comments}


def events_of(commit: FileDescriptorProto) -> Iterator[tuple[str, str]]:
    """Yield (log, event) in the order of the contract."""
    said = comments_of(commit)
    for number, message in enumerate(commit.message_type):
        for place, field in enumerate(message.field):
            if message.name == "Event" and field.HasField("oneof_index"):
                log = re.sub(r"^From an? |\.$", "", said[MESSAGE, number, FIELD, place])
                yield log, field.type_name.rpartition(".")[2]


def kind(field: FieldDescriptorProto) -> str:
    """Return a field's type as one would say it."""
    name = (
        field.type_name.rpartition(".")[2] or FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    )
    return f"{name}[]" if field.label == FieldDescriptorProto.LABEL_REPEATED else name


def rows(message: DescriptorProto, path: tuple[int, ...], said: Comments) -> Iterator[str]:
    """Yield the lines of one event."""
    yield f"\n### {message.name}\n\n{said.get(path, '')}\n"
    if message.field:
        yield "| field | type | meaning |\n|---|---|---|"
    for number, field in enumerate(message.field):
        yield f"| `{field.name}` | {kind(field)} | {said.get((*path, FIELD, number), '')} |"


def page() -> str:
    """Return the page as the contract has it now."""
    files = descriptors()
    found = {
        message.name: (message, (MESSAGE, number), comments_of(file))
        for file in files.values()
        for number, message in enumerate(file.message_type)
    }
    lines, last = [HEAD], ""
    for log, event in events_of(files[COMMIT]):
        if log != last:
            title, text = LOGS[log]
            lines.append(f"\n## {title}\n\n{text}")
            last = log
        lines += rows(*found[event])
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, page))
