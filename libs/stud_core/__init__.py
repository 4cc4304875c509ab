"""Functional core: the rules of seven-card stud as pure functions over immutable values.

Three things are decided here, in one grammar: ``decide`` answers with events or a ``Rejection`` and changes nothing;
``evolve`` folds events and never refuses one that was recorded.

    table   ``decide.decide(state, command, ctx)``      ``evolve.evolve(state, events, version)``, a new value
    ledger  ``ledger.decide.decide(state, command, now_ms)``   ``ledger.evolve.evolve(state, events, version, origin)``
    deck    ``deck.decide_opened``, ``_stacked``, ``_deal``, ``_closed``   ``deck.evolve(deck, event, version)``

Where they differ, and why: a ledger is changed in place, since a copy of every balance for each entry would cost more
than all else; it needs the time alone, for its facts carry no version and no build; and it is told the origin, by which
a repeated call is known. The dealer's four messages are events of the table's log, not commands, and each needs a
different power over secrets (to make a deck, to open one, to seal a card), which is handed in for that decision alone.
"""
