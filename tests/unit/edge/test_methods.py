"""What the edge offers, from the contract alone."""

from __future__ import annotations

import pytest

from edge_service.methods import offered
from edge_service.player_calls import PLAYER_CALLS
from stud_topology.services import NAMES
from tools.generate_player_calls import PLAYERS, calls

TABLE = "/stud.table.v1.TableService/"


def test_everything_that_a_player_does_is_there_but_what_needs_two_streams():
    paths = {method.path for method in offered()}
    assert PLAYER_CALLS - paths == {f"{TABLE}Play"}
    played = "ListTables GetTable TakeSeat AddChips LeaveSeat SitOut SitIn SetPreferences PostAnte Act UseTimeChip"
    assert {f"{TABLE}{name}" for name in f"{played} SetPreAction ClearPreAction ChooseShow Watch".split()} <= paths
    assert {f"{TABLE}{name}" for name in ("JoinWaitingList", "LeaveWaitingList")} <= paths
    assert {f"{TABLE}{name}" for name in ("CreateTable", "VoidHand", "Play")} & paths == set()


def test_each_is_known_with_its_service_and_how_it_answers():
    found = {method.path: method for method in offered()}
    assert {method.service for method in found.values()} <= set(NAMES)
    assert found[f"{TABLE}Watch"].streams
    assert not found[f"{TABLE}Act"].streams
    assert all(method.path.startswith(f"/stud.{method.service}.v1.") for method in found.values())


def test_the_list_is_that_of_the_contract():
    assert set(calls()) == PLAYER_CALLS


@pytest.mark.parametrize(
    ("comment", "players_may"),
    [
        ("Lists tables. Any role.", True),
        ("Sits down. Players. NOT_SEATED.", True),
        ("Opens an account; players open their own, cashiers any.", True),
        ("Returns balance. Players their own. UNKNOWN_ACCOUNT.", True),
        ("Lists entries; players their own, auditors any.", True),
        ("Voids the hand, even while players are being asked. Operators.", False),
        ("Ends a pause. Operators.", False),
    ],
)
def test_a_comment_says_whether_players_may(comment: str, players_may: bool):
    assert (PLAYERS.search(comment) is not None) == players_may
