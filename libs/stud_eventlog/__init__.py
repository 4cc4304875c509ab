"""The event log: versioned, hash-chained, append-only streams with an outbox. Bytes in, bytes out; it knows no poker
and no protobuf.

`log.EventLog` is the port, `memory.MemoryEventLog` and `redis_streams.RedisEventLog` are its adapters, `keys` names
every key.
"""
