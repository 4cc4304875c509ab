"""Whom the tools act for."""

import time

import pytest

from stud_cli.local.callers import TTL_S, RenewedToken
from stud_service.identity import Caller
from stud_service.tokens import Verifier
from tests.support.runtime import KEY


def test_a_token_is_renewed_long_before_it_runs_out(monkeypatch: pytest.MonkeyPatch):
    now, real = 0.0, time.time()
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0 + now)
    monkeypatch.setattr(time, "time", lambda: real + now)
    token, verifier = RenewedToken("olga", "operator", KEY), Verifier(KEY.public_key(), clock_s=lambda: real + now)
    first = token()
    assert verifier.caller_of(first) == Caller("olga", frozenset({"operator"}))
    now = TTL_S / 2 - 1
    assert token() == first
    now = TTL_S / 2 + 1
    assert token() != first
    assert verifier.left_s(verifier.caller_of(token())) > TTL_S / 2
