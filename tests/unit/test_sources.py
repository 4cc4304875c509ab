"""Trees of sources are had whatever the collector does meanwhile."""

import ast

import pytest

from tools import sources


def test_what_only_failed_by_chance_is_done_again(monkeypatch: pytest.MonkeyPatch):
    real, failing = ast.parse, iter([SystemError("AST constructor recursion depth mismatch")] * 4)

    def parse(source: str) -> ast.Module:
        if fault := next(failing, None):
            raise fault
        return real(source)

    monkeypatch.setattr(ast, "parse", parse)
    assert ast.dump(sources.syntax_tree("x = 1")) == ast.dump(real("x = 1"))


def test_what_always_fails_fails(monkeypatch: pytest.MonkeyPatch):
    def parse(_: str) -> ast.Module:
        raise SystemError("x")

    monkeypatch.setattr(ast, "parse", parse)
    with pytest.raises(SystemError):
        sources.syntax_tree("x = 1")


def test_what_is_no_python_is_said_at_once():
    with pytest.raises(SyntaxError):
        sources.syntax_tree("x =")
