"""What a run plays against: where the services are and whom they believe. Given by whoever starts the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from stud_client import Endpoints

Token = Callable[[], str]
"""Asked before every call and every stream; returns a token that is still good."""


@dataclass(frozen=True, slots=True)
class Target:
    """``token_of(subject, role)`` returns a `Token`; ``pids`` are the processes to measure, by name, where they are on
    this machine.
    """

    endpoints: Endpoints
    token_of: Callable[[str, str], Token]
    pids: Mapping[str, int] = field(default_factory=dict)
