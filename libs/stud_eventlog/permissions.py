"""What the server's access list must permit a service. Asked while services run: a list may be changed under them, and
a refused append is noticed only where somebody acts.
"""

from __future__ import annotations

from stud_eventlog import keys

SHARD, TABLE, CURRENCY = 0, "probe", "XTS"
"""Names for which the question is asked; nothing is written under them."""


def needed(service: str) -> list[str]:
    """Return commands that a service must be permitted, one for each kind of key, as they would be typed."""
    own = {
        "table": [keys.table_log(SHARD, TABLE), keys.table_feed(SHARD)],
        "dealer": [keys.deck_log(SHARD, TABLE), keys.dealer_feed(SHARD)],
        "rules": [keys.verdicts(SHARD)],
        "wallet": [keys.ledger_log(CURRENCY), keys.ledger_feed(CURRENCY, SHARD)],
    }.get(service, [])
    heard = {
        "table": [keys.dealer_feed(SHARD), keys.verdicts(SHARD), keys.ledger_feed(CURRENCY, SHARD)],
        "dealer": [keys.table_feed(SHARD)],
        "rules": [keys.dealer_feed(SHARD)],
        "wallet": [keys.table_feed(SHARD), keys.verdicts(SHARD)],
    }.get(service, [])
    commands = [f"GET {keys.INITIALISED}", f"SET {keys.probe(service)} 0-0"]
    for stream in own:
        commands += [f"XADD {stream} * f v", f"XINFO STREAM {stream}", f"XRANGE {stream} - +", f"TYPE {stream}"]
    commands += [f"XREAD STREAMS {feed} 0-0" for feed in heard]
    commands += [f"HSET {keys.lobby(SHARD)} f v"] if service == "table" else []
    return commands
