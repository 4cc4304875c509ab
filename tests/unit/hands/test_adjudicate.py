"""`stud adjudicate`: recorded hands through the rules alone, what it says of them, and how it ends."""

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from stud_cli.hands import adjudicate as module
from stud_cli.hands.adjudicate import judge_files, with_progress
from stud_cli.hands.rehearse import rehearse_one
from stud_cli.hands.report import Report
from stud_cli.local.callers import Callers
from stud_cli.main import app
from stud_hands.adjudication import Verdict, judge
from stud_hands.record import parse_hand
from stud_service.keyring import ensure_dev_keys
from tests.support.deep import either
from tests.unit.hands.recorder import hide, random_hand
from tests.unit.hands.test_adjudicate_hidden import HIGH_UP, LOW_UP, heads_up

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "hands"
REFUSED = "kingsclub-7stud-0001"
Hand = dict[str, Any]


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["adjudicate", *map(str, words)], env={"COLUMNS": "200"})


def verdict(hand: Hand, seed: int = 1) -> Verdict:
    return judge(parse_hand(json.dumps(hand)), Random(seed))


def golden(name: str, number: int = 0) -> Hand:
    hand: Hand = json.loads((GOLDEN / f"{name}.jsonl").read_text().splitlines()[number])
    return hand


def events(hand: Hand, kind: str) -> list[Hand]:
    """Its events of one kind; they may be changed in place."""
    return [event for event in hand["events"] if event["type"] == kind]


def changed(hand: Hand, kind: str, **fields: Any) -> Hand:
    """A copy in which the first event of a kind has other fields."""
    copy: Hand = json.loads(json.dumps(hand))
    events(copy, kind)[0].update(fields)
    return copy


def written(folder: Path, *lines: str | Hand) -> Path:
    path = folder / "hands.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n")
    return path


# ------------------------------------------------------------------- the shared hands


def test_all_shared_hands_come_out_but_the_one_off_the_grid():
    ended = run(*sorted(GOLDEN.glob("*.jsonl")), "--json")
    told = json.loads(ended.stdout.splitlines()[-1])
    assert (ended.exit_code, told["hands"], told["matched"]) == (1, 119, 118)
    (only,) = told["mismatched"]
    assert only["id"] == REFUSED
    assert "ILLEGAL_ACTION" in only["why"]
    assert "legal: fold, call 4400, raise to 8800" in only["why"]
    assert set(told) == {"hands", "matched", "mismatched", "partly"}


def test_scripts_get_one_line_and_people_the_rest():
    ended = run(GOLDEN / "merge.jsonl", "--json")
    assert (ended.exit_code, json.loads(ended.stdout)) == (
        0,
        {"hands": 2, "matched": 2, "mismatched": [], "partly": []},
    )
    shown = run(GOLDEN / "merge.jsonl")
    assert (shown.exit_code, shown.stdout.strip()) == (0, "2 of 2 hands match")


def test_people_see_why_a_hand_did_not_come_out():
    shown = run(GOLDEN / "kingsclub.jsonl")
    assert shown.exit_code == 1
    for words in ("Hands that did not come out", REFUSED, "0 of 1 hands match"):
        assert words in shown.stdout


# ------------------------------------------------------------------- files that cannot be read


def test_what_cannot_be_read_stops_nothing(tmp_path: Path):
    hand = golden("merge")
    path = written(tmp_path, "{", hand, "", '{"id": "x"}', {**hand, "seats": []})
    ended = run(path, tmp_path / "nowhere.jsonl", "--json")
    told = json.loads(ended.stdout)
    assert (ended.exit_code, told["hands"], told["matched"]) == (2, 4, 1)
    assert [bad["id"] for bad in told["mismatched"]] == [f"{path}:1", "x", hand["id"]]
    assert [bad["why"].rpartition(" ")[2] for bad in told["mismatched"]] == [
        f"({path}:{number})" for number in (1, 4, 5)
    ]
    whys = [bad["why"] for bad in told["mismatched"]]
    for why, wanted in zip(whys, ("not JSON", "missing required", "0 seats, wanted 2 to 8"), strict=True):
        assert why.startswith("malformed: ")
        assert wanted in why
    assert "nowhere.jsonl: cannot be read (No such file or directory)" in ended.stderr


def test_a_line_that_is_no_hand_does_not_match(tmp_path: Path):
    """The file could be read, so it is a finding and not a failure."""
    ended = run(written(tmp_path, "{", golden("merge")), "--json")
    told = json.loads(ended.stdout)
    assert list(told) == ["hands", "matched", "mismatched", "partly"]
    assert (ended.exit_code, told["hands"], told["matched"]) == (1, 2, 1)


def test_a_file_may_begin_with_a_byte_order_mark_and_have_lines_of_windows(tmp_path: Path):
    path = tmp_path / "hands.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(golden("merge")).encode() + b"\r\n\r\n")
    assert run(path).exit_code == 0


def test_people_see_what_cannot_be_read(tmp_path: Path):
    shown = run(written(tmp_path, "{"))
    assert shown.exit_code == 1
    assert "malformed: not JSON" in shown.stdout


def test_no_hand_at_all_is_not_fine(tmp_path: Path):
    assert run(written(tmp_path, "")).exit_code == 2
    assert Report().exit_code == 2


def test_a_hand_that_contradicts_itself_is_told_like_any_other_that_is_wrong(tmp_path: Path):
    """It is in the format, and a person wants to know what the call costs."""
    hand = golden("merge")
    events(hand, "call")[0]["to"] += 1
    report = Report()
    list(judge_files([written(tmp_path, hand)], 1, report))
    (bad,) = report.mismatched
    assert bad.hand_id == hand["id"]
    call = events(hand, "call")[0]
    made = f"call of {call['amount']} is told to make {call['to']} on this street, wanted {call['to'] - 1}"
    assert bad.why == f"street 3: {call['player']}'s {made}"


def test_a_line_nested_too_deeply_stops_nothing(tmp_path: Path):
    deep = json.dumps(golden("merge") | {"notes": []}).replace('"notes": []', '"notes": ' + "[" * 5000 + "]" * 5000)
    ended = run(written(tmp_path, deep, golden("merge", 1)), "--json")
    told = json.loads(ended.stdout)
    assert (ended.exit_code, told["hands"], told["matched"]) == (1, 2, 1)
    (bad,) = told["mismatched"]
    assert bad["id"] == golden("merge")["id"]
    assert "nested too deeply" in bad["why"]


def test_long_runs_show_how_far_they_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(module, "PATIENCE_S", -1.0)
    file = written(tmp_path, golden("merge"), "", golden("merge", 1), golden("stars"))
    report = Report()
    with_progress(judge_files([file], 1, report), [file])
    assert report.hands == 3
    assert "3/3" in capsys.readouterr().err


# ------------------------------------------------------------------- records that are wrong


def test_another_winner_is_a_mismatch():
    hand = golden("stars", 1)
    paid = {event["player"] for event in events(hand, "award")}
    others = [seat["player"] for seat in hand["seats"] if seat["player"] not in paid]
    assert verdict(hand).matched
    assert all(verdict(changed(hand, "award", player=player)).why for player in others)


@pytest.mark.parametrize("by", [1, -1])
@pytest.mark.parametrize("name", ["stars", "bovada", "ipoker", "ongame", "merge"])
def test_an_award_that_is_a_chip_off_is_a_mismatch(name: str, by: int):
    hand = golden(name)
    amount = events(hand, "award")[0]["amount"]
    assert verdict(hand).matched
    assert not verdict(changed(hand, "award", amount=amount + by)).matched


def test_another_uncalled_bet_is_a_mismatch():
    hand = next(hand for hand in (golden("bovada", n) for n in range(22)) if events(hand, "uncalled"))
    amount = events(hand, "uncalled")[0]["amount"]
    assert "uncalled" in verdict(changed(hand, "uncalled", amount=amount - 1)).why


def test_another_ante_is_a_mismatch():
    hand = golden("stars")
    amount = events(hand, "ante")[0]["amount"]
    assert f"recorded {amount + 1}, played {amount}" in verdict(changed(hand, "ante", amount=amount + 1)).why


def test_an_action_out_of_turn_names_who_had_to_act():
    hand = golden("stars", 1)
    first, second = [n for n, e in enumerate(hand["events"]) if e["type"] in {"fold", "call", "check"}][:2]
    hand["events"][first], hand["events"][second] = hand["events"][second], hand["events"][first]
    assert "has to act (" in verdict(hand).why


def test_a_record_that_ends_too_early_is_a_mismatch():
    hand = golden("stars", 1)
    last = max(n for n, e in enumerate(hand["events"]) if e["type"] in {"fold", "call", "check"})
    del hand["events"][last]
    assert not verdict(hand).matched


# ------------------------------------------------------------------- made-up hands


def kinds_of(hand: Hand) -> set[str]:
    """What real sources did not give us."""
    awards = {event["player"]: event["amount"] for event in events(hand, "award")}
    wagers = [event for kind in ("raise", "complete", "bet") for event in events(hand, kind)]
    found = {
        "all-in ante": any(event["all_in"] for event in events(hand, "ante")),
        "all-in wager": any(event["all_in"] for event in wagers),
        "community river": any(event.get("community") for event in events(hand, "street")),
        "several paid": len(awards) > 1,
        "odd unit": max(awards.values()) - min(awards.values()) == 1,
    }
    return {name for name, there in found.items() if there}


def test_made_up_hands_come_out():
    """Each kind that real hands do not show is among them."""
    seen: Counter[str] = Counter()
    for number in range(either(300, 300, 90)):
        hand = random_hand(number, Random(number), tied=number % 2 == 0)
        seen.update(kinds_of(hand))
        found = verdict(hand)
        assert (found.why, found.note) == ("", ""), hand
    assert set(seen) == {"all-in ante", "all-in wager", "community river", "several paid", "odd unit"}, seen


@pytest.mark.parametrize("doors", [False, True])
def test_made_up_hands_with_hidden_cards_come_out(doors: bool):
    for number in range(either(60, 60, 20)):
        rng = Random(number)
        hand = hide(random_hand(number, rng, tied=number % 2 == 0), rng, doors=doors)
        assert verdict(hand).why == "", hand


def test_the_same_seed_draws_the_same_cards():
    rng = Random(5)
    hand = hide(random_hand(5, rng), rng, doors=True)
    decks = [script.deck for script in (verdict(hand, 7).script for _ in range(2)) if script is not None]
    assert len(decks) == 2
    assert decks[0] == decks[1]


# ------------------------------------------------------------------- a short all-in, by hand

LATER = {4: ("2h", "2s"), 5: ("3c", "3d"), 6: ("4c", "4d"), 7: ("8h", "9d")}


def act(kind: str, player: str, amount: int, to: int, *, all_in: bool = False) -> Hand:
    return {"type": kind, "player": player, "amount": amount, "to": to, "all_in": all_in}


def added_up(hand: Hand) -> Hand:
    """With the pot_total that its events make."""
    back = sum(event["amount"] for event in events(hand, "uncalled"))
    put_in = sum(e.get("amount", 0) for e in hand["events"] if e["type"] not in {"award", "uncalled"})
    return hand | {"pot_total": put_in - back}


def up_to_the_completion(third: int) -> Hand:
    """10/20, no ante: P1 brings it in, P2 completes to 10; P3, who has trip queens and `third`, is next."""
    cards = {"P1": ("2c", "As", "Ks"), "P2": ("Kd", "Ac", "Kc"), "P3": ("Qd", "Qs", "Qh")}
    stacks = (3000, 3000, third)
    return {
        "id": "made-up",
        "small_bet": 1000,
        "big_bet": 2000,
        "ante": 0,
        "bring_in": 300,
        "kind": "cash",
        "unit": "cent",
        "pot_total": 0,
        "rake": 0,
        "seats": [{"seat": n, "player": f"P{n}", "stack": stack} for n, stack in enumerate(stacks, 1)],
        "events": [
            *({"type": "deal", "player": who, "down": list(own[1:]), "up": [own[0]]} for who, own in cards.items()),
            act("bring_in", "P1", 300, 300),
            act("complete", "P2", 1000, 1000),
        ],
    }


@pytest.mark.parametrize(
    ("shove", "reraise", "why"),
    [
        (1400, 2400, "ILLEGAL_ACTION"),  # less than half a bet more: who has acted may only call
        (1500, 2500, ""),  # half a bet more counts as a raise, and a whole bet goes on top
    ],
)
def test_a_short_all_in_can_be_raised_only_when_it_counts(shove: int, reraise: int, why: str):
    hand = up_to_the_completion(third=shove)
    hand["events"] += [
        act("complete" if shove < 1000 else "raise", "P3", shove, shove, all_in=True),
        act("call", "P1", shove - 300, shove),
        act("raise", "P2", reraise - 1000, reraise),
        act("fold", "P1", 0, shove),
        {"type": "uncalled", "player": "P2", "amount": reraise - shove},
        *(
            {"type": "street", "street": n, "cards": {"P2": [a], "P3": [b]}, "community": None}
            for n, (a, b) in LATER.items()
        ),
        {"type": "award", "player": "P3", "amount": 3 * shove},
    ]
    found = verdict(added_up(hand)).why
    assert (why in found) if why else (found == ""), found


# ------------------------------------------------------------------- boards that cannot be


def impossible_board() -> Hand:
    """P1 shows a pair of aces on fourth street, and yet P2, whose card is hidden, is recorded first to act."""
    hand = up_to_the_completion(third=3000)
    return hand | {
        "pot_total": 2000,
        "seats": hand["seats"][:2],
        "events": [
            {"type": "deal", "player": "P1", "down": ["??", "??"], "up": ["As"]},
            {"type": "deal", "player": "P2", "down": ["??", "??"], "up": ["2c"]},
            act("bring_in", "P2", 300, 300),
            act("complete", "P1", 1000, 1000),
            act("call", "P2", 700, 1000),
            {"type": "street", "street": 4, "cards": {"P1": ["Ah"], "P2": ["??"]}, "community": None},
            act("check", "P2", 0, 0),
            act("bet", "P1", 1000, 1000),
            act("fold", "P2", 0, 0),
            {"type": "uncalled", "player": "P1", "amount": 1000},
            {"type": "award", "player": "P1", "amount": 2000},
        ],
    }


def better_hand_mucked(actors: str = "P2 P1") -> Hand:
    """P1's known straight was mucked, and beats whatever P2 can have: of the award only the sum can be checked."""
    return heads_up((LOW_UP, "6c 7d 3h"), (HIGH_UP, "Kc 3s 4d"), mucks=("P1",), awards={"P2": 120}, actors=actors)


def test_what_no_cards_can_bring_about_is_a_mismatch(tmp_path: Path):
    shown = run(written(tmp_path, impossible_board()), "--json")
    assert shown.exit_code == 1
    told = json.loads(shown.stdout)
    assert told["mismatched"] == [{"id": "made-up", "why": "street 4: no cards make P2 the first to act"}]
    assert told["partly"] == []
    assert "no result of the showdown" in verdict(changed(impossible_board(), "award", amount=1999)).why


def test_it_is_said_how_many_hands_were_checked_only_in_part_and_which(tmp_path: Path):
    """Those that match and those that do not."""
    right, wrong = better_hand_mucked(), better_hand_mucked(actors="P1 P2") | {"id": "wrong"}
    file = tmp_path / "hands.jsonl"
    file.write_text("\n".join(json.dumps(hand) for hand in (right, wrong, golden("merge"))))
    shown, scripted = run(str(file)), run(str(file), "--json")
    assert "2 of 3 hands match, 2 were checked only in part" in shown.stdout
    for text in (shown.stdout, scripted.stderr):
        for hand in (right, wrong):
            assert f"{hand['id']}: a hand that was mucked was better" in text
    why = "a hand that was mucked was better: awards were checked as sums only"
    assert json.loads(scripted.stdout)["partly"] == [{"id": hand["id"], "why": why} for hand in (right, wrong)]
    assert [bad["id"] for bad in json.loads(scripted.stdout)["mismatched"]] == ["wrong"]
    assert "in part" not in run(written(tmp_path, golden("merge"))).stdout


async def test_such_a_hand_is_not_rehearsed(tmp_path: Path):
    """Nobody is asked to play it: there are no people here."""
    ensure_dev_keys(tmp_path)
    nobody = Callers({}, tmp_path)
    told = await rehearse_one(nobody, parse_hand(json.dumps(impossible_board())), "t-1", 1)
    assert told == verdict(impossible_board())
    told = await rehearse_one(nobody, parse_hand(json.dumps(better_hand_mucked())), "t-1", 1)
    assert (told.why, told.note) == ("hidden", verdict(better_hand_mucked()).note)
    wrong = changed(golden("merge"), "street", street=5)
    told = await rehearse_one(nobody, parse_hand(json.dumps(wrong)), "t-1", 1)
    assert told == verdict(wrong)
