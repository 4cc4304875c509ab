"""The hand again, by the plainest means, so that a fault in the rules engine is found too.

Written from the rule pages, sharing nothing with ``stud_core.decide`` and ``stud_core.evolve`` except the names of
events and knobs. Nothing here reads a log, a key or a clock.
"""
