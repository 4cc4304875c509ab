"""Names of players: what may be shown, in any script, and which cannot be told apart."""

from __future__ import annotations

import pytest

from stud_service.refusals import Refused
from table_service.names import MAX_NAME, judged, name_key


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ann", "Ann"),
        ("  Ann \u00a0 Lee ", "Ann Lee"),
        ("Éloïse", "Éloïse"),
        ("Åsa-Mé", "Åsa-Mé"),
        ("李小龍", "李小龍"),
        ("مريم", "مريم"),
        ("Ирина", "Ирина"),
        ("ｗｉｄｅ", "wide"),
        ("river🂡rat", "river🂡rat"),
        ("😀", "😀"),
        ("x" * MAX_NAME, "x" * MAX_NAME),
    ],
)
def test_a_name_may_be_in_any_script(name: str, shown: str):
    assert judged(name)[0] == shown


@pytest.mark.parametrize(
    "name",
    [
        " ",
        "a\tb",
        "a\nb",
        "a\x00b",
        "Ann\u202ennA",  # turns what follows around
        "Ann\u200b",  # cannot be seen
        "a\u200db",
        "\ue000",  # whatever a font likes
        "...",
        "-",
        "\u0301a",
        "Z" + "\u0301" * 3,
        "x" * (MAX_NAME + 1),
        "\u2028",
    ],
)
def test_what_cannot_be_shown_is_no_name(name: str):
    with pytest.raises(Refused) as refused:
        judged(name)
    assert refused.value.reason == "INVALID_FIELD"
    assert refused.value.metadata["field"] == "nickname"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ann", "ann"),
        ("Ann", "A n n"),
        ("Ann", "Ann."),
        ("Oleg", "Оlеg"),  # Cyrillic O and e
        ("Paypal", "PÁYPAL"),
        ("llama", "IIama"),
        ("Bob", "B0b"),
        ("modern", "modem"),
        ("wanda", "vvanda"),
        ("Max", "Мах"),
        ("wide", "ｗｉｄｅ"),
        ("Straße", "STRASSE"),
        ("player1", "playerl"),
        ("Νina", "Nina"),  # Greek capital Nu
    ],
)
def test_names_that_look_alike_have_one_key(one: str, other: str):
    assert name_key(one) == name_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ann", "Anne"),
        ("Tim", "Tom"),
        ("Dave", "Dane"),
        ("player1", "player2"),
        ("Nick", "Rick"),
        ("😀", "😁"),
        ("李", "王"),
        ("Ада", "Оля"),
    ],
)
def test_names_that_can_be_told_apart_have_two(one: str, other: str):
    assert name_key(one) != name_key(other)
