"""Clients for everybody a tool plays: players, an operator, a second one, a cashier."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from stud.events.v1 import table_events_pb2
from stud.rules.v1 import rules_service_pb2 as rules
from stud_client import Endpoints, StudClient
from stud_service.settings import load_settings
from stud_service.signing_keys import PrivateKey, load_private_key
from stud_service.tokens import mint

TTL_S = 3600
"""How long a token is good, where it may be that long."""


class RenewedToken:
    """Somebody's token; a new one when half the life of the last is over."""

    def __init__(self, name: str, role: str, key: PrivateKey, ttl_s: int = TTL_S) -> None:
        self._name, self._role, self._key, self._ttl_s = name, role, key, ttl_s
        self._token, self._renew_at = "", 0.0

    def __call__(self) -> str:
        if time.monotonic() >= self._renew_at:
            self._token = mint(self._name, [self._role], self._ttl_s, self._key)
            self._renew_at = time.monotonic() + self._ttl_s / 2
        return self._token


class Callers:
    """One client per person, made on first use with the development key."""

    def __init__(self, endpoints: Mapping[str, str], keys_dir: Path) -> None:
        self._endpoints = endpoints if isinstance(endpoints, Endpoints) else Endpoints(**endpoints)
        self._key = load_private_key(keys_dir)
        self._ttl_s = min(TTL_S, load_settings("table").token_max_life_s)
        self._clients: dict[tuple[str, str], StudClient] = {}

    def client(self, name: str, role: str) -> StudClient:
        """Return the client of ``name`` acting as ``role``."""
        found = self._clients.get((name, role))
        if found is None:
            found = self._clients[name, role] = StudClient(
                self._endpoints, RenewedToken(name, role, self._key, self._ttl_s)
            )
        return found

    def player(self, name: str) -> StudClient:
        """A player."""
        return self.client(name, "player")

    @property
    def operator(self) -> StudClient:
        """The operator who opens and closes tables."""
        return self.client("olga-operator", "operator")

    @property
    def second_operator(self) -> StudClient:
        """The operator who agrees."""
        return self.client("otto-operator", "operator")

    @property
    def cashier(self) -> StudClient:
        """Who books deposits."""
        return self.client("carl-cashier", "cashier")

    async def close(self) -> None:
        """Close every channel."""
        for client in self._clients.values():
            await client.close()

    async def void_hand(self, table: str, hand_no: int, reason: str) -> None:
        """Have both operators agree that a hand is void."""
        for client in (self.operator, self.second_operator):
            await client.rules.ResolveHand(
                rules.ResolveHandRequest(
                    table=table, hand_no=hand_no, choice=table_events_pb2.RESOLUTION_CHOICE_VOID, reason=reason
                )
            )
