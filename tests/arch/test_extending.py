"""The recipes of docs/extending.md fit the code as it is; that they work shows tests/e2e/test_extending.py."""

from __future__ import annotations

import pytest

from tests.arch.repository import ROOT
from tests.support.recipes import GENERATE, PAGE, Recipe, git_apply, recipes

RECIPES = recipes(PAGE.read_text())


def test_every_recipe_says_when_code_is_generated():
    assert [recipe.title for recipe in RECIPES if GENERATE not in recipe.text] == []


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.slug)
def test_every_change_fits(recipe: Recipe):
    for place in recipe.places:
        assert (ROOT / place.path).exists() is not place.new, place.path
    git_apply(ROOT, "".join([place.change for place in recipe.places if not place.new]), "--check")


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.slug)
def test_a_check_names_the_place(recipe: Recipe):
    """New tests apart: where they stand is free, and what is told is what they are missed by."""
    assert [place.path for place in recipe.places if not place.named and not place.path.startswith("tests/")] == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("## A\n### `a.py`\n```diff\n```\n", "want a line"),
        ("## A\n### `a.py`\nLeft out: `x` says `y`.\n", "want a line"),
        ("## A\n### `a.py` (new)\nLeft out: `x` says `y`.\n```diff\n```\n", "given whole"),
        ("## A\n### `a.py`\nLeft out: `x` says `y`.\n```python\n```\n", "by a diff"),
    ],
)
def test_a_place_is_told_completely(text: str, told: str):
    with pytest.raises(ValueError, match=told):
        recipes(text)
