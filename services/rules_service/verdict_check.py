"""Whether what a table recorded of the referee's verdicts is what the referee's own log holds (architecture.md, R4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rules_service.findings import Code
from rules_service.redecide import Recorded
from stud_core import events as ev


class Known(msgspec.Struct, frozen=True):
    """What the referee's log holds of the hand before the one being judged; 0 and None where there is nothing."""

    final_hand: int = 0  # last hand with a final verdict
    final_version: int = 0
    resolved: ev.TableHandResolved | None = None  # as the table must record it, when it was decided by operators
    disputed_hand: int = 0
    disputed_version: int = 0


def check_verdicts(commits: Sequence[Recorded], hand_no: int, known: Known) -> Iterator[tuple[Code, int]]:
    """Yield what is wrong, with the version of the table's log."""
    if known.final_hand != hand_no - 1:
        yield Code.HAND_SKIPPED, commits[0].version
    for commit in commits:
        for event in commit.events:
            if type(event) in _TOLD and not _is_known(event, known):
                yield Code.WRONG_VERDICT, commit.version


_TOLD = (ev.TableHandVerified, ev.TableHandDisputed, ev.TableHandResolved)


def _is_known(event: object, known: Known) -> bool:
    if isinstance(event, ev.TableHandDisputed):
        return (event.hand_no, event.verdict_version) == (known.disputed_hand, known.disputed_version)
    if isinstance(event, ev.TableHandVerified):
        told = (event.hand_no, event.verdict_version)
        return known.resolved is None and told == (known.final_hand, known.final_version)
    resolved = known.resolved
    if not isinstance(event, ev.TableHandResolved) or resolved is None:
        return False
    if event.choice is ev.ResolutionChoice.VOID:  # the table restores the stacks; the account checks them
        event = ev.TableHandResolved(event.hand_no, event.verdict_version, event.choice, ())
    return event == resolved
