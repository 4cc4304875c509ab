"""`stud verify` on logs in memory: a sound system is fine, and every kind of lie is found where it stands."""

from typing import Any

import msgspec
import pytest

from stud_cli.inspect.findings import Problem, Verification
from stud_cli.inspect.verdicts import Verdicts, read_verdicts
from stud_cli.inspect.verify import _verify_chain, verify_log, verify_table
from stud_core import deck_events as de
from stud_core import events as ev
from stud_core import verdict_events as ve
from stud_core.deck_events import LogRef
from stud_eventlog.memory import MemoryEventLog
from stud_service.keyring import Key
from stud_service.sealing import seal_seed
from tests.support.history import DECK, LEDGER, SHARD, TABLE, VERDICTS, Change, T, closed_table, open_table, say

HISTORY = closed_table()
ANOTHER_KEY = Key("referee", bytes(32))


async def verified(log: MemoryEventLog, key: Key | None = HISTORY.referee_key) -> Verification:
    found = Verification()
    await verify_table(log, T, await read_verdicts(log), key, found)
    return found


def counted(found: Verification) -> tuple[int, int, list[Problem]]:
    return found.tables, found.hands, found.problems


COMMITTED = next(e for e in HISTORY.events(DECK) if isinstance(e, de.DeckCommitted) and e.hand_no == 2)


async def told(changes: dict[str, Change], key: Key | None = HISTORY.referee_key) -> list[Problem]:
    return (await verified(await HISTORY.log(changes), key)).problems


def with_fields(kind: Any, hand_no: int = 2, **fields: Any) -> Change:
    """Changes the events of one kind that belong to a hand."""

    def change(event: Any) -> Any:
        if not isinstance(event, kind) or event.hand_no != hand_no:
            return event
        return msgspec.structs.replace(event, **fields)

    return change


def version_of(stream: str, kind: type, number: int = 2) -> int:
    return HISTORY.version_of(stream, kind, number)


# ------------------------------------------------------------------- nothing wrong


@pytest.mark.parametrize("key", [HISTORY.referee_key, None], ids=lambda value: "key" if value else "no-key")
async def test_a_sound_table_is_fine(key: Key | None):
    assert counted(await verified(await HISTORY.log(), key)) == (1, 3, [])


async def test_a_table_that_is_being_played_is_fine():
    assert counted(await verified(await open_table().log(), open_table().referee_key)) == (1, 2, [])


async def test_a_table_that_does_not_exist_is_not_counted():
    found = Verification()
    await verify_table(await HISTORY.log(), "t-2", Verdicts(), None, found)
    assert counted(found) == (0, 0, [])


async def test_the_last_hand_may_wait_for_its_verdict():
    """Everything after the last HandEnded has not happened yet."""
    end = version_of(TABLE, ev.HandEnded, 3)
    log = await HISTORY.log()
    del log.store.data.logs[TABLE][end:], log.store.data.logs[VERDICTS][2:]
    assert counted(await verified(log)) == (1, 3, [])


async def test_a_verdict_that_came_while_the_log_was_read_is_looked_up():
    log = await HISTORY.log()
    early = await read_verdicts(log)
    del early.final[T][3]
    found = Verification()
    await verify_table(log, T, early, HISTORY.referee_key, found)
    assert found.problems == []


OTHER_VERDICT = "hand 2: the table took another verdict than the referee's log has"


async def test_a_verdict_that_the_table_took_otherwise_is_found():
    """Verified there and resolved here; its figures are nobody's business then."""

    def resolve(event: Any) -> Any:
        if event.hand_no != 2:
            return event
        choice = ev.ResolutionChoice.VOID
        return ve.HandResolved(T, 2, "EUR", choice, (), 0, (), ("op-1", "op-2"), "why")

    assert [problem.what for problem in await told({VERDICTS: resolve})] == [OTHER_VERDICT]

    def taken(event: Any) -> Any:
        forged = ev.TableHandResolved(2, event.verdict_version, ev.ResolutionChoice.REFEREE, ())
        return forged if event.hand_no == 2 else event

    def table(event: Any) -> Any:
        return taken(event) if isinstance(event, ev.TableHandVerified) else event

    assert OTHER_VERDICT in [problem.what for problem in await told({TABLE: table})]

    def elsewhere(event: Any) -> Any:
        mine = isinstance(event, ev.TableHandVerified) and event.hand_no == 2
        return msgspec.structs.replace(event, verdict_version=1) if mine else event

    assert OTHER_VERDICT in [problem.what for problem in await told({TABLE: elsewhere})]


# ------------------------------------------------------------------- chains


@pytest.mark.parametrize("version", [1, 40, 83])
async def test_an_edited_byte_of_a_table_is_found_at_its_version(version: int):
    found = (await verified(await HISTORY.broken(TABLE, version))).problems
    assert found[0].table == T
    assert found[0].version == version
    assert "its bytes should give the hash" in found[0].what


async def test_an_edited_byte_of_a_deck_is_found():
    problems = (await verified(await HISTORY.broken(DECK, 4))).problems
    assert [(problem.version, problem.what[:9]) for problem in problems] == [(4, "deck log:")]


async def test_an_edited_byte_of_a_ledger_is_found():
    found = Verification()
    await _verify_chain(await HISTORY.broken(LEDGER, 11), LEDGER, "ledger EUR", found)
    assert [(problem.table, problem.version) for problem in found.problems] == [("ledger EUR", 11)]


async def test_edited_verdicts_do_not_hide_that_they_are_missing():
    """What could be read before the edited one is known; later hands of the table lack theirs."""
    log = await HISTORY.broken(VERDICTS, 2)
    known = Verdicts()
    with pytest.raises(Exception, match="hash"):
        await read_verdicts(log, into=known)
    found = Verification()
    await verify_table(log, T, known, None, found)
    lacks = "the table took a verdict that the referee's log does not hold"
    assert [problem.what for problem in found.problems] == [f"hand {number}: {lacks}" for number in (2, 3)]


# ------------------------------------------------------------------- the table


async def test_chips_that_were_made_are_found():
    def gift(event: Any) -> Any:
        if isinstance(event, ev.AntePosted) and event.seat == 3:
            return msgspec.structs.replace(event, stack=event.stack + 7)
        return event

    problems = await told({TABLE: gift})
    assert "30007 at the table, but 30000 paid in" in problems[0].what
    assert problems[0].version == version_of(TABLE, ev.AntePosted, 1)


async def test_a_rewritten_table_is_not_what_the_referee_judged():
    """A chain of hashes can be made anew; the verdict names the head that it saw."""

    def rewrite(event: Any) -> Any:
        return msgspec.structs.replace(event, reason="another") if isinstance(event, ev.TablePaused) else event

    other = "the verdict is about other bytes than the log holds"
    assert [problem.what for problem in await told({TABLE: rewrite})] == [f"hand {n}: {other}" for n in (1, 2, 3)]


async def test_deltas_that_do_not_add_up_are_found():
    def more_rake(event: Any) -> Any:
        if isinstance(event, ev.HandEnded) and event.hand_no == 2:
            return msgspec.structs.replace(event, rake=event.rake + 1)
        return event

    whats = [problem.what for problem in await told({TABLE: more_rake})]
    assert "hand 2: deltas and rake do not sum to zero" in whats
    assert "hand 2: the verdict's figures are not the table's" in whats


# ------------------------------------------------------------------- verdicts


async def test_another_winner_in_the_verdict_is_found():
    (problem,) = await told({VERDICTS: with_fields(ve.HandVerified, postings=())})
    assert problem == Problem(T, version_of(TABLE, ev.HandEnded), "hand 2: the verdict's figures are not the table's")


async def test_a_verdict_on_another_range_is_found():
    ref = LogRef(TABLE, 1, 2, bytes(32))
    (problem,) = await told({VERDICTS: with_fields(ve.HandVerified, table_ref=ref)})
    assert problem.what == "hand 2: the verdict is about other bytes than the log holds"


async def test_a_missing_verdict_is_found():
    def without(event: Any) -> Any:
        return None if event.hand_no == 2 else event

    (problem, *moved) = await told({VERDICTS: without})
    assert problem.what == "hand 2: the table took a verdict that the referee's log does not hold"
    assert {other.what for other in moved} <= {OTHER_VERDICT.replace("2", "3")}


async def test_play_that_did_not_wait_for_the_verdict_is_found():
    def without(event: Any) -> Any:
        verdict = isinstance(event, ve.HandVerified | ev.TableHandVerified)
        return None if verdict and event.hand_no == 2 else event

    whats = [problem.what for problem in await told({VERDICTS: without, TABLE: without})]
    assert "hand 2: no verdict, and yet play went on" in whats


async def test_two_verdicts_on_one_hand_are_found():
    log = await HISTORY.log()
    again = HISTORY.events(VERDICTS)[1]
    await say(log, VERDICTS, again)
    (problem,) = (await verified(log)).problems
    assert problem == Problem(T, version_of(TABLE, ev.HandEnded), "hand 2: two final verdicts")


async def test_an_open_dispute_is_found():
    def dispute(event: Any) -> Any:
        if event.hand_no != 2:
            return event
        finding = ve.Finding("WRONG_AWARD", TABLE, 9)
        return ve.HandDisputed(
            T, 2, "EUR", event.table_ref, event.deck_ref, (finding,), (), 0, (), 0, referee_has_figures=False, build=""
        )  # fmt: skip

    (problem,) = await told({VERDICTS: dispute})
    assert problem.what == "hand 2: disputed, not resolved"


# ------------------------------------------------------------------- decks


async def test_a_card_that_the_dealer_did_not_deal_is_found():
    def swap(event: Any) -> Any:
        if isinstance(event, ev.CardsDealt) and event.hand_no == 2 and event.deal_no == 2:
            first, second, *rest = event.up
            up = (ev.UpCard(first.seat, second.card), ev.UpCard(second.seat, first.card), *rest)
            return msgspec.structs.replace(event, up=up)
        return event

    whats = [problem.what for problem in await told({TABLE: swap})]
    assert "hand 2: deal 2 at the table is not what the dealer dealt" in whats


async def test_a_deal_without_the_dealer_is_found():
    def without(event: Any) -> Any:
        return None if isinstance(event, de.DeckCardsDealt) and (event.hand_no, event.deal_no) == (2, 5) else event

    (problem,) = await told({DECK: without})
    assert problem.what == "hand 2: deal 5 at the table is not what the dealer dealt"


async def test_a_position_that_is_dealt_twice_is_found():
    def twice(event: Any) -> Any:
        if isinstance(event, de.DeckCardsDealt) and event.hand_no == 2 and event.deal_no == 3:
            return msgspec.structs.replace(event, positions=(event.positions[0],) * len(event.positions))
        return event

    whats = {problem.what for problem in await told({DECK: twice})}
    assert "hand 2: a deck position was dealt twice" in whats
    assert "deck of hand 2: deal 3 shows other cards than the committed deck holds there" in whats


@pytest.mark.parametrize("key", [HISTORY.referee_key, None], ids=lambda value: "key" if value else "no-key")
async def test_another_card_from_the_committed_deck_is_found_with_the_key_only(key: Key | None):
    """The dealer and the table tell the same lie."""

    def lie(event: Any) -> Any:
        if isinstance(event, de.DeckCardsDealt | ev.CardsDealt) and event.hand_no == 2 and event.deal_no == 2:
            first, second, *rest = event.up
            up = (ev.UpCard(first.seat, second.card), ev.UpCard(second.seat, first.card), *rest)
            return msgspec.structs.replace(event, up=up)
        return event

    whats = [problem.what for problem in await told({TABLE: lie, DECK: lie}, key)]
    found = "deck of hand 2: deal 2 shows other cards than the committed deck holds there"
    assert (found in whats) == (key is not None)


@pytest.mark.parametrize("number", [2, 99])
async def test_another_commitment_than_the_one_the_table_saw_is_found(number: int):
    """Another one for hand 2, or none at all."""

    def change(event: Any) -> Any:
        if isinstance(event, de.DeckCommitted) and event.hand_no == 2:
            return msgspec.structs.replace(event, hand_no=number, commitment=bytes(32))
        return event

    whats = [problem.what for problem in await told({DECK: change})]
    assert "hand 2: the table plays another deck than the dealer committed to" in whats


async def test_another_merkle_root_is_found():
    (problem,) = await told({DECK: with_fields(de.DeckSealed, merkle_root=bytes(32))})
    assert problem.what == "deck of hand 2: the Merkle root is not this deck's"


async def test_another_seed_than_the_committed_one_is_found():
    (commitment,) = (e.commitment for e in HISTORY.events(DECK) if isinstance(e, de.DeckCommitted) and e.hand_no == 2)
    box = seal_seed(HISTORY.referee_key, bytes(range(32)), T, 2, commitment)
    problems = await told({DECK: with_fields(de.DeckClosed, seed=box)})
    assert problems[0].what == "deck of hand 2: the seed is not the committed one"
    assert problems[0].version == version_of(DECK, de.DeckCommitted)


async def test_a_stacked_deck_at_a_table_that_may_not_have_one_is_found():
    (problem,) = await told({DECK: with_fields(de.DeckCommitted, stacked=True)})
    assert problem.what == "deck of hand 2: a stacked deck at a table that may not have one"


async def test_a_second_commitment_is_found():
    def again(event: Any) -> Any:
        other = isinstance(event, de.DeckSealed) and event.hand_no == 2
        return msgspec.structs.replace(COMMITTED, commitment=bytes(32)) if other else event

    whats = [problem.what for problem in await told({DECK: again})]
    assert "deck of hand 2: it was not committed to exactly once" in whats
    assert "hand 2: the table plays another deck than the dealer committed to" in whats


async def test_a_deal_that_is_answered_twice_is_found():
    def again(event: Any) -> Any:
        third = isinstance(event, de.DeckCardsDealt) and (event.hand_no, event.deal_no) == (2, 3)
        return msgspec.structs.replace(event, deal_no=2) if third else event

    assert "hand 2: a deal was answered twice, differently" in [p.what for p in await told({DECK: again})]


async def test_a_seed_that_cannot_be_opened_is_found():
    problems = await told({}, ANOTHER_KEY)
    assert [problem.what for problem in problems] == [
        f"deck of hand {n}: cannot be opened (WRONG_KEY)" for n in (1, 2, 3)
    ]


@pytest.mark.parametrize("broken", [0, 1, 2, 3])
async def test_decks_of_which_none_opens_have_another_key(broken: int):
    """Where one opens the key is right, and what does not open was sealed under another one."""

    def elsewhere(event: Any) -> Any:
        if not isinstance(event, de.DeckClosed) or event.hand_no > broken:
            return event
        return msgspec.structs.replace(event, seed=msgspec.structs.replace(event.seed, key_id="referee-0"))

    found = await verify_log(await HISTORY.log({DECK: elsewhere}), None, HISTORY.referee_key)
    assert (found.decks_closed, found.decks_opened, found.has_another_key) == (3, 3 - broken, broken == 3)
    not_opened = [problem for problem in found.problems if "(WRONG_KEY)" in problem.what]
    assert len(not_opened) == (0 if broken == 3 else broken)


async def test_a_box_that_was_altered_tells_that_the_key_is_right():
    def altered(event: Any) -> Any:
        if not isinstance(event, de.DeckClosed):
            return event
        return msgspec.structs.replace(event, seed=msgspec.structs.replace(event.seed, box=bytes(48)))

    found = await verify_log(await HISTORY.log({DECK: altered}), None, HISTORY.referee_key)
    assert (found.has_another_key, [p.what[-11:] for p in found.problems]) == (False, ["BROKEN_BOX)"] * 3)


async def test_a_shuffle_that_this_version_does_not_know_is_found():
    (problem,) = await told({DECK: with_fields(de.DeckCommitted, shuffle_version=99)})
    assert problem.what == "deck of hand 2: cannot be opened (UNKNOWN_SHUFFLE)"


# ------------------------------------------------------------------- ends and decisions


@pytest.mark.parametrize(
    ("stream", "commits", "whose"),
    [
        (LEDGER, 1, "ledger EUR"),
        (LEDGER, 10_000, "ledger EUR"),
        (TABLE, 60, T),
        (TABLE, 10_000, T),
        (DECK, 3, T),
        (DECK, 10_000, T),
        (VERDICTS, 1, f"verdicts of shard {SHARD}"),
    ],
)
async def test_a_log_that_lost_its_end_is_found(stream: str, commits: int, whose: str):
    """Its chain is sound as far as it goes, but other logs were written because of what is missing."""
    log = await HISTORY.log()
    rows = log.store.data.logs[stream]
    del rows[max(0, len(rows) - commits) :]
    problems = (await verify_log(log, None, HISTORY.referee_key)).problems
    ends = [problem for problem in problems if " ends at version " in problem.what]
    assert [(problem.table, problem.version) for problem in ends] == [(whose, len(rows))]


async def test_a_table_that_is_not_there_is_verified_by_what_is_left_of_it():
    found = await verify_log(await HISTORY.log(drop=[TABLE]), T, HISTORY.referee_key)
    assert (found.tables, [problem.table for problem in found.problems]) == (0, [T])


async def test_what_two_operators_decided_is_no_problem_any_more():
    """The table showed another card than the dealer dealt; the hand was resolved as void and play went on."""

    def another_card(event: Any) -> Any:
        if isinstance(event, ev.CardsDealt) and event.hand_no == 2 and event.up:
            first, *others = event.up
            return msgspec.structs.replace(event, up=(ev.UpCard(first.seat, (first.card + 1) % 52), *others))
        return event

    def decided(event: Any) -> Any:
        if isinstance(event, ev.TableHandVerified) and event.hand_no == 2:
            return ev.TableHandResolved(2, event.verdict_version, ev.ResolutionChoice.TABLE, ())
        return another_card(event)

    def resolve(event: Any) -> Any:
        if event.hand_no != 2:
            return event
        return ve.HandResolved(T, 2, "EUR", ev.ResolutionChoice.TABLE, event.postings, event.rake, (), ("a", "b"), "")

    before = (await verified(await HISTORY.log({TABLE: another_card}))).problems
    assert any("is not what the dealer dealt" in problem.what for problem in before)
    after = (await verified(await HISTORY.log({TABLE: decided, VERDICTS: resolve}))).problems
    assert [problem.what for problem in after if "hand 2" in problem.what] == []
