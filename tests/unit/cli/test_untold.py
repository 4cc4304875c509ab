"""What was done and cannot be printed: whoever asked learns that it was done, and how to ask what came of it.

A deposit that ends with "could not run", and with no word of what became of it, is made once more: twice the money.
"""

from __future__ import annotations

import itertools
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.open_house import OpenHouse

STUD = str(Path(sys.executable).parent / "stud")
EURO = ["--currency", "EUR"]
_numbers = itertools.count()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenHouse]:
    with OpenHouse(tmp_path_factory.mktemp("house")) as house:
        yield house


@pytest.fixture(params=["", "1"], ids=["buffered", "unbuffered"])
def stud(
    request: pytest.FixtureRequest, house: OpenHouse, tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a command at the house; its output is read unless it goes elsewhere."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("STUD_")}
    own["PYTHONUNBUFFERED"] = request.param

    def run(*words: str, out: int = subprocess.PIPE, encoding: str = "utf-8") -> subprocess.CompletedProcess[str]:
        env = {**own, **house.environ, "PYTHONIOENCODING": encoding}
        return subprocess.run(
            [STUD, *words], cwd=tmp_path, env=env, stdout=out, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL, encoding=encoding, check=False,
        )  # fmt: skip

    return run


def full() -> int:
    return os.open("/dev/full", os.O_WRONLY)


def unread() -> int:
    read, write = os.pipe()
    os.close(read)
    return write


@pytest.mark.process
@pytest.mark.untraced
@pytest.mark.parametrize(("sink", "why"), [(full, "No space left on device"), (unread, "nobody reads it")])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["words", "json"])
def test_a_deposit_that_cannot_be_told_is_not_made_twice(stud, sink, why: str, form: list[str]):
    account = f"{sink.__name__}-{next(_numbers)}"
    stud("account", "open", account, *EURO, "--as", "carl")
    out = sink()
    try:
        ended = stud("account", "deposit", account, "700", *EURO, "--reference", "w", "--as", "carl", *form, out=out)
    finally:
        os.close(out)
    assert ended.returncode == 2
    said, again = ended.stderr.strip().splitlines()
    assert f"it was done, and only the answer cannot be printed ({why})" in said
    assert stud(*shlex.split(again)[1:], *form).returncode == 0
    assert f"{account}: 7.00 EUR" in stud("account", "show", account, *EURO).stdout


@pytest.mark.process
@pytest.mark.untraced
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_terminal_that_is_not_of_unicode_is_told_all_the_same(stud, encoding: str):
    """A name that it cannot show is no reason to call what was done a fault."""
    table = f"t-{encoding}-{next(_numbers)}"
    words = ["table", "create", table, "--preset", "playnow", *EURO, "--small-bet", "500", "--name", "Żółć ♠"]
    made = stud(*words, "--as", "olga", encoding=encoding)
    assert (made.returncode, made.stderr) == (0, "")
    shown = "Żółć ♠" if encoding == "utf-8" else "\\u2660"
    assert shown in made.stdout
    assert stud("tables", encoding=encoding).returncode == 0


@pytest.mark.process
@pytest.mark.untraced
def test_what_only_looks_is_not_said_to_be_done(stud):
    out = full()
    try:
        ended = stud("tables", out=out), stud("proposals", out=out)
    finally:
        os.close(out)
    for each in ended:
        assert each.returncode == 2
        assert "No space left on device" in each.stderr
        assert "it was done" not in each.stderr
