"""What a load run is held to when it is over: `stud audit` and `stud verify`, where the log can be read."""

from __future__ import annotations

from rich.console import Console

from stud_cli.inspect.audit import audit_log
from stud_cli.inspect.verify import referee_key, verify_log
from stud_cli.inspect.watching import Watch
from stud_cli.load.places import Place
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.types import EventLogError
from stud_load import Report
from stud_load.violations import Rule


async def look_at_the_log(report: Report, place: Place, console: Console | None) -> None:
    """Audit and verify the whole log, and add what is wrong to the report; show how far it is where there is a
    console. Raises CouldNotRun where the referee's key cannot be read.
    """
    if not place.redis_url:
        report.checks[Rule.AUDIT] = report.checks[Rule.VERIFY] = "not done: the log is not at hand (--run)"
        return
    try:
        log = await RedisEventLog.connect(place.redis_url, allow_volatile=True)
    except EventLogError as error:
        report.checks[Rule.AUDIT] = report.checks[Rule.VERIFY] = f"not done: {error}"
        return
    try:
        await _look(report, log, place, console)
    except EventLogError as error:  # it ended meanwhile
        for rule in (Rule.AUDIT, Rule.VERIFY):
            report.checks.setdefault(rule, f"not done: {error}")
    finally:
        await log.close()


async def _look(report: Report, log: RedisEventLog, place: Place, console: Console | None) -> None:
    audit, _ = await audit_log(log, console)
    problems = list(audit.problems)
    if audit.disputed:
        problems.append(f"{audit.disputed} hands are disputed")
    report.found(Rule.AUDIT, problems)
    report.checks[Rule.AUDIT] = f"{audit.accounts} accounts, sum {audit.ledger_sum}, {len(problems)} problems"
    found = await verify_log(log, None, referee_key(place.keys_dir), Watch(console))
    report.found(Rule.VERIFY, (f"{p.table} version {p.version}: {p.what}" for p in found.problems))
    report.checks[Rule.VERIFY] = f"{found.tables} tables, {found.hands} hands, {len(found.problems)} problems"
