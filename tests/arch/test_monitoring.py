"""Alert rules, dashboard and runbook: they say what Prometheus can evaluate, of metrics that there are, and whoever is
woken up finds what to do.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest
import yaml

from stud_core.state import SYSTEM_PAUSES
from stud_eventlog.trouble import CODES as LOG_TROUBLES
from stud_service.metrics import METRICS, OTHER
from stud_service.refusals import CODES
from stud_topology.services import PROCESSES
from tests.arch.repository import ROOT
from tools import generate_metrics

RULES: dict[str, Any] = yaml.safe_load((ROOT / "deploy/prometheus/rules.yml").read_text())
CONFIG: dict[str, Any] = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text())
DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy/grafana/dashboards/stud.json").read_text())
RUNBOOK = (ROOT / "docs/runbook.md").read_text()
PARTS = ("Symptom", "Check", "Act")
STATE = re.compile(r"^States? .*$", re.MULTILINE)
PAUSES = SYSTEM_PAUSES | LOG_TROUBLES
WORDS = PAUSES | CODES.keys()

ALL = [rule for group in RULES["groups"] for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in ALL if "alert" in rule}
RECORDED = {rule["record"]: rule["expr"] for rule in ALL if "record" in rule}
OURS = {metric.name: metric for metric in METRICS}
OF_A_TARGET = {"job", "instance", "service"}
OF_THE_LIBRARY = {
    *("process_cpu_seconds_total", "process_max_fds", "process_open_fds", "process_resident_memory_bytes"),
    "process_start_time_seconds",
}


def queries() -> Iterator[tuple[str, str]]:
    """Where each expression stands, and what it is with Grafana's variables in it."""
    for rule in ALL:
        yield rule.get("alert") or rule["record"], rule["expr"]
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"].replace("$__rate_interval", "1m")


def problems_of(expression: str) -> list[str]:
    """What Prometheus could not evaluate, or would find nothing for."""
    try:
        parsed = promql_parser.parse(expression)
    except ValueError as why:
        return [str(why)]
    found: list[str] = []
    labels: set[str] = set(OF_A_TARGET)
    for part in parts_of(parsed):
        if isinstance(part, promql_parser.VectorSelector):
            found += problems_of_selector(part)
            metric = OURS.get(re.sub("_(bucket|count|sum)$", "", part.name or "")) or OURS.get(part.name or "")
            labels |= {"le"} if (part.name or "").endswith("_bucket") else set()
            labels |= {metric.label.name} if metric is not None and metric.label is not None else set()
    for by in re.findall(r"\bby\s*\(([^)]*)\)", expression):
        found += [f"no series has {name}" for name in map(str.strip, by.split(",")) if name not in labels]
    return found


def parts_of(parsed: Any) -> Iterator[Any]:
    yield parsed
    for name in ("expr", "lhs", "rhs", "vector_selector", "vs", "param"):
        inner = getattr(parsed, name, None)
        if inner is not None:
            yield from parts_of(inner)
    for argument in getattr(parsed, "args", None) or ():
        yield from parts_of(argument)


def problems_of_selector(selector: Any) -> list[str]:
    name = selector.name
    if name == "up" or name in OF_THE_LIBRARY or name in RECORDED:
        return []
    metric = OURS.get(name)
    if metric is None or metric.kind == "histogram":
        metric = OURS.get(re.sub("_(bucket|count|sum)$", "", name))
        if metric is None or metric.kind != "histogram" or metric.name == name:
            return [f"there is no {name}"]
    found = []
    for matcher in selector.matchers.matchers:
        if metric.label is not None and matcher.name == metric.label.name:
            words = [word for word in matcher.value.split("|") if word != OTHER]
            found += [f"{name} never says {word}" for word in words if not metric.label.values.fullmatch(word)]
        elif matcher.name not in OF_A_TARGET:
            found.append(f"{name} has no label {matcher.name}")
    return found


@pytest.mark.parametrize(("place", "expression"), list(queries()))
def test_every_expression_is_of_what_there_is(place: str, expression: str):
    assert problems_of(expression) == [], place


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("rate(stud_actions_total[5m]", "unclosed"),
        ("stud_nothing > 0", "there is no stud_nothing"),
        ("rate(stud_actions_bucket[5m])", "there is no stud_actions_bucket"),
        ("stud_act_seconds", "there is no stud_act_seconds"),
        ("sum(stud_viewers) / stud_viewrs", "there is no stud_viewrs"),
        ("-(max by (code) (stud_log_troubles))", "there is no stud_log_troubles"),
        ('stud_refusals_total{reason="NONESUCH"}', "never says NONESUCH"),
        ('stud_refusals_total{table="t-1"}', "has no label table"),
        ("sum by (verb) (stud_refusals_total)", "no series has verb"),
    ],
)
def test_a_wrong_expression_is_found(expression: str, problem: str):
    assert problem in " ".join(problems_of(expression))


def test_everything_that_is_measured_is_looked_at():
    text = " ".join(expression for _, expression in queries())
    assert [name for name in [*OURS, *RECORDED] if name not in text] == []


def test_prometheus_asks_every_service_where_it_answers():
    (job,) = CONFIG["scrape_configs"]
    asked = {config["labels"]["service"]: config["targets"] for config in job["static_configs"]}
    assert asked == {service.name: [f"{service.name}:{service.metrics_port}"] for service in PROCESSES}
    assert CONFIG["rule_files"] == ["rules.yml"]


# --- the runbook --------------------------------------------------------------------------------------------------


def sections(text: str) -> dict[str, str]:
    """What stands under each heading, by the address of the heading as pages give it."""
    found = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        found[re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")] = body
    return found


def unguided(alerts: dict[str, Any], text: str) -> list[str]:
    """Alerts that lead nowhere; sections that neither an alert nor a state leads to, or that leave out what to do."""
    runbook, led_to, found = sections(text), set(), []
    for name, rule in alerts.items():
        page, _, heading = rule["annotations"]["runbook"].partition("#")
        led_to.add(heading)
        if page != "docs/runbook.md" or heading not in runbook:
            found.append(f"{name}: no heading {heading}")
        elif f"`{name}`" not in runbook[heading] or rule["labels"]["severity"] not in runbook[heading]:
            found.append(f"{name}: not named under {heading}")
    for heading, body in runbook.items():
        at = [body.find(f"**{part}.**") for part in PARTS]
        if -1 in at or at != sorted(at):
            found.append(f"{heading}: want {', '.join(PARTS)}")
        if heading not in led_to and not STATE.search(body):
            found.append(f"{heading}: no alert and no state")
        named = set(re.findall(r"`(Stud\w+)`", body))
        found += [f"{heading}: there is no {name}" for name in named if name not in alerts]
        found += [f"{heading}: there is no {word}" for word in states(body) if word.isupper() and word not in WORDS]
    return found


def states(body: str) -> set[str]:
    """The words by which somebody finds a section who was not called by an alert."""
    found = STATE.search(body)
    return set(re.findall(r"`(\w+)`", found[0])) if found is not None else set()


def test_every_alert_leads_to_a_section_that_says_what_to_do():
    assert unguided(ALERTS, RUNBOOK) == []
    assert len(ALERTS) > 15


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("## Play is slow", "## Play is too slow", "no heading play-is-slow"),
        ("Alert `StudParked`", "Alert `StudPark`", "StudParked: not named under messages-are-parked"),
        ("**Act.** The front end", "The front end", "viewers-are-dropped: want Symptom, Check, Act"),
        ("## Play is slow", "## Rain\n\n## Play is slow", "rain: no alert and no state"),
        ("State `DEALER_SILENT`.", "State `DEALER_ASLEEP`.", "there is no DEALER_ASLEEP"),
    ],
)
def test_a_runbook_that_misses_something_is_found(old: str, new: str, problem: str):
    assert old in RUNBOOK
    assert any(problem in found for found in unguided(ALERTS, RUNBOOK.replace(old, new, 1)))


def test_every_pause_of_the_system_has_its_place_in_the_runbook():
    assert [word for word in sorted(PAUSES) if f"`{word}`" not in RUNBOOK] == []


def test_links_within_the_runbook_lead_to_its_sections():
    assert set(re.findall(r"\]\(#([\w-]+)\)", RUNBOOK)) <= set(sections(RUNBOOK))


def test_metrics_that_pages_name_exist():
    named = set(re.findall(r"\b(?:stud|process)_[a-z_]+(?:_[a-z]+)*\b", RUNBOOK)) - {"stud_service"}
    known = {*OURS, *OF_THE_LIBRARY}
    assert {name for name in named if not any(full.startswith(name) for full in known)} == set()
    assert set(re.findall(r"stud:\w+", RUNBOOK)) <= set(RECORDED)


def test_lines_of_logs_that_the_runbook_looks_for_are_written():
    sources = "\n".join(path.read_text() for tree in ("libs", "services") for path in (ROOT / tree).rglob("*.py"))
    looked_for: set[str] = set()
    for pattern in re.findall(r"grep -hE '([^']*)'", RUNBOOK):
        looked_for |= set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", pattern))
    assert len(looked_for) > 12
    assert {word for word in looked_for if f'"{word}"' not in sources} == set()


# --- what else reads these files ----------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_takes_the_configuration_and_its_rules():
    done = subprocess.run(
        ["promtool", "check", "config", "prometheus.yml"],
        cwd=ROOT / "deploy/prometheus",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_grafana_finds_its_source_and_its_dashboard():
    folder = ROOT / "deploy/grafana/provisioning"
    (source,) = yaml.safe_load((folder / "datasources/prometheus.yml").read_text())["datasources"]
    (provider,) = yaml.safe_load((folder / "dashboards/stud.yml").read_text())["providers"]
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    assert source["url"] == "http://prometheus:9090"
    assert f"./deploy/grafana/dashboards:{provider['options']['path']}:ro" in compose["grafana"]["volumes"]
    home = compose["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home == f"{provider['options']['path']}/stud.json"
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) > 25
    for panel in panels:
        for part in [panel, *panel.get("targets", ())] if panel["type"] != "row" else ():
            assert part["datasource"]["uid"] == source["uid"]


def test_the_page_for_operators_has_the_table_that_the_code_makes():
    assert generate_metrics.TARGET.read_text() == generate_metrics.page()
