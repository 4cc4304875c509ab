"""Whether a recorded hand comes out when it is played through the rules alone: no service, no log, no clock.

A hand matches when it does not contradict itself, when every recorded action was the turn of the recorded player and
legal for the recorded amount, and when uncalled returns and awards come out as recorded.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from random import Random
from typing import Final

import msgspec

from stud_core.ruleset import OddUnits
from stud_hands.contradictions import contradictions
from stud_hands.course import ContradictionError, course_of
from stud_hands.hidden.actors import nobody_can_begin
from stud_hands.hidden.cards import Cards, boards_hidden, deck_of, draw
from stud_hands.hidden.proofs import Proofs
from stud_hands.playing import CorePlay
from stud_hands.pots import arithmetic, unpaid
from stud_hands.record import RecordedHand, said_once
from stud_hands.script import Script, table_config

MAX_READINGS: Final = 16  # ways to read wagers whose declared size is not recorded
FREE_DRAWS: Final = 8  # of boards that nothing is known about
DRAWS: Final = 3  # where boards are hidden, since only play shows whether they serve


class Verdict(msgspec.Struct, frozen=True):
    """``why`` is empty for a match, ``note`` says what could not be checked, ``script`` is what was played. ``trace``
    is set where a fault of ours kept a hand from being judged.
    """

    hand_id: str
    why: str
    note: str = ""
    script: Script | None = None
    trace: str = ""

    @property
    def matched(self) -> bool:
        return not self.why


def judge(hand: RecordedHand, rng: Random) -> Verdict:
    """Play a recorded hand through the core and compare; a fault of ours is a mismatch, and the other hands go on."""
    try:
        return _judge(hand, rng)
    except Exception as fault:  # noqa: BLE001  (the last line of defence: one hand must not end the batch)
        why = f"internal fault: {type(fault).__name__}: {fault}"
        return Verdict(hand.id, why, trace=traceback.format_exc())


def _judge(hand: RecordedHand, rng: Random) -> Verdict:
    """Find cards, play, compare.

    Who gets the odd units of a split is not recorded; the first published reading that pays what was paid is taken.
    """
    try:
        course = course_of(hand)
    except ContradictionError as error:
        return Verdict(hand.id, said_once([*error.args, *contradictions(hand)]))
    stated = contradictions(hand)
    # Where the record itself does not add up no cards can help, and one play will say what is wrong.
    hopeless = bool(stated or arithmetic(course, table_config(hand)))
    draws = DRAWS if boards_hidden(course) and not hopeless else 1
    proofs = Proofs(course, rng)
    found: list[Verdict] = []
    for odd_units in OddUnits if len(course.live) > 1 and not hopeless else [OddUnits.ONE_EACH_FROM_LEFT]:
        config = table_config(hand, odd_units)
        for _ in range(draws):
            cards = draw(course, config.ruleset, rng, proofs, hopeless=hopeless)
            script = Script(course, config, deck_of(course, cards, rng), course.expected.moves)
            verdict = _judge_script(script, cards, stated, rng)
            if (verdict.matched and not verdict.note) or not cards.fits_actors:
                return verdict
            found.append(verdict)
            if not cards.fits_awards:
                break  # a search this wide that found nothing would hardly find more the next time
    # A match that leaves something unchecked is better than a mismatch; among equals the first reading counts.
    return min(found, key=lambda verdict: not verdict.matched)


def _judge_script(script: Script, cards: Cards, stated: list[str], rng: Random) -> Verdict:
    """Play every reading of the undeclared sizes until one matches; report the first one otherwise."""
    course = script.course
    faults = arithmetic(course, script.config)
    if cards.contradicted and not faults:
        faults.append(f"{unpaid(course)}: {cards.contradicted}")
    if not cards.fits_actors:
        impossible = nobody_can_begin(course)
        note = "no draw of the hidden cards brings out the recorded actors: only amounts and awards were checked"
        note = "" if impossible else note
        why = [*stated, *(cards.wrong_actors or impossible), *faults]
        if not stated and not faults:
            why += _illegal_amounts(script, rng)
        return Verdict(course.hand_id, said_once(why), note)
    note = ""
    if cards.doubt:
        note = f"{cards.doubt}: awards were checked as sums only"
    found: list[Verdict] = []
    for play in _readings(script):
        # Where the record does not add up its awards only follow from that.
        why = [*play.play(awards=cards.fits_awards and not stated), *stated]
        played = msgspec.structs.replace(script, moves=play.follower.moves_played())
        # A record that no cards can bring about is not for playing.
        verdict = Verdict(course.hand_id, said_once(why or faults), note, None if cards.contradicted else played)
        if verdict.matched:
            return verdict
        found.append(verdict)
    return found[0]


def _readings(script: Script) -> Iterator[CorePlay]:
    """A play of each reading, to be played before the next one is asked for."""
    readings: list[tuple[int, ...]] = [()]
    for _ in range(MAX_READINGS):
        if not readings:
            return
        play = CorePlay(script, readings.pop())
        yield play
        readings += play.follower.other_readings()


def _illegal_amounts(script: Script, rng: Random) -> list[str]:
    """Play the recorded actions with made-up boards for everybody, known ones too, that let the recorded players come
    out: what is refused then is not a matter of the cards. Empty where nothing is refused, or where nobody's boards
    serve.
    """
    course = script.course
    bare = msgspec.structs.replace(
        course,
        down={seat: (None,) * len(cards) for seat, cards in course.down.items()},
        up={seat: (None,) * len(cards) for seat, cards in course.up.items()},
        community=None,
        forced={},
        best_five={},
    )
    for _ in range(FREE_DRAWS):
        cards = draw(bare, script.config.ruleset, rng, Proofs(bare, rng), hopeless=True)
        if cards.fits_actors:
            free = msgspec.structs.replace(script, deck=deck_of(bare, cards, rng))
            refused = [play.play(awards=False) for play in _readings(free)]
            return next((why for why in refused if not why), refused[0])
    return []
