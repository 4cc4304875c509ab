"""No two modules need each other, be it for a type or inside a function: what they share has a third place."""

import ast
from collections.abc import Iterator, Mapping

from tests.arch.repository import ROOT, is_generated, text_of, tracked_files
from tools.sources import syntax_tree

Imports = Mapping[str, set[str]]  # which modules each module names


def product() -> dict[str, str]:
    """The text of each module that we write, by the name it is imported by."""
    found = {}
    for path in tracked_files():
        parts = path.relative_to(ROOT).with_suffix("").parts
        if path.suffix == ".py" and parts[0] in {"libs", "services"} and not is_generated(path):
            found[".".join(parts[1:]).removesuffix(".__init__")] = text_of(path) or ""
    return found


def imports_of(sources: Mapping[str, str]) -> dict[str, set[str]]:
    return {name: set(_named(syntax_tree(text), sources)) - {name} for name, text in sources.items()}


def _named(tree: ast.Module, modules: Mapping[str, str]) -> Iterator[str]:
    """Modules named by any import, wherever it stands. That a package runs before its modules is left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports name whole modules"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield from [name for name in (whole, str(node.module)) if name in modules][:1]


def circles(imports: Imports) -> list[str]:
    """Each circle once, written as the way around it: ``"a → b → a"``."""
    found: dict[frozenset[str], str] = {}
    for start in sorted(imports):
        way = _way_back(start, imports)
        if way and not any(set(way) & seen for seen in found):
            found[frozenset(way)] = " → ".join(way)
    return list(found.values())


def _way_back(start: str, imports: Imports) -> list[str]:
    """The shortest way from a module over what it imports to itself; empty where there is none."""
    ways = [[start]]
    seen: set[str] = set()
    for way in ways:
        for name in sorted(imports.get(way[-1], ())):
            if name == start:
                return [*way, start]
            if name not in seen:
                seen.add(name)
                ways.append([*way, name])
    return []


def test_no_module_needs_one_that_needs_it():
    assert circles(imports_of(product())) == []


def test_the_product_is_looked_at():
    imports = imports_of(product())
    assert "stud_core.state" in imports["stud_core.decide"]
    assert {"table_service.app", "stud_service.run"} <= imports["table_service.__main__"]


def test_a_circle_is_found_wherever_the_imports_stand():
    made_up = {
        "p": "from p import a",
        "p.a": "import q.b as other",
        "q.b": "def late():\n    from r.c import thing",
        "r.c": "if TYPE_CHECKING:\n    from p.a import Thing",
        "r.d": "from r import c",
    }
    assert circles(imports_of(made_up)) == ["p.a → q.b → r.c → p.a"]
    assert circles(imports_of({**made_up, "q.b": ""})) == []
    assert circles(imports_of({"p": "from p.a import x", "p.a": "from p import y"})) == ["p → p.a → p"]
