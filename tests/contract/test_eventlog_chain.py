"""Reading: pages, and a chain in which no gap, edit or foreign commit passes unnoticed."""

import pytest
from msgspec.structs import replace

from stud_eventlog import keys
from stud_eventlog.log import EventLog
from stud_eventlog.types import Append, ChainBroken, Head, StoredCommit
from tests.support.eventlogs import Edit, World, commit_id, write

STREAM = keys.table_log(7, "t-1")
Stored = tuple[StoredCommit, bytes]


async def read_all(log: EventLog, after: int = 0) -> list[bytes]:
    return [commit.body async for commit in log.read_all(STREAM, after)]


def at(version: int, change: Edit) -> Edit:
    return lambda commit, stored: change(commit, stored) if commit.version == version else (commit, stored)


def flip(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


async def test_read_gives_a_page_behind_a_version(log: EventLog):
    await write(log, STREAM, b"1", b"2", b"3", b"4")
    assert [commit.body for commit in await log.read(STREAM, after=1, limit=2)] == [b"2", b"3"]
    assert [commit.body for commit in await log.read(STREAM, after=3)] == [b"4"]
    assert await log.read(STREAM, after=4) == []


async def test_read_all_goes_over_page_ends_and_from_any_version(log: EventLog):
    head, appends = Head(), []
    for n in range(1, 1203):
        appends.append(Append(STREAM, head.version, head.hash, commit_id(), b"%d" % n))
        head = appends[-1].head
    await log.append_many(appends)
    assert await read_all(log) == [b"%d" % n for n in range(1, 1203)]
    assert await read_all(log, after=1000) == [b"%d" % n for n in range(1001, 1203)]
    assert await read_all(log, after=1202) == []
    assert await read_all(log, after=5000) == []


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("body", lambda c, h: (replace(c, body=flip(c.body)), h)),
        ("commit id", lambda c, h: (replace(c, commit_id=flip(c.commit_id)), h)),
        ("previous hash", lambda c, h: (replace(c, prev_hash=flip(c.prev_hash)), h)),
        ("stored hash", lambda c, h: (c, flip(h))),
    ],
)
@pytest.mark.parametrize("version", [1, 2, 3])
async def test_one_edited_bit_is_found_where_it_is(world: World, what: str, change: Edit, version: int):
    log = await world.open()
    await write(log, STREAM, b"one", b"two", b"three")
    await world.rewrite(STREAM, at(version, change))
    commits = log.read_all(STREAM)
    read = [(await anext(commits)).version for _ in range(1, version)]
    with pytest.raises(ChainBroken) as caught:
        await anext(commits)
    assert caught.value.stream == STREAM
    assert caught.value.version == version
    assert read == list(range(1, version))


async def test_an_edit_with_a_hash_to_match_is_found_at_the_next_commit(world: World):
    def forge(commit: StoredCommit, stored: bytes) -> Stored:
        forged = replace(commit, body=b"forged")
        return forged, forged.hash

    log = await world.open()
    await write(log, STREAM, b"one", b"two", b"three")
    await world.rewrite(STREAM, at(2, forge))
    with pytest.raises(ChainBroken, match="prev_hash") as caught:
        await read_all(log)
    assert caught.value.version == 3
    with pytest.raises(ChainBroken):
        await read_all(log, after=2)  # reading from the middle looks at the commit before


async def test_a_missing_commit_is_found(world: World):
    log = await world.open()
    await write(log, STREAM, b"one", b"two", b"three")
    await world.rewrite(STREAM, at(2, lambda commit, stored: None))
    with pytest.raises(ChainBroken, match="missing, the next one there is 3") as caught:
        await read_all(log)
    assert caught.value.version == 2


async def test_the_hash_depends_on_every_part_and_on_where_parts_end():
    base = StoredCommit(STREAM, 1, b"p" * 32, b"c" * 16, b"body")
    others = [
        replace(base, version=2),
        replace(base, prev_hash=b"q" * 32),
        replace(base, commit_id=b"d" * 16),
        replace(base, body=b"bodY"),
        replace(base, commit_id=b"c" * 15, body=b"cbody"),
        replace(base, prev_hash=b"p" * 31, commit_id=b"p" + b"c" * 16),
    ]
    assert len({commit.hash for commit in [base, *others]}) == 7
    assert replace(base, stream="{s01}:table:x").hash == base.hash
