"""docs/extending.md is carried out: each recipe works, and whoever leaves a place of it out is told which."""

from __future__ import annotations

import pytest

from tests.arch.repository import make_targets
from tests.support.deep import DEEP
from tests.support.recipes import PAGE, Copy, Recipe, flat, recipes

RECIPES = recipes(PAGE.read_text())
QUICK = "make quick" if "quick" in make_targets() else ".venv/bin/pytest -q -n 1 tests/arch tests/unit"
EVERYTHING = ("make check", QUICK)
pytestmark = [pytest.mark.timeout(1800)]


@pytest.fixture(scope="module", params=RECIPES, ids=lambda recipe: recipe.slug)
def cooked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Recipe, Copy]:
    """A recipe, and a copy of the repository in which it was followed."""
    recipe: Recipe = request.param
    copy = Copy(tmp_path_factory.mktemp(recipe.slug))
    copy.apply(recipe.places)
    copy.generate()
    return recipe, copy


def test_a_recipe_works(cooked: tuple[Recipe, Copy]):
    """Every check that it names; in a deep run all that can be said without a server."""
    recipe, copy = cooked
    for command in EVERYTHING if DEEP else dict.fromkeys(place.check for place in recipe.places):
        code, said = copy.run(command)
        assert code == 0, f"{recipe.title}: {command}\n{said}"


@pytest.mark.skipif(not DEEP, reason="a check for each place: make deep")
def test_a_place_that_is_left_out_is_missed(cooked: tuple[Recipe, Copy]):
    recipe, copy = cooked
    wrong: list[str] = []
    for place in recipe.places:
        code, said = copy.without(place)
        if code == 0 or flat(place.says) not in flat(said):
            wrong.append(f"without {place.path} {place.check} exits with {code}, and says:\n{said[-3000:]}")
    assert not wrong, "\n\n".join(wrong)
