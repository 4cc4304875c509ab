"""Clients for everybody a tool plays: players, an operator, a second one, a cashier."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stud.events.v1 import table_events_pb2
from stud.rules.v1 import rules_service_pb2 as rules
from stud_client import Endpoints, StudClient
from stud_service.tokens import load_private_key, mint

TTL_S = 3600


class People:
    """One client per person, made on first use with the development key."""

    def __init__(self, endpoints: Mapping[str, str], keys_dir: Path) -> None:
        self._endpoints = Endpoints(**endpoints)
        self._key = load_private_key(keys_dir)
        self._clients: dict[tuple[str, str], StudClient] = {}

    def client(self, name: str, role: str) -> StudClient:
        """Return the client of ``name`` acting as ``role``."""
        found = self._clients.get((name, role))
        if found is None:
            token = mint(name, [role], TTL_S, self._key)
            found = self._clients[name, role] = StudClient(self._endpoints, token)
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
