"""The scripts that run inside the server. Each touches one hash slot and is all or nothing in the append-only file.

What a script *writes* is declared in KEYS. What it only reads in passing is built from an argument instead: the
server demands write permission on every declared key, and no service may write its neighbours' feeds (both lie in the
same slot, so a cluster agrees).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from stud_eventlog.redis_wire import Arg, Command, Refusal, Wire, answered


class Script:
    def __init__(self, source: str) -> None:
        self.source = source
        # The server's name for a script; not used for security.
        self.sha = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()

    def command(self, keys: Sequence[str], args: Sequence[Arg]) -> Command:
        return ("EVALSHA", self.sha, len(keys), *keys, *args)

    async def run_all(self, wire: Wire, commands: Sequence[Command]) -> list[Any]:
        """Runs this script's commands in one pipeline. NOSCRIPT means that nothing was done: load it and send those
        again.
        """
        replies = await wire.pipeline(commands)
        again = [i for i, reply in enumerate(replies) if isinstance(reply, Refusal) and reply.code == "NOSCRIPT"]
        if again:
            loaded, *repeated = await wire.pipeline([("SCRIPT", "LOAD", self.source), *(commands[i] for i in again)])
            for i, reply in zip(again, repeated, strict=True):
                # When even loading is refused or lost, that is the answer: the command itself was not run for want of
                # it.
                replies[i] = loaded if isinstance(loaded, Refusal) and isinstance(reply, Refusal) else reply
        return replies

    async def run(self, wire: Wire, keys: Sequence[str], args: Sequence[Arg]) -> Any:
        return answered((await self.run_all(wire, [self.command(keys, args)]))[0])


# KEYS: the log, the distinct feeds of the outbox, the lobby if there is a row for it.
# ARGV: expected version; 80 bytes: previous hash, commit id, head hash (together, since each argument costs);
#       body; lobby field ('' = no row); then, for each line of the outbox, the number of its feed in KEYS and the
#       event; and the lobby's value last.
# Answers the new version when written; {1, hash} when this very commit is there already; {0, version, hash} when
# another is. The outbox goes first: if a line of it were refused, the commit would not be there, and a message without
# a commit is the smaller evil. For the same reason nothing is written before all keys have been seen to be of the right
# type.
APPEND = Script("""
local log, expected = KEYS[1], tonumber(ARGV[1])
local prev, id, head = string.sub(ARGV[2], 1, 32), string.sub(ARGV[2], 33, 48), string.sub(ARGV[2], 49)
local version, hash = 0, string.rep('\\0', 32)
if redis.call('EXISTS', log) == 1 then
  local info = redis.call('XINFO', 'STREAM', log)
  hash = ''
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then
      version = tonumber(string.match(info[i + 1], '^%d+'))
    elseif info[i] == 'last-entry' and info[i + 1] then
      hash = info[i + 1][2][2]
    end
  end
end
local place = string.format('%d-0', expected + 1)
if version == expected and (hash == prev or hash == '') then
  local last_feed, last_line = #KEYS, #ARGV
  if ARGV[4] ~= '' then
    last_feed, last_line = last_feed - 1, last_line - 1
    local kind = redis.call('TYPE', KEYS[#KEYS]).ok
    if kind ~= 'hash' and kind ~= 'none' then
      return redis.error_reply('WRONGTYPE ' .. KEYS[#KEYS] .. ' is a ' .. kind .. ', must be a hash')
    end
  end
  for i = 2, last_feed do
    local kind = redis.call('TYPE', KEYS[i]).ok
    if kind ~= 'stream' and kind ~= 'none' then
      return redis.error_reply('WRONGTYPE ' .. KEYS[i] .. ' is a ' .. kind .. ', must be a stream')
    end
  end
  for i = 5, last_line, 2 do
    redis.call('XADD', KEYS[tonumber(ARGV[i])], '*',
      's', log, 'v', expected + 1, 'i', (i - 5) / 2, 'h', head, 'e', ARGV[i + 1])
  end
  redis.call('XADD', log, place, 'h', head, 'p', prev, 'c', id, 'b', ARGV[3])
  if ARGV[4] ~= '' then
    redis.call('HSET', KEYS[#KEYS], ARGV[4], ARGV[#ARGV])
  end
  return expected + 1
end
if version > expected then
  local there = redis.call('XRANGE', log, place, place)[1]
  if there and there[2][6] == id then
    return {1, there[2][2]}
  end
end
return {0, version, hash}
""")

# KEYS: what an append would write, the log first. ARGV: of what type each must be. Writes nothing; refuses what the
# append would be refused for.
TRY_APPEND = Script("""
for i = 1, #KEYS do
  local kind = redis.call('TYPE', KEYS[i]).ok
  if kind ~= ARGV[i] and kind ~= 'none' then
    return redis.error_reply('WRONGTYPE ' .. KEYS[i] .. ' is a ' .. kind .. ', must be a ' .. ARGV[i])
  end
  local words = ARGV[i] == 'hash' and {'HSET', KEYS[i], 'f', 'v'} or {'XADD', KEYS[i], '*', 'f', 'v'}
  if not redis.acl_check_cmd(unpack(words)) then
    return redis.error_reply('NOPERM the access list does not permit ' .. words[1] .. ' ' .. KEYS[i])
  end
end
return 1
""")

# KEYS: the cursor. ARGV: the new position, the feed, '1' if the feed is a log. A cursor moves forward only, unless it
# points at nothing that the feed still has: then the feed went back in time and the old position is a relic. What is
# not a position at all gives way too. (Trimming keeps the entry at every cursor; a log is compared by its last id,
# since it may be archived.)
STORE_CURSOR = Script("""
local function parts(id)
  local a, b = string.match(id, '^(%d+)%-(%d+)$')
  return tonumber(a), tonumber(b)
end
local function above(x, y)
  local a, b = parts(x)
  local c, d = parts(y)
  return a > c or (a == c and b > d)
end
local old = redis.pcall('GET', KEYS[1])
if type(old) == 'string' and parts(old) and old ~= ARGV[1] and above(old, ARGV[1]) then
  if redis.call('EXISTS', ARGV[2]) == 1 then
    if ARGV[3] == '1' then
      local info = redis.call('XINFO', 'STREAM', ARGV[2])
      for i = 1, #info, 2 do
        if info[i] == 'last-generated-id' and not above(old, info[i + 1]) then return 0 end
      end
    elseif #redis.pcall('XRANGE', ARGV[2], old, old) == 1 then
      return 0
    end
  end
end
redis.call('SET', KEYS[1], ARGV[1])
return 1
""")

# KEYS: the dead letters of a service in a shard. ARGV: the letter's identity, its packed content. '#' counts all
# letters ever.
PARK = Script("""
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 0 end
local number = redis.call('HINCRBY', KEYS[1], '#', 1)
redis.call('HSET', KEYS[1], ARGV[1], string.format('%016d', number) .. ARGV[2])
return 1
""")

# KEYS: a cursor of no feed. ARGV: a position for it, then commands that the caller must be permitted. The cursor is
# written last: a script that writes meets whatever keeps an append from it.
PROBE = Script("""
for i = 2, #ARGV do
  local words = {}
  for word in string.gmatch(ARGV[i], '%S+') do words[#words + 1] = word end
  if not redis.acl_check_cmd(unpack(words)) then
    return redis.error_reply('NOPERM the access list does not permit ' .. ARGV[i])
  end
end
redis.call('SET', KEYS[1], ARGV[1])
return 1
""")
