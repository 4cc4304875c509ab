"""What everybody at a table is told of its events: an allow-list. The log keeps all.

What an opponent could not see at a real table is left out: what somebody prefers, that an action was chosen ahead, that
money for a seat or a top-up was asked for and not there, who of the house did something. A new event or field is
private until it is named here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stud.common.v1 import seat_pb2
from stud.events.v1 import commit_pb2
from stud.table.v1 import table_service_pb2 as pb

PUBLIC: Final[dict[str, str]] = {
    "table_opened": "config",
    "buy_in_requested": "sitting_no seat account expires_at_ms profile",
    "player_seated": "sitting_no seat stack",
    "seat_released": "sitting_no seat",
    "top_up_pending": "sitting_no amount pending",
    "chips_added": "sitting_no seat amount pending stack",
    "sat_out": "sitting_no seat reason leaves_at_ms",
    "sat_in": "sitting_no seat",
    "leave_requested": "sitting_no seat idle",
    "cash_out_requested": "sitting_no account",
    "waiting_joined": "",
    "waiting_left": "",
    "seat_offered": "seat expires_at_ms",
    "deck_ready": "hand_no commitment",
    "antes_opened": "hand_no prompt_id deadline_ms prompted posting",
    "ante_posted": "hand_no seat amount all_in stack",
    "ante_missed": "hand_no seat",
    "antes_returned": "hand_no refunds reason",
    "hand_started": "hand_no rules_version button dealt_in",
    "deal_requested": "hand_no deal_no street mode burn targets",
    "cards_dealt": "hand_no deal_no street up down community root",
    "turn_started": "turn_id seat to_call deadline_ms options",
    "clock_restarted": "turn_id prompt_id deadline_ms reason sitting_no",
    "clock_extended": "turn_id seat deadline_ms reason time_chips",
    "action_taken": "turn_id seat verb amount to size all_in counts stack by",
    "uncalled_returned": "seat amount stack",
    "show_prompted": "prompt_id seat kind deadline_ms",
    "hand_shown": "seat cards rank",
    "hand_mucked": "seat",
    "pot_awarded": "pot_no amount rake shares",
    "hand_ended": "hand_no from_version stacks deltas rake",
    "hand_voided": "hand_no from_version refunds reason",
    "table_hand_verified": "hand_no verdict_version",
    "table_hand_disputed": "hand_no verdict_version",
    "table_hand_resolved": "hand_no verdict_version choice stacks",
    "table_paused": "reason",
    "table_resumed": "",
    "table_draining": "",
    "table_closing": "",
    "table_closed": "",
}
"""Event, as the body of ``commit.proto`` names it -> its fields that everybody may see. The rest of a table's events
(``preferences_set``, ``top_up_requested``, ``top_up_refused``, ``cash_out_held``, ``player_left``) is between a player
and the house: they have them in ``mine``, and in their account.
"""


def _hidden(name: str) -> tuple[str, ...]:
    body = commit_pb2.Event.DESCRIPTOR.fields_by_name[name].message_type
    fields = body.fields if body is not None else ()
    return tuple(field.name for field in fields if field.name not in PUBLIC[name].split())


_HIDDEN: Final = {name: _hidden(name) for name in PUBLIC}


def put_public(update: pb.TableUpdate | pb.HandStep, events: Sequence[commit_pb2.Event]) -> None:
    """Add what is public of a commit's events to an update, or to a step of a hand that is over."""
    for event in events:
        name = event.WhichOneof("body") or ""
        hidden = _HIDDEN.get(name)
        if hidden is None or _of_nobody(event, name):
            continue
        public = update.events.add()
        public.CopyFrom(event)
        body = getattr(public, name)
        for field in hidden:
            body.ClearField(field)
        _blur(public, name)


def _of_nobody(event: commit_pb2.Event, name: str) -> bool:
    """Whether it is about a sitting that never sat: that it is paid back would tell that it was not declined."""
    return name == "cash_out_requested" and not event.cash_out_requested.HasField("claim")


def _blur(public: commit_pb2.Event, name: str) -> None:
    """Three events say more in a public field than is public: what is in a sealed box, how an action was chosen, and
    what names are compared by.
    """
    if name == "cards_dealt":
        for card in public.cards_dealt.down:
            card.ClearField("sealed")
    elif name == "buy_in_requested":
        public.buy_in_requested.profile.ClearField("name_key")
    elif name == "action_taken" and public.action_taken.by == seat_pb2.ACTION_ORIGIN_PRE_ACTION:
        public.action_taken.by = seat_pb2.ACTION_ORIGIN_PLAYER
