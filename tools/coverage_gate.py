"""Print statement coverage per package and fail below the floor.

The core must be covered entirely; everything else to nine tenths, taken together and
per package, so that a well covered big package does not hide a neglected small one.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

CORE_FLOOR, FLOOR = 100.0, 90.0
WORST_SHOWN = 8


def percent(covered: int, statements: int) -> float:
    return 100.0 * covered / statements if statements else 100.0


def main(report: Path) -> int:
    packages: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    gaps: list[tuple[int, str, str]] = []
    for name, entry in json.loads(report.read_text())["files"].items():
        package = Path(name).parts[1]
        summary = entry["summary"]
        packages[package][0] += summary["covered_lines"]
        packages[package][1] += summary["num_statements"]
        if entry["missing_lines"]:
            lines = ",".join(map(str, entry["missing_lines"][:12]))
            gaps.append((len(entry["missing_lines"]), package, f"{name}: {lines}"))

    print(f"\n{'package':<18}{'statements':>11}{'covered':>9}{'floor':>8}")
    failed = set()
    for package, (covered, statements) in sorted(packages.items()):
        floor = CORE_FLOOR if package == "stud_core" else FLOOR
        # Compared as fractions: 99.96 % must not be rounded up to a pass.
        below = 100 * covered < floor * statements
        if below:
            failed.add(package)
        mark = "  BELOW" if below else ""
        print(f"{package:<18}{statements:>11}{percent(covered, statements):>8.1f}%{floor:>7.0f}%{mark}")
    if failed:
        print("\nlines never run (the longest lists of the packages below their floor):")
        shown = sorted((g for g in gaps if g[1] in failed), reverse=True)[:WORST_SHOWN]
        for count, _, text in shown:
            print(f"  {count:>4}  {text}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
