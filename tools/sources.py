"""Sources of Python as trees, for tests and generators that look at them."""

from __future__ import annotations

import ast

ATTEMPTS = 5


def syntax_tree(source: str) -> ast.Module:
    """Returns what `ast.parse` does. On Python 3.11 that fails with SystemError when the garbage collector happens to
    run code that parses too, in the middle of it (CPython gh-106905); the same call then works.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return ast.parse(source)
        except SystemError:
            continue
    return ast.parse(source)
