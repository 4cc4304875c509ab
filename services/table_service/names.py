"""The names that players go by: what may be shown, and which look alike.

A name may be in any script. It is a nickname as RFC 8266 has it: no control characters, nothing invisible, no lone
joiner; runs of spaces are one. Names look alike when they come to the same after what Unicode calls confusable was made
one, without case, marks, spaces and punctuation: "Paypal" and "PAYPÁL", "modern" and "modem", a Cyrillic "Oleg" too.

What both libraries know takes a moment to read: a service does that beside its work (`warm_up`).
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from stud_service.refusals import Refused

MAX_NAME = 24
"""Characters of a name."""

MAX_MARKS = 2
"""Marks on one character: more of them are drawn over the neighbours."""

_SEQUENCES = (("rn", "m"), ("vv", "w"))
"""Two letters that look like one where letters stand close."""


def warm_up() -> None:
    """Read what names are judged by."""
    judged("a name")


def judged(name: str) -> tuple[str, str]:
    """Return a name as it is shown, and its key. Raises Refused(INVALID_FIELD, field="nickname")."""
    from precis_i18n import get_profile  # noqa: PLC0415

    try:
        shown = get_profile("NicknameCasePreserved").enforce(name)
    except UnicodeEncodeError:
        raise _no_name("may not hold control characters, joiners or what cannot be seen") from None
    if len(shown) > MAX_NAME:
        raise _no_name(f"has {len(shown)} characters: want {MAX_NAME} at most", max=str(MAX_NAME))
    key = name_key(shown)
    if not key:
        raise _no_name("needs a letter, a digit or a picture")
    if unicodedata.combining(shown[0]) or _most_marks(shown) > MAX_MARKS:
        raise _no_name(f"may not begin with a mark, nor have more than {MAX_MARKS} on a character")
    return shown, key


def _no_name(why: str, **metadata: str) -> Refused:
    return Refused("INVALID_FIELD", f"the token's nickname {why}", field="nickname", **metadata)


def _most_marks(name: str) -> int:
    most = marks = 0
    for char in unicodedata.normalize("NFD", name):
        marks = marks + 1 if unicodedata.category(char) in {"Mn", "Me"} else 0
        most = max(most, marks)
    return most


def name_key(name: str) -> str:
    """Return what a name and all that look like it have in common."""
    bare = "".join(
        char for char in unicodedata.normalize("NFKD", name) if unicodedata.category(char)[0] in "LNS" or char.isalnum()
    )
    same = _same()
    key = bare.translate(same).casefold().translate(same)
    for pair, one in _SEQUENCES:
        key = key.replace(pair, one)
    return key


@lru_cache(maxsize=1)
def _same() -> dict[int, str]:
    """Every character that can be taken for another -> the one that stands for all of them, an ASCII letter if any."""
    from confusable_homoglyphs.utils import load  # noqa: PLC0415

    leader: dict[str, str] = {}

    def find(char: str) -> str:
        while (up := leader.get(char, char)) != char:
            char = up
        return char

    def join(one: str, other: str) -> None:
        first, second = sorted((find(one), find(other)), key=_rank)
        leader[second] = first

    for char, others in load("confusables.json").items():
        for alike in (other["c"] for other in others):
            if len(char) == len(alike) == 1:
                join(char, alike)
    join("i", "l")  # a capital I is both: the one as written, the other as read
    return {ord(char): find(char) for char in leader if find(char) != char}


def _rank(char: str) -> tuple[bool, bool, str]:
    return not (char.isascii() and char.isalpha()), not char.islower(), char
