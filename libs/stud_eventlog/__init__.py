"""The event log: versioned, hash-chained, append-only streams with an outbox. Bytes in, bytes out; it knows no poker
and no protobuf.

For users of a log:

    log            the port, in tiers
    types          the values that cross it, and what it may refuse
    keys           every key there is
    reading        parts of a log: pages, backwards, one commit
    trouble        why a server that answers cannot be relied on; permissions, what it must permit

What its two adapters are made of:

    memory         for tests and simulation
    redis_streams  on a server; redis_feeds, lua and redis_wire are parts of it
    commits        what both do alike, over writing, group_commit and availability
    entries        how things look inside a store
    cancelling     a cancellation that was swallowed on the way
"""
