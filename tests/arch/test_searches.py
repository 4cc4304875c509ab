"""The coverage of the gate must not depend on what a search happened to draw."""

import pytest

from tests.arch.repository import ROOT


def test_every_search_of_this_run_is_marked_as_one(request: pytest.FixtureRequest):
    drawn = [item for item in request.session.items if item.get_closest_marker("hypothesis")]
    assert [item.nodeid for item in drawn if not item.get_closest_marker("search")] == []


def test_a_search_is_told_from_other_tests(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tests.support.deep.QUICK", False)  # a quick run has no searches to be told from others
    marks = "".join(f"\n  {mark}" for mark in ("search", "traced", "untraced", "process"))
    pytester.makeini(f"[pytest]\nasyncio_default_fixture_loop_scope = function\nmarkers ={marks}\n")
    pytester.makeconftest((ROOT / "tests/conftest.py").read_text())
    pytester.makepyfile(
        test_some="""
        from hypothesis import given, strategies as st
        from hypothesis.stateful import RuleBasedStateMachine, rule

        @given(st.integers())
        def test_drawn(number): ...

        def test_plain(): ...

        class Machine(RuleBasedStateMachine):
            @rule()
            def step(self): ...

        TestMachine = Machine.TestCase
        """
    )
    (pytester.mkdir("property") / "test_other.py").write_text("def test_in_a_folder_that_searches(): ...\n")
    (pytester.mkdir("e2e") / "test_system.py").write_text(
        "import pytest\n\n"
        "def test_of_the_whole_system(): ...\n\n"
        "@pytest.mark.traced\ndef test_that_nobody_else_shows(): ...\n"
    )
    for chosen, names in [
        ("search", {"test_drawn", "runTest", "test_in_a_folder_that_searches"}),
        ("not untraced", {"test_plain", "test_that_nobody_else_shows"}),
        ("untraced and not search", {"test_of_the_whole_system"}),
    ]:
        listed = pytester.runpytest_inprocess("--collect-only", "-q", "-p", "no:randomly", "-m", chosen)
        assert {line.rpartition("::")[2] for line in listed.outlines if "::" in line} == names


def test_only_what_does_not_search_and_is_not_the_whole_system_is_traced():
    traced = [line for line in (ROOT / "Makefile").read_text().splitlines() if "--cov" in line]
    assert len(traced) == 1
    assert '-m "not untraced"' in traced[0]
