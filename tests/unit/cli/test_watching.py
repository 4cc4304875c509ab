"""What is shown while long logs are read: how far it is and how fast, to a terminal alone."""

import io

from rich.console import Console

from stud_cli.inspect.watching import Watch


def watched(console: Console | None) -> list[str]:
    watch = Watch(console)
    seen = []
    for table in watch.over(["a", "b", "c"]):
        watch.hands += 1000
        seen.append(table)
    return seen


def test_a_terminal_is_shown_how_far_it_is_and_how_fast():
    out = io.StringIO()
    assert watched(Console(file=out, force_terminal=True, width=100)) == ["a", "b", "c"]
    assert "tables" in out.getvalue()
    assert "3/3" in out.getvalue()
    assert "hands/s" in out.getvalue()


def test_nobody_else_is_shown_anything():
    out = io.StringIO()
    assert watched(Console(file=out, force_terminal=False)) == watched(None) == ["a", "b", "c"]
    assert out.getvalue() == ""
