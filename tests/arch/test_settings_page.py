"""Every variable that something of ours takes from the environment stands in the page for operators."""

import re

from stud_service.settings import ServiceSettings
from tests.arch.repository import documents, text_of, tracked_files
from tools.generate_settings import TARGET, all_variables, page

NAME = re.compile(r"\bSTUD_[A-Z0-9]+(?:_[A-Z0-9]+)*\b")
OF_A_FAMILY = {"STUD_REDIS_PASSWORD", "STUD_TEST"}
FOR_DEVELOPERS = {"STUD_DEEP", "STUD_QUICK"}
RECIPES = "extending.md"
"""Shows how a service is added that does not exist."""


def test_every_variable_is_on_the_page_and_every_one_on_the_page_exists():
    listed = [variable.name for variable in all_variables()]
    assert len(listed) == len(set(listed))
    read = {
        name
        for path in tracked_files()
        if (path.suffix in {".py", ".sh", ".conf"} and {"libs", "services", "deploy"} & set(path.parts))
        or path.name == "docker-compose.yml"
        for name in NAME.findall(text_of(path) or "")
    }
    pages = [path for path in documents() if path.name != RECIPES]
    told = {name for path in pages for name in NAME.findall(path.read_text())}
    assert read | told - FOR_DEVELOPERS <= {*listed, *OF_A_FAMILY, *FOR_DEVELOPERS}
    assert {f"STUD_{field.upper()}" for field in ServiceSettings.__struct_fields__} <= set(listed)


def test_the_page_is_the_one_that_the_code_makes():
    assert TARGET.read_text() == page()
    for variable in all_variables():
        assert f"| `{variable.name}` | {variable.meaning} | `{variable.default}` |" in page()
        assert variable.meaning
