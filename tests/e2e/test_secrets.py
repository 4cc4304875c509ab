"""No down card and no seed of a running hand is in clear anywhere; mucked cards stay sealed afterwards.

A card is one byte, so that looking for it proves nothing: every value is decoded without keys, and no card that was not
shown may be among what it says. Seeds and keys are long, so these are looked for as they are.
"""

import base64
import json
from typing import Any

import pytest

from stud.common.v1 import seat_pb2
from stud.dealer.v1 import dealer_service_pb2 as dealer
from stud.events.v1 import commit_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_client import StudError, pages
from stud_core import deck_events as de
from stud_core import events as ev
from stud_core.clear_deck import ClearDeck
from stud_eventlog import keys
from stud_service.keyring import KeyRing
from stud_service.sealing import hand_key, open_seed
from stud_wire.commits import decode_commit
from tests.support import system_leaky
from tests.support.choosing import STAY
from tests.support.playing import Follower, Player, Table
from tests.support.system import Live, shared, until
from tests.support.system_redis import BOXES, Value, bytes_in, cards_in, everything, message_in

pytestmark = shared("secrets")

STACK: dict[str, Any] = {"environ": {"STUD_LOG_LEVEL": "debug"}}
PLAIN_BYTES = {"commitment", "merkle_root", "root", "head_hash", "request_digest", "stacked_order"}
"""Fields of bytes that are hashes, or empty."""


def down_cards(player: Player) -> set[int]:
    """A player's down cards in the running hand, as he sees them."""
    return {int(card) - 1 for card in player.last.mine.down}


def of_table(values: list[Value], table: str) -> list[Value]:
    shard = keys.shard_of(table)
    mine = {keys.table_log(shard, table), keys.deck_log(shard, table)}
    return [value for value in values if value.stream in mine]


async def deck_of(live: Live, table: str, hand_no: int) -> ClearDeck:
    """A hand's deck, opened with the dealer's key."""
    ring = KeyRing.load(live.stack.keys_dir, "dealer")
    async for stored in live.log.read_all(keys.deck_log(keys.shard_of(table), table)):
        for event in decode_commit(stored.body).events:
            if isinstance(event, de.DeckCommitted) and event.hand_no == hand_no:
                seed = open_seed(ring.key("dealer"), event.seed, table, hand_no, event.commitment)
                return ClearDeck(table, hand_no, seed)
    raise LookupError(hand_no)


def ways_to_write(secret: bytes) -> list[bytes]:
    return [secret, secret.hex().encode(), base64.b64encode(secret), repr(secret).encode(), str(list(secret)).encode()]


# --- the log ----------------------------------------------------------------------------------------------------------


async def test_every_value_of_the_log_is_decoded_and_holds_no_down_card_of_the_running_hand(live: Live):
    async with await Table.begin(live, "values", 4) as table:
        for street in range(3, 8):
            await table.play_to(street)
            hidden = {card for player in table.players.values() for card in down_cards(player)}
            assert len(hidden) == (8 if street < 7 else 12)
            decoded = 0
            for value in of_table(await everything(live.stack.redis_url), table.id):
                message = message_in(value)
                if message is not None:
                    decoded += 1
                    assert not cards_in(message) & hidden, value.key
                    for name, data in bytes_in(message):
                        assert name in PLAIN_BYTES or len(data) in {0, BOXES[name]}, (value.key, name)
            assert decoded > 10 + street


async def test_no_value_is_left_out_of_the_search(live: Live):
    """Every key is one that we know how to read, and what is not decoded above is a hash, an id or a number."""
    async with await Table.begin(live, "search", 2) as table:
        await table.play_to(4)
        for value in await everything(live.stack.redis_url):
            if message_in(value) is not None:
                continue
            known = (
                value.name in {"h", "p", "c", "s", "v", "i", "#", "reason"}
                or ":cursor:" in value.key
                or ":retry:" in value.key
            )
            assert known or value.key == keys.INITIALISED, value
            assert len(value.data) <= 120


async def test_seeds_and_keys_are_nowhere_in_clear(live: Live):
    """Not in any value, not in the server's file, not in any service's log; not while the hand runs, and not after."""
    async with await Table.begin(live, "seeds") as table:
        await table.play_to(6)
        deck = await deck_of(live, table.id, 1)
        ring = KeyRing.load(live.stack.keys_dir, "dealer", "down", "referee")
        secrets = [bytes(deck.seed), bytes(hand_key(ring.key("down"), deck.commitment))]
        secrets += [bytes(ring.key(name)) for name in ("dealer", "down", "referee")]
        secrets += [bytes(deck.cards), bytes(card + 1 for card in deck.cards)]
        for _ in ("while it runs", "after it"):
            values = [value.data for value in await everything(live.stack.redis_url)]
            files = [p.read_bytes() for p in (live.stack.data_dir / "redis").rglob("*") if p.is_file()]
            logs = [live.service_log().encode()]
            for secret in secrets:
                for written in ways_to_write(secret):
                    assert not [data for data in (*values, *files, *logs) if written in data]
            await table.play_hand(1)
            await table.verified(1)


# --- streams ----------------------------------------------------------------------------------------------------------


def check_stream(follower: Follower, truth: dict[int, dict[str, set[int]]], own: str) -> int:
    """No card in public that was not shown, and a private part that is his own. Returns how often he saw his cards."""
    seen = 0
    shown: dict[int, set[int]] = {}
    for update in follower.updates:
        hand_no = update.view.hand_no
        for event in update.events:
            shown.setdefault(hand_no, set()).update(int(card) - 1 for card in event.hand_shown.cards)
        everybody = truth.get(hand_no, {})
        hidden = {card for cards in everybody.values() for card in cards} - shown.get(hand_no, set())
        mine = {int(card) - 1 for card in update.mine.down}
        assert mine <= everybody.get(own, set())
        update.ClearField("mine")
        assert not cards_in(update) & hidden
        assert not [data for name, data in bytes_in(update) if name in BOXES and data]
        seen += bool(mine)
    return seen


async def test_vector_035_nobodys_stream_has_a_down_card_of_somebody_else(live: Live):
    """Players, a spectator, an operator, over whole hands with folds, shows and mucks."""
    async with await Table.begin(live, "streams", 4) as table:
        spectator = Follower(live.people.player("spectator").watch(table.id))
        async with spectator:
            weights = {**STAY, seat_pb2.VERB_FOLD: 1, seat_pb2.VERB_BET: 1}
            for hand_no in (1, 2, 3):
                await table.play_hand(hand_no, weights, show=0.5)
            await table.verified(3)
            await spectator.until(lambda u: u.view.verified_hand >= 3)
            truth: dict[int, dict[str, set[int]]] = {}
            for account, player in table.players.items():
                await player.until(lambda u: u.view.verified_hand >= 3)
                for update in player.updates:
                    cards = truth.setdefault(update.view.hand_no, {}).setdefault(account, set())
                    cards |= {int(card) - 1 for card in update.mine.down}
            assert all(len(cards) in {2, 3} for no in (1, 2, 3) for cards in truth[no].values())
            for account, player in table.players.items():
                assert check_stream(player, truth, account) > 10
            assert check_stream(spectator, truth, "") == check_stream(table.eye, truth, "") == 0


async def test_a_choice_ahead_of_the_turn_is_its_owners_alone_until_it_is_done(live: Live):
    """Nothing of it is in the log or in another stream; then it is an action like any other, marked as chosen ahead."""
    async with await Table.begin(live, "ahead") as table:
        on_turn, mine = await table.play_to(street=5)
        seated = list(table.players.values())
        later = seated[(seated.index(on_turn) + 1) % len(seated)]  # whose turn comes next, and no action between
        await later.until(lambda u: any(o.verb == seat_pb2.VERB_BET for o in u.mine.pre_options), "what to choose")
        others = [player for player in table.players.values() if player is not later]
        head, last = await live.head(table.id), [player.last for player in others]
        await later.playing.set_pre_action(later.last, seat_pb2.VERB_FOLD, request_id="first")
        await later.playing.set_pre_action(later.last, seat_pb2.VERB_BET, request_id="then")
        assert await live.head(table.id) == head
        await later.until(lambda u: u.mine.pre_action.verb == seat_pb2.VERB_BET, "his choice")
        assert [player.last for player in others] == last
        seen = await later.client.tables.GetTable(pb.GetTableRequest(table=table.id))
        assert seen.update.mine.pre_action.verb == seat_pb2.VERB_BET
        check = next(option for option in mine.options if option.verb == seat_pb2.VERB_CHECK)
        await on_turn.act(check, mine)
        update = await table.eye.until(lambda u: u.mine.price or max(s.bet for s in u.view.seats), "the bet")
        taken = [event for event in await live.events(table.id, ev.ActionTaken) if event.by is ev.By.PRE_ACTION]
        assert [(event.verb, update.view.seats[event.seat - 1].account) for event in taken] == [
            (ev.Verb.BET, later.account)
        ]
        await table.play_hand(1)
        await table.verified(1)


async def test_answers_to_everybody_else_have_no_down_card(live: Live):
    async with await Table.begin(live, "answers") as table:
        await table.play_to(5)
        hidden = {card for player in table.players.values() for card in down_cards(player)}
        get = pb.GetTableRequest(table=table.id)
        for client in (
            live.people.operator,
            live.people.cashier,
            live.people.player("eve"),
            live.people.client("aud", "auditor"),
        ):
            update = (await client.tables.GetTable(get)).update
            assert not cards_in(update) & hidden
            async for lobby in pages(client.tables.ListTables, pb.ListTablesRequest()):
                assert not cards_in(lobby)
            async with client.lobby() as seen, client.me() as me:
                assert not [line for line in (await anext(seen)).values() if cards_in(line) or bytes_in(line)]
                assert not (await anext(me)).sittings
        for player in table.players.values():
            async with player.client.me() as mine:
                (sitting,) = (await anext(mine)).sittings.values()
                assert sitting.sitting_no == player.last.mine.sitting_no
                assert sitting.turn.turn_id == player.last.mine.turn_id
                assert not cards_in(sitting)
                assert not bytes_in(sitting)


# --- afterwards -------------------------------------------------------------------------------------------------------


async def test_mucked_cards_stay_sealed_and_only_an_auditor_opens_them_leaving_a_trace(live: Live):
    async with await Table.begin(live, "muck") as table:
        await table.play_to(7)
        cards = {account: down_cards(player) for account, player in table.players.items()}
        auditor = live.people.client("ann-auditor", "auditor").dealer
        audit = dealer.AuditDeckRequest(table=table.id, hand_no=1, reason="dispute of a player")
        with pytest.raises(StudError, match="HAND_RUNNING"):
            await auditor.AuditDeck(audit)
        await table.play_hand(1)
        await table.verified(1)
        await table.pause()
        stream = keys.table_log(keys.shard_of(table.id), table.id)
        commits = await live.commits(table.id)
        ends = [v for v, c in commits if any(isinstance(e, ev.HandEnded) for e in c.events)]
        seats = {seat.account: seat.seat for seat in table.eye.last.view.seats if seat.account}
        of_hand = [event for version, commit in commits if version <= ends[0] for event in commit.events]
        mucked = {event.seat for event in of_hand if isinstance(event, ev.HandMucked)}
        hidden = {card for account, seat in seats.items() if seat in mucked for card in cards[account]}
        assert len(hidden) >= 3

        async def clear() -> set[int]:
            """Every card in clear in what concerns the first hand."""
            values = of_table(await everything(live.stack.redis_url), table.id)
            some = [value for value in values if value.stream != stream or value.version <= ends[0]]
            messages = [message for value in some if (message := message_in(value)) is not None]
            return {card for message in messages if hand_of(message) in {0, 1} for card in cards_in(message)}

        assert not await clear() & hidden
        told = pb.GetHandRequest(table=table.id, hand_no=1)
        assert not cards_in(await live.people.operator.tables.GetHand(told)) & hidden
        for account, player in table.players.items():
            answer = await player.client.tables.GetHand(told)
            assert {int(card) - 1 for card in answer.down} == cards[account]
            assert not cards_in(answer) & (hidden - cards[account])
        with pytest.raises(StudError, match="UNKNOWN_HAND"):
            await live.people.player("eve").tables.GetHand(told)
        for client in (live.people.operator, live.people.player("eve"), *[p.client for p in table.players.values()]):
            with pytest.raises(StudError, match="ROLE_NOT_ALLOWED"):
                await client.dealer.AuditDeck(audit)
        account = next(account for account, seat in seats.items() if seat in mucked)
        mine = dealer.AuditDownCardsRequest(table=table.id, hand_no=1, account=account, reason="asked by the player")
        for client in (live.people.operator, live.people.player("eve"), *[p.client for p in table.players.values()]):
            with pytest.raises(StudError, match="ROLE_NOT_ALLOWED"):
                await client.dealer.AuditDownCards(mine)
        own = await auditor.AuditDownCards(mine)
        assert own.proven
        assert {int(card) - 1 for card in own.cards} == cards[account]
        opened = await auditor.AuditDeck(audit)
        assert opened.proven
        assert hidden <= {int(card) - 1 for card in opened.cards}
        traces = [
            event
            async for stored in live.log.read_all(keys.deck_log(keys.shard_of(table.id), table.id))
            for event in decode_commit(stored.body).events
            if isinstance(event, de.DeckAudited)
        ]
        assert traces == [
            de.DeckAudited(1, "ann-auditor", "asked by the player", account),
            de.DeckAudited(1, "ann-auditor", "dispute of a player"),
        ]
        assert not await clear() & hidden


def hand_of(message: Any) -> int:
    """The hand that a deck's commit or event is about; 0 where it does not say."""
    events = message.events if isinstance(message, commit_pb2.Commit) else [message]
    bodies = [getattr(event, str(event.WhichOneof("body"))) for event in events]
    return max(getattr(body, "hand_no", 0) for body in bodies)


# --- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("service", ["table", "dealer", "rules"])
async def test_a_fault_among_clear_cards_says_nothing_of_them(live: Live, service: str):
    """The service fails exactly where it has cards in its hands; its log names the place and no card."""
    async with await Table.begin(live, f"leak-{service}", 2) as table:
        await table.play_to(4)
        begins = len(live.service_log(service))
        live.stack.modules[service] = "tests.support.system_leaky"
        live.stack.only[service] = {"STUD_TEST_SERVICE": service}
        told: list[str] = []
        try:
            await live.stack.restart_service(service)
            if service == "table":
                client = next(iter(table.players.values())).client
                with pytest.raises(StudError) as refused:
                    await client.tables.GetTable(pb.GetTableRequest(table=table.id))
                assert refused.value.reason == "INTERNAL"
                told = [refused.value.text, *refused.value.metadata.values()]
            elif service == "dealer":
                while table.eye.last.view.turn.turn_id:
                    await table.step()
                    await table.eye.until(lambda u: u.view.turn.turn_id or u.view.phase == pb.HAND_PHASE_DEALING)
            else:
                await table.play_hand(1)

            async def failed() -> bool:
                return system_leaky.TEXT in live.service_log(service)[begins:]

            await until(failed, "the fault in the log")
        finally:
            live.stack.modules.clear()
            live.stack.only.clear()
            await live.stack.restart_service(service)
        log = live.service_log(service)[begins:]
        for line in [*log.splitlines(), *told]:
            assert system_leaky.LOCAL not in line
            assert system_leaky.QUOTED not in line
            assert "Qs" not in line
            assert "down_cards" not in line
        assert all(json.loads(line) for line in log.splitlines())  # no traceback beside the lines
        faults = [line for line in log.splitlines() if system_leaky.TEXT in line]
        assert all("50" not in json.dumps(fault_texts(line)) for line in faults)
        letters = [letter.reason for letter in await live.log.dead_list() if letter.table_id == table.id]
        assert not [reason for reason in letters if system_leaky.TEXT in reason or "Qs" in reason]


def fault_texts(line: str) -> list[str]:
    return [str(fault.get("exc_value")) for fault in json.loads(line).get("exception", [])]
