"""Mutation testing of the rules: mutmut changes one thing at a time and expects a test to fail.

It wants the sources below ``src/``, so a copy is laid out under var/mutation. A mutant that no test noticed must be
explained in tests/mutation-survivors.toml, and what is explained there must still survive.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter, deque
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
STAGE: Final = ROOT / "var/mutation"
EXPLAINED: Final = ROOT / "tests/mutation-survivors.toml"
AREAS: Final = {
    "betting": ["betting", "bet_ahead", "decide.acting", "evolve.betting"],
    "pots": ["pots", "evolve.ending"],
    "dealing": ["river", "decide.dealing", "evolve.hand"],
    "showdown": ["showdown", "decide.showing"],
    "table": [
        "gate", "prompts", "timers", "state", "decide.antes", "decide.boundary", "decide.money", "decide.operator",
        "decide.rules", "decide.seating", "decide.timeouts", "decide.verdicts", "evolve.changes", "evolve.life",
        "evolve.seating",
    ],
}  # fmt: skip
# Those that read the sources would find every mutant at once; the others take seconds for each mutant that lives.
LEFT_OUT: Final = [
    "test_no_statement_is_cited_but_by_page",
    "test_what_the_page_leaves_out_is_not_played",
    "test_random_play",
    "test_house_rules",
    "all_462_tuples",
    "standard_category_counts",
    "asks_that_evaluator",
]
SETTINGS: Final = """
[tool.mutmut]
source_paths = ["src/stud_core"]
only_mutate = {files}
also_copy = ["src", "tools"]
pytest_add_cli_args = [
    "-p", "no:randomly", "-p", "no:cacheprovider", "--timeout=10",
    "-k", "not ({left_out})",
]
pytest_add_cli_args_test_selection = ["tests/vectors", "tests/unit/core"]
use_git_change_detection = false
track_dependencies = false
"""
KILLED: Final = {"killed", "timeout"}


class Survivor(NamedTuple):
    """A mutant that lives, named by what an edit elsewhere does not change."""

    file: str
    function: str
    change: str


def lay_out(areas: list[str]) -> None:
    unwanted = shutil.ignore_patterns("__pycache__")
    for folder in ("libs", "services"):
        shutil.copytree(ROOT / folder, STAGE / "src", dirs_exist_ok=True, ignore=unwanted)
    shutil.copytree(
        ROOT / "tools", STAGE / "tools", dirs_exist_ok=True, ignore=unwanted
    )  # what tests read sources with
    for folder in ("support", "vectors", "unit/core", "golden"):
        shutil.copytree(ROOT / "tests" / folder, STAGE / "tests" / folder, dirs_exist_ok=True, ignore=unwanted)
    for file in ("__init__.py", "conftest.py"):
        shutil.copy(ROOT / "tests" / file, STAGE / "tests")
    files = [f"src/stud_core/{module.replace('.', '/')}.py" for area in areas for module in AREAS[area]]
    for file in files:  # mutmut passes over decorated functions, and a cache filled before would hide a mutant
        source = (STAGE / file).read_text()
        (STAGE / file).write_text(re.sub(r"^@lru_cache\(.*\)\n", "", source, flags=re.MULTILINE))
    project = (ROOT / "pyproject.toml").read_text()
    (STAGE / "pyproject.toml").write_text(
        project + SETTINGS.format(files=json.dumps(files), left_out=" or ".join(LEFT_OUT))
    )


MUTMUT: Final = str(Path(sys.executable).parent / "mutmut")
SHOW_EVERY_S: Final = 15.0


def mutmut(*args: str) -> str:
    return subprocess.run([MUTMUT, *args], cwd=STAGE, check=True, stdout=subprocess.PIPE, text=True).stdout


def try_mutants(*args: str) -> None:
    """Run mutmut; its progress bar, which redraws one line, becomes a line now and then where nobody watches."""
    command = [MUTMUT, "run", *args]
    if sys.stderr.isatty():
        subprocess.run(command, cwd=STAGE, check=True, stdout=sys.stderr)
        return
    shown = 0.0
    last: deque[str] = deque(maxlen=40)
    with subprocess.Popen(command, cwd=STAGE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:  # as text, a carriage return ends a line
            last.append(line)
            if time.monotonic() - shown > SHOW_EVERY_S:
                print(line.strip(), file=sys.stderr, flush=True)
                shown = time.monotonic()
    if running.returncode:
        print("".join(last), file=sys.stderr)
        raise subprocess.CalledProcessError(running.returncode, command)


def statuses() -> dict[str, str]:
    """Every mutant and what became of it."""
    lines = [line.strip().rpartition(": ") for line in mutmut("results", "--all", "true").splitlines()]
    return {mutant: status for mutant, _, status in lines}


def area_of(mutant: str) -> str:
    module = mutant.rpartition(".")[0].removeprefix("stud_core.")
    return next(area for area, modules in AREAS.items() if module in modules)


def described(mutant: str) -> Survivor:
    """The file, the function, and the lines that mutmut's diff takes out and puts in."""
    lines = mutmut("show", mutant).splitlines()
    file = next(line.removeprefix("--- src/stud_core/") for line in lines if line.startswith("--- "))
    changed = [f"{line[0]} {line[1:].strip()}" for line in lines if re.match(r"[+-](?!\+\+ |-- )", line)]
    _, _, name = mutant.rpartition(".")
    function = re.sub(r"^x_|^xǁ|__mutmut_\d+$", "", name).replace("ǁ", ".")
    return Survivor(file, function, "\n".join(changed))


def explained(areas: list[str]) -> set[Survivor]:
    """The survivors that the checked-in file explains, of these areas."""
    files = {module.replace(".", "/") + ".py" for area in areas for module in AREAS[area]}
    entries = tomllib.loads(EXPLAINED.read_text())["survivor"]
    return {
        Survivor(entry["file"], entry["function"], change.strip())
        for entry in entries
        if entry["file"] in files
        for change in entry["changes"]
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutation testing of the rules")
    parser.add_argument("area", nargs="*", help=f"areas to try: {', '.join(AREAS)}; all of them by default")
    parser.add_argument("--max-children", default="2", help="mutants tried at the same time")
    parser.add_argument("--again", action="store_true", help="try what has changed or survived since the last run")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    arguments = parser.parse_args()
    areas = arguments.area or list(AREAS)
    if not set(areas) <= set(AREAS):
        parser.error(f"areas are {', '.join(AREAS)}")

    started = time.monotonic()
    if arguments.again:
        (STAGE / "mutants/mutmut-stats.json").unlink(missing_ok=True)  # a changed test may reach other functions now
    else:
        shutil.rmtree(STAGE, ignore_errors=True)
    lay_out(areas)
    try_mutants("--max-children", arguments.max_children)
    ended = statuses()
    if arguments.again and (living := [mutant for mutant, status in ended.items() if status not in KILLED]):
        try_mutants("--max-children", arguments.max_children, *living)
        ended = statuses()
    mutants = Counter(area_of(mutant) for mutant in ended)
    killed = Counter(area_of(mutant) for mutant, status in ended.items() if status in KILLED)
    survivors = {mutant: described(mutant) for mutant, status in ended.items() if status not in KILLED}
    known = explained(areas)
    unexplained = {mutant: survivor for mutant, survivor in survivors.items() if survivor not in known}
    stale = known - set(survivors.values())

    print(f"\n{'area':10} {'mutants':>8} {'killed':>8} {'survived':>8} {'score':>8}")
    for area, total, dead in [(a, mutants[a], killed[a]) for a in areas] + [("all", mutants.total(), killed.total())]:
        print(f"{area:10} {total:8} {dead:8} {total - dead:8} {dead / total:8.1%}")
    print(f"{len(survivors)} survived, {len(survivors) - len(unexplained)} of them explained in {EXPLAINED.name}")
    for mutant, survivor in unexplained.items():
        print(f"\n{ended[mutant]}: {mutant} ({survivor.file}, {survivor.function})\n{survivor.change}")
    for survivor in sorted(stale):
        print(f"\nstale, it survives no more: {survivor.file}, {survivor.function}\n{survivor.change}")
    if arguments.json:
        figures = {
            "mutants": mutants.total(),
            "killed": killed.total(),
            "score": round(killed.total() / mutants.total(), 4),
            "areas": {area: {"mutants": mutants[area], "killed": killed[area]} for area in areas},
            "unexplained": len(unexplained),
            "stale": len(stale),
            "seconds": round(time.monotonic() - started),
        }
        print(json.dumps(figures))
    return 1 if unexplained or stale else 0


if __name__ == "__main__":
    sys.exit(main())
