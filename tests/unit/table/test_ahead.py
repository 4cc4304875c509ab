"""Bet-ahead at a William Hill table: chosen in private, bound to its price, done at the turn, gone with its street."""

from typing import Any

import pytest

from stud.common.v1 import ruleset_pb2, seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as ev
from stud_core.events import Verb
from stud_service.refusals import Refused
from stud_wire.commits import decode_commit
from table_service.ahead import ChoicesAhead
from table_service.requests import NOTED
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated


async def refusal(awaitable: Any) -> Refused:
    with pytest.raises(Refused) as refused:
        await awaitable
    return refused.value


class Ahead:
    """A game on fifth street, and the player who comes after the one on turn."""

    def __init__(self, system: MemorySystem, game: Game) -> None:
        self.system, self.game = system, game

    @classmethod
    async def begin(cls, system: MemorySystem, preset: str = "william_hill", **fields: Any) -> "Ahead":
        game = Game(system)
        await game.begin(3, preset, **fields)
        await game.until_turn(street=5)
        for sitting in game.table.sittings.values():
            game.actor.ahead.connected(sitting.account)
        return cls(system, game)

    @property
    def next(self) -> str:
        hand = self.game.hand
        at = hand.order.index(hand.turn_seat)
        return self.game.table.at(hand.order[(at + 1) % len(hand.order)]).account

    def request(self, verb: Verb, **fields: Any) -> pb.SetPreActionRequest:
        hand = self.game.hand
        told = {"hand_no": hand.hand_no, "street": hand.street, "price": hand.level, **fields}
        return pb.SetPreActionRequest(verb=seat_pb2.Verb.ValueType(int(verb)), **told)

    async def choose(self, account: str, verb: Verb, **fields: Any) -> Any:
        return await self.game.send(account, self.request(verb, **fields))

    async def mine(self, account: str) -> pb.PrivateView:
        update = await self.system.call("GetTable", pb.GetTableRequest(table=self.game.id), account)
        mine: pb.PrivateView = update.update.mine
        return mine

    async def act(self, verb: Verb) -> None:
        """Who is on turn does this."""
        await self.game.act({verb: 1})

    def actions(self) -> list[tuple[str, Verb, ev.By]]:
        table = self.game.table
        stored = self.system.store.data.logs[self.game.actor.stream]
        events = [event for commit, _ in stored for event in decode_commit(commit.body).events]
        return [(table.at(e.seat).account, e.verb, e.by) for e in events if isinstance(e, ev.ActionTaken)]


@simulated
async def test_a_choice_is_done_when_its_turn_comes(tmp_path):
    async with MemorySystem(tmp_path) as system:
        ahead = await Ahead.begin(system)
        who = ahead.next
        version = (await ahead.choose(who, Verb.BET)).version
        assert version == ahead.game.actor.head.version  # nothing was written
        assert (await ahead.mine(who)).pre_action.verb == seat_pb2.VERB_BET
        await ahead.act(Verb.CHECK)
        await ahead.game.until(lambda table: table.running.level)
        assert ahead.actions()[-1] == (who, Verb.BET, ev.By.PRE_ACTION)
        assert not (await ahead.mine(who)).HasField("pre_action")
        await ahead.game.play(1, STAY)  # the referee agrees


@simulated
async def test_nobody_else_can_see_it(tmp_path):
    async with MemorySystem(tmp_path) as system:
        ahead = await Ahead.begin(system)
        who = ahead.next
        accounts = [sitting.account for sitting in ahead.game.table.sittings.values()]
        before = {name: ahead.game.actor.full_view(name) for name in (*accounts, "olga")}
        await ahead.choose(who, Verb.FOLD)
        for name in (*accounts, "olga"):
            assert (ahead.game.actor.full_view(name) == before[name]) == (name != who)


@simulated
async def test_what_may_be_chosen_is_shown_with_its_price(tmp_path):
    async with MemorySystem(tmp_path) as system:
        ahead = await Ahead.begin(system)
        on_turn, who = ahead.game.on_turn, ahead.next
        assert not (await ahead.mine(on_turn)).pre_options
        mine = await ahead.mine(who)
        assert [option.verb for option in mine.pre_options] == [seat_pb2.VERB_FOLD, seat_pb2.VERB_BET]
        await ahead.act(Verb.BET)
        after = await ahead.mine(ahead.next)
        assert after.price == 1000
        assert [(option.verb, option.to) for option in after.pre_options] == [
            (seat_pb2.VERB_FOLD, 0),
            (seat_pb2.VERB_CALL, 1000),
            (seat_pb2.VERB_RAISE, 2000),
        ]


@simulated
async def test_a_raise_cancels_a_call_and_the_player_is_asked(tmp_path):
    async with MemorySystem(tmp_path) as system:
        ahead = await Ahead.begin(system)
        await ahead.act(Verb.BET)
        later = ahead.next
        await ahead.choose(later, Verb.CALL)
        await ahead.act(Verb.RAISE)
        assert ahead.game.on_turn == later
        assert not (await ahead.mine(later)).HasField("pre_action")
        assert (await ahead.mine(later)).turn_id == ahead.game.hand.turn_id


@simulated
async def test_a_choice_for_another_moment_is_stale(tmp_path):
    """What a player saw and what is there may differ by one commit; then he is told, and nothing is kept."""
    async with MemorySystem(tmp_path) as system:
        ahead = await Ahead.begin(system)
        for other in ({"price": 500}, {"street": 4}, {"hand_no": 2}):
            refused = await refusal(ahead.choose(ahead.next, Verb.FOLD, **other))
            assert (refused.reason, refused.metadata["rule"]) == ("STALE_TURN", "B.16")
            assert "now it is hand 1, street 5, price 0" in refused.text
            now = {"hand_no": "1", "street": "5", "price": "0", "turn_id": str(ahead.game.hand.turn_id)}
            assert now.items() <= refused.metadata.items()
        assert not (await ahead.mine(ahead.next)).HasField("pre_action")


@simulated
async def test_a_choice_is_changed_and_taken_back(tmp_path):
    async with MemorySystem(tmp_path) as system:
        ahead = await Ahead.begin(system)
        who = ahead.next
        await ahead.choose(who, Verb.BET)
        await ahead.choose(who, Verb.FOLD)
        assert (await ahead.mine(who)).pre_action.verb == seat_pb2.VERB_FOLD
        await ahead.game.send(who, pb.ClearPreActionRequest())
        await ahead.game.send(who, pb.ClearPreActionRequest())  # nothing there: fine
        await ahead.act(Verb.CHECK)
        assert ahead.game.on_turn == who


@simulated
async def test_what_takes_back_a_choice_of_another_hand_leaves_that_of_this_one(tmp_path):
    async with MemorySystem(tmp_path) as system:
        ahead = await Ahead.begin(system)
        who = ahead.next
        await ahead.choose(who, Verb.FOLD)
        for hand_no in (ahead.game.hand.hand_no + 1, -1):
            await ahead.game.send(who, pb.ClearPreActionRequest(hand_no=hand_no))
            assert (await ahead.mine(who)).HasField("pre_action")
        await ahead.game.send(who, pb.ClearPreActionRequest(hand_no=ahead.game.hand.hand_no))
        assert not (await ahead.mine(who)).HasField("pre_action")


@simulated
async def test_the_same_choice_again_changes_nothing(tmp_path):
    """Whether it stands, was taken back, or was done: the repetition is answered and does not come to life again."""
    async with MemorySystem(tmp_path) as system:
        ahead = await Ahead.begin(system)
        who = ahead.next
        bet = ahead.request(Verb.BET, request_id="once")
        await ahead.game.send(who, bet)
        await ahead.game.send(who, bet)
        await ahead.game.send(who, pb.ClearPreActionRequest())
        await ahead.game.send(who, bet)
        assert not (await ahead.mine(who)).HasField("pre_action")
        done = ahead.request(Verb.BET, request_id="twice")
        await ahead.game.send(who, done)
        await ahead.act(Verb.CHECK)
        await ahead.game.until(lambda table: table.running.level)
        version = ahead.game.actor.head.version
        assert (await ahead.game.send(who, done)).version == version
        assert not (await ahead.mine(who)).HasField("pre_action")
        other = ahead.request(Verb.FOLD, request_id="once")
        assert (await refusal(ahead.game.send(who, other))).reason == "REQUEST_ID_REUSED"


@simulated
async def test_a_table_without_bet_ahead_says_so(tmp_path):
    async with MemorySystem(tmp_path) as system:
        ahead = await Ahead.begin(system, "playnow")
        refused = await refusal(ahead.choose(ahead.next, Verb.FOLD))
        assert refused.reason == "PRE_ACTION_NOT_ALLOWED"
        assert not (await ahead.mine(ahead.next)).pre_options


@simulated
async def test_a_restart_cancels(tmp_path):
    """Memory only: lost is cancelled, and the player is asked."""
    async with MemorySystem(tmp_path) as system:
        ahead = await Ahead.begin(system)
        who = ahead.next
        await ahead.choose(who, Verb.BET)
        await system.crash("table")
        await system.start("table")
        await system.actor(ahead.game.id)
        await ahead.game.until(lambda table: table.running.turn_seat)
        await ahead.act(Verb.CHECK)
        assert ahead.game.on_turn == who


@simulated
async def test_a_lost_connection_cancels_all_but_fold(tmp_path):
    async with MemorySystem(tmp_path) as system:
        ahead = await Ahead.begin(system)
        choices: ChoicesAhead = ahead.game.actor.ahead
        who = ahead.next
        choices.connected(who)
        await ahead.choose(who, Verb.BET)
        choices.disconnected(who)
        assert choices.of(who) is not None  # another stream of his is still there
        choices.disconnected(who)
        assert choices.of(who) is None
        choices.connected(who)
        await ahead.choose(who, Verb.FOLD)
        choices.disconnected(who)
        assert choices.of(who) is not None


@simulated
async def test_without_a_connection_only_fold_is_kept(tmp_path):
    """It would be played for somebody who is not there; what a lost connection cancels cannot be chosen without one."""
    async with MemorySystem(tmp_path) as system:
        ahead = await Ahead.begin(system)
        who = ahead.next
        ahead.game.actor.ahead.disconnected(who)
        refused = await refusal(ahead.choose(who, Verb.BET))
        assert (refused.reason, "stream first" in refused.text) == ("PRE_ACTION_NOT_ALLOWED", True)
        await ahead.choose(who, Verb.FOLD)
        assert (await ahead.mine(who)).pre_action.verb == seat_pb2.VERB_FOLD


@simulated
async def test_strangers_take_nothing_back_and_nobody_fills_the_memory(tmp_path):
    async with MemorySystem(tmp_path, commands_burst=1000) as system:
        ahead = await Ahead.begin(system)
        refused = await refusal(ahead.game.send("stranger", pb.ClearPreActionRequest()))
        assert refused.reason == "NOT_SEATED"
        for _ in range(3 * NOTED):
            await ahead.game.send(ahead.next, pb.ClearPreActionRequest())
        noted = ahead.game.actor.requests._noted
        assert {account: len(requests) for account, requests in noted.items()} == {ahead.next: NOTED}


@simulated
async def test_everything_that_is_offered_can_be_chosen(tmp_path):
    """Before the bring-in there is only Fold: nothing else could still stand when it has been posted."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn(street=3)
        for sitting in game.table.sittings.values():
            game.actor.ahead.connected(sitting.account)
        ahead = Ahead(system, game)
        while game.table.hand is not None and game.hand.street < 6:
            who = ahead.next
            for option in (await ahead.mine(who)).pre_options:
                fields = {"size": option.size} if option.size else {}
                await ahead.choose(who, Verb(option.verb), **fields)
                await game.send(who, pb.ClearPreActionRequest())
            await game.act(STAY)
            await game.until(lambda table: table.hand is None or table.hand.turn_seat)


@simulated
async def test_the_id_of_a_choice_is_not_free_for_another_command(tmp_path):
    """It would be remembered with that content, and the choice be lost when its turn comes."""
    async with MemorySystem(tmp_path) as system:
        ahead = await Ahead.begin(system)
        who = ahead.next
        await ahead.choose(who, Verb.BET, request_id="mine")
        refused = await refusal(ahead.game.send(who, pb.SetPreferencesRequest(auto_post=False, request_id="mine")))
        assert refused.reason == "REQUEST_ID_REUSED"
        await ahead.act(Verb.CHECK)
        await ahead.game.until(lambda table: table.running.level)
        assert ahead.actions()[-1] == (who, Verb.BET, ev.By.PRE_ACTION)


MORE: dict[str, Any] = {
    "ruleset": ruleset_pb2.Ruleset(pre_check_call_any=True),
    "override_fields": ["pre_check_call_any"],
}


@simulated
async def test_call_any_calls_a_raise_that_came_meanwhile(tmp_path):
    async with MemorySystem(tmp_path) as system:
        ahead = await Ahead.begin(system, **MORE)
        await ahead.act(Verb.BET)
        later = ahead.next
        await ahead.choose(later, Verb.CALL, any_price=True)
        shown = (await ahead.mine(later)).pre_action
        assert (shown.verb, shown.any_price) == (seat_pb2.VERB_CALL, True)
        await ahead.act(Verb.RAISE)
        await ahead.game.until(lambda table: table.running.bet.count(2000) == 2)
        assert ahead.actions()[-1] == (later, Verb.CALL, ev.By.PRE_ACTION)
        await ahead.game.play(1, STAY)  # the referee agrees


@simulated
async def test_a_call_at_the_price_of_now_and_call_any_are_two_choices(tmp_path):
    async with MemorySystem(tmp_path) as system:
        ahead = await Ahead.begin(system, **MORE)
        await ahead.act(Verb.BET)
        who = ahead.next
        for any_price in (False, True):
            await ahead.choose(who, Verb.CALL, any_price=any_price)
            assert (await ahead.mine(who)).pre_action.any_price is any_price
        ahead.game.actor.ahead.disconnected(who)
        assert not (await ahead.mine(who)).HasField("pre_action"), "it would put chips in for somebody who is not there"


@simulated
async def test_check_and_call_any_are_refused_where_the_house_has_no_such_button(tmp_path):
    async with MemorySystem(tmp_path) as system:
        ahead = await Ahead.begin(system)
        for verb, any_price in ((Verb.CHECK, False), (Verb.CALL, True)):
            refused = await refusal(ahead.choose(ahead.next, verb, any_price=any_price))
            assert (refused.reason, refused.metadata["rule"]) == ("ILLEGAL_ACTION", "W28")
