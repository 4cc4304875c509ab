"""Each alert calls somebody when it should and is silent when it should be, where Prometheus' own tool is installed."""

import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.arch.repository import ROOT

RULES = ROOT / "deploy/prometheus/rules.yml"
STEP_S = 15


class Case(NamedTuple):
    """Series with their values every 15 s (as promtool writes them), by which the alert fires within `minutes`; and
    values of the last series by which it never does.
    """

    series: dict[str, str]
    quiet: str
    minutes: int = 10


def histogram(name: str, fast: str, slow: str) -> dict[str, str]:
    """A histogram of a service whose values are below 0.05 s at one rate, and above 5 s at another."""
    return {
        f'{name}_bucket{{service="table", le="0.05"}}': fast,
        f'{name}_bucket{{service="table", le="5"}}': fast,
        f'{name}_bucket{{service="table", le="10"}}': slow,
        f'{name}_bucket{{service="table", le="+Inf"}}': slow,
    }


SLOW = ("0+90x120", "0+100x120")
"""A tenth takes long."""

GIB = 2**30
CASES: dict[str, Case] = {
    "StudServiceDown": Case({'up{job="stud", service="rules"}': "1 0x120"}, "1x120"),
    "StudNotServing": Case({'stud_serving{service="rules"}': "0x120"}, "0 0 0 0 1x120"),
    "StudRestarts": Case({'process_start_time_seconds{job="stud", service="table"}': "1x4 2x4 3x4 4x120"}, "1x60 2x60"),
    "StudFaults": Case({'stud_refusals_total{service="table", reason="INTERNAL"}': "0x10 1x120"}, "5x120"),
    "StudOpenFiles": Case(
        {
            'process_max_fds{job="stud", service="table"}': "100x120",
            'process_open_fds{job="stud", service="table"}': "90x120",
        },
        "70x120",
    ),
    "StudEdgeFull": Case({'stud_edge_connections_refused_total{service="edge"}': "0x10 1x120"}, "5x120"),
    "StudNoTokenKeys": Case({'stud_token_keys{service="wallet"}': "1 0x120"}, "0 1x120"),
    "StudTrustStale": Case(
        {
            'stud_trust_stale_seconds{service="table", source="revoked"}': "0x240",
            'stud_trust_stale_seconds{service="table", source="jwks_url"}': "0+15x240",
        },
        "0+15x50 0x240",
        minutes=30,
    ),
    "StudTurnedAway": Case(
        {
            'stud_limited_total{service="table", kind="ACCOUNT_CALLS"}': "0+5x240",
            'stud_limited_total{service="table", kind="STRANGERS"}': "0+5x240",
        },
        "7x240",
        minutes=30,
    ),
    "StudCertificateEnds": Case({'stud_certificate_days_left{service="table"}': "13.5x240"}, "14.5x240", minutes=30),
    "StudCertificateEnded": Case({'stud_certificate_days_left{service="table"}': "-1x240"}, "3x240"),
    "StudLogTrouble": Case({'stud_log_trouble{service="table", code="LOG_AWAY"}': "1x120"}, "_x120"),
    "StudLogFillsUp": Case(
        {"stud_log_memory_limit_bytes": f"{GIB}x120", "stud_log_memory_bytes": f"{0.72 * GIB}x120"},
        f"{0.6 * GIB}x120",
    ),
    "StudLogDaysLeft": Case(
        {"stud_log_memory_limit_bytes": f"{64 * GIB}x2000", "stud_log_memory_bytes": f"{GIB}+1000000x2000"},
        f"{GIB}+10000x2000",
        minutes=8 * 60,
    ),
    "StudSlowAppends": Case(histogram("stud_append_seconds", *SLOW), "0+90x120"),
    "StudParked": Case({'stud_parked_lines{service="wallet"}': "1x120"}, "0 0 1 0x120"),
    "StudFeedStalls": Case({'stud_feeds_stalled{service="wallet"}': "1x120"}, "0 1 0x120"),
    "StudFeedLag": Case(
        {
            'stud_feed_lag_seconds{service="rules", shard="s01"}': "0x120",
            'stud_feed_lag_seconds{service="rules", shard="s02"}': "0+15x120",
        },
        "0 15 0x120",
    ),
    "StudDispute": Case({'stud_disputes{service="table"}': "0 1x120"}, "0x120"),
    "StudUnverified": Case({'stud_hands_unverified{service="rules"}': "2x120"}, "0 1 0x120"),
    "StudUnsettled": Case(
        {
            'stud_settlements_blocked{service="wallet", currency="EUR"}': "0x120",
            'stud_tables_unsettled{service="wallet"}': "1x120",
        },
        "0x120",
    ),
    "StudCashOutHeld": Case({'stud_cash_outs_held{service="wallet", currency="EUR"}': "1x120"}, "0x120"),
    "StudTablesStand": Case(
        {
            'stud_tables_standing{service="table", reason="OTHER"}': "5x120",
            'stud_tables_standing{service="table", reason="DEALER_SILENT"}': "1x120",
        },
        "_x120",
    ),
    "StudSlowActs": Case(histogram("stud_act_seconds", *SLOW), "0+90x120"),
    "StudLoopLags": Case(histogram("stud_event_loop_lag_seconds", *SLOW), "0+90x120"),
    "StudSlowVerdicts": Case(histogram("stud_verdict_seconds", *SLOW), "0+90x120"),
    "StudViewersDropped": Case(
        {'stud_viewers{service="table"}': "100x120", 'stud_viewers_dropped_total{service="table"}': "0+4x120"},
        "0+1x120",
    ),
}


def firing(alert: str, case: Case, *, fires: bool) -> dict[str, Any]:
    """A test as promtool takes it."""
    series = dict(case.series)
    if not fires:
        last = list(series)[-1]
        if last.endswith('le="+Inf"}'):  # nothing was slow: the two upper buckets grow as the lower ones do
            series = dict.fromkeys(series, case.quiet)
        series[last] = case.quiet
    return {
        "name": f"{alert} {'fires' if fires else 'is silent'}",
        "interval": f"{STEP_S}s",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": f'count(ALERTS{{alertname="{alert}", alertstate="firing"}})',
                "eval_time": f"{case.minutes}m",
                "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
            }
        ],
    }


def test_every_alert_has_its_case():
    alerts = [
        rule["alert"]
        for group in yaml.safe_load(RULES.read_text())["groups"]
        for rule in group["rules"]
        if "alert" in rule
    ]
    assert sorted(alerts) == sorted(CASES)


@pytest.mark.process
@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
@pytest.mark.parametrize("alert", CASES)
def test_an_alert_fires_and_is_silent(alert: str, tmp_path: Path):
    tests = [firing(alert, CASES[alert], fires=fires) for fires in (True, False)]
    file = tmp_path / "tests.yml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": f"{STEP_S}s", "tests": tests}))
    done = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
