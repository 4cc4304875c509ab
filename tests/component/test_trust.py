"""Keys and revocations are followed while a service runs: files that are replaced, an issuer's address that answers,
does not, or answers nonsense. What was good last stays good, and what is wrong is told.
"""

import asyncio
import os
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self
from unittest.mock import Mock

import jwt
import pytest

from stud_service import fetching
from stud_service import trust as module
from stud_service.fetching import FetchError, check_web_address, fetch
from stud_service.refusals import Refused
from stud_service.settings import MAX_LIFE_S, ServiceSettings, SettingsError, load_settings
from stud_service.signing_keys import KeyFileError
from stud_service.tokens import Verifier, mint
from stud_service.trust import Trust
from tests.support.certificates import issue
from tests.support.issuer import EC_KEY, ED_KEY, ED_KEY_2, Site, jwk, jwks, publishing, signed
from tests.support.runtime import KEY, logged, until, write_keys


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.02)


@pytest.fixture
def site() -> Iterator[Site]:
    with publishing() as published:
        yield published


class Followed:
    """What a service has of it, while it is followed."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.trust = Trust(ServiceSettings(build="t", keys_dir=folder, **settings), soonest_s=0.02)
        self.verifier = Verifier(self.trust.trusted)
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        follow = self.trust.follow_files(), self.trust.follow_issuer()
        self._tasks = [asyncio.create_task(task) for task in follow]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def says(self, token: str) -> str:
        try:
            self.verifier.caller_of(token)
        except Refused as why:
            return why.reason
        return "fine"

    async def until_it_says(self, token: str, reason: str) -> None:
        await until(lambda: self.says(token) == reason)


def replace(path: Path, data: bytes) -> None:
    """As whoever writes such a file should: at once or not at all."""
    path.with_name(".new").write_bytes(data)
    path.with_name(".new").replace(path)


# Files


async def test_the_one_key_of_old_still_does_and_may_be_replaced(tmp_path: Path):
    async with Followed(write_keys(tmp_path)) as followed:
        old = mint("alice", ["player"], 60, KEY)
        assert followed.says(old) == "fine"
        write_keys(tmp_path, ED_KEY)
        await followed.until_it_says(mint("alice", ["player"], 60, ED_KEY), "fine")
        assert followed.says(old) == "UNAUTHENTICATED"


async def test_keys_rotate_without_a_restart(tmp_path: Path):
    """The issuer publishes the next key, signs with it, then withdraws the old one."""
    path = tmp_path / "jwks.json"
    path.write_bytes(jwks(jwk(ED_KEY, "a")))
    async with Followed(tmp_path, jwks_file=path) as followed:
        old, new = signed(ED_KEY, "a"), signed(EC_KEY, "b")
        assert [followed.says(token) for token in (old, new)] == ["fine", "UNAUTHENTICATED"]
        replace(path, jwks(jwk(ED_KEY, "a"), jwk(EC_KEY, "b")))
        await followed.until_it_says(new, "fine")
        assert followed.says(old) == "fine"
        replace(path, jwks(jwk(EC_KEY, "b")))
        await followed.until_it_says(old, "UNAUTHENTICATED")
        assert followed.says(new) == "fine"


async def test_a_key_may_get_another_name_or_another_body(tmp_path: Path):
    path = tmp_path / "jwks.json"
    path.write_bytes(jwks(jwk(ED_KEY, "a")))
    async with Followed(tmp_path) as followed:
        replace(path, jwks(jwk(ED_KEY_2, "a")))
        await followed.until_it_says(signed(ED_KEY_2, "a"), "fine")
        assert followed.says(signed(ED_KEY, "a")) == "UNAUTHENTICATED"


@pytest.mark.parametrize("spoil", ["nonsense", "empty", "gone", "unreadable", "a folder", "huge"])
async def test_what_cannot_be_read_changes_nothing_and_is_told(tmp_path: Path, spoil: str):
    path = tmp_path / "jwks.json"
    path.write_bytes(jwks(jwk(ED_KEY, "a")))
    with logged() as told:
        async with Followed(tmp_path) as followed:
            match spoil:
                case "gone":
                    path.unlink()
                case "a folder":
                    path.unlink()
                    path.mkdir()
                case "unreadable":
                    path.unlink()
                    path.symlink_to(path)
                case _:
                    replace(path, {"nonsense": b"no", "empty": b"", "huge": b" " * 300_000}[spoil])
            await until(lambda: followed.trust.stale_s()["jwks_file"] > 0)
            assert followed.says(signed(ED_KEY, "a")) == "fine"
            if path.is_dir():
                path.rmdir()
            replace(path, jwks(jwk(EC_KEY, "b")))
            await followed.until_it_says(signed(EC_KEY, "b"), "fine")
            await until(lambda: not followed.trust.stale_s()["jwks_file"])
            if spoil != "gone":  # what is there may be old, and must be seen to have changed
                assert followed.says(signed(ED_KEY, "a")) == "UNAUTHENTICATED"
    events = [line["event"] for line in told()]
    assert events.count("trust_is_stale") == 1
    assert events.count("trust_is_fresh") == 1


async def test_what_nobody_thought_of_changes_nothing_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A library that fails in a way of its own, at a file and at the issuer's answer."""
    path = tmp_path / "jwks.json"
    path.write_bytes(jwks(jwk(ED_KEY, "a")))
    with publishing() as site:
        site.body = jwks(jwk(EC_KEY, "b"))
        async with Followed(tmp_path, jwks_url=site.url, jwks_refresh_s=10) as followed:
            await followed.until_it_says(signed(EC_KEY, "b"), "fine")
            with monkeypatch.context() as broken:
                broken.setattr(jwt, "PyJWK", Mock(side_effect=ZeroDivisionError))
                replace(path, jwks(jwk(ED_KEY_2, "c")))
                followed.says(signed(ED_KEY_2, "c"))
                await until(lambda: set(followed.trust.problems()) == {"jwks_file", "jwks_url"})
                assert set(followed.trust.problems().values()) == {
                    "it cannot be read (ZeroDivisionError)",
                    "its answer cannot be read (ZeroDivisionError)",
                }
                assert [followed.says(signed(key, kid)) for key, kid in ((ED_KEY, "a"), (EC_KEY, "b"))] == ["fine"] * 2
            await followed.until_it_says(signed(ED_KEY_2, "c"), "fine")


async def test_no_service_starts_with_less_than_it_was_given(tmp_path: Path):
    with pytest.raises(KeyFileError, match=r"there is no jwt-public\.pem"):
        Followed(tmp_path)
    write_keys(tmp_path)
    for name in ("jwks.json", "revoked.txt"):
        (tmp_path / name).write_text("what is this?")
        with pytest.raises(KeyFileError, match=f"{name}: .*want"):
            Followed(tmp_path)
        (tmp_path / name).unlink()
    for setting in ("jwks_file", "revoked_file"):
        with pytest.raises(KeyFileError, match="it is not there"):
            Followed(tmp_path, **{setting: tmp_path / "nowhere"})
    (tmp_path / "jwt-public.pem").write_text("nonsense")
    with pytest.raises(KeyFileError, match="cannot be read as a public key"):
        Followed(tmp_path)


# Revocations


async def test_a_revoked_token_is_refused_everywhere_and_others_are_not(tmp_path: Path):
    path = tmp_path / "revoked.txt"
    async with Followed(write_keys(tmp_path)) as followed:
        bad = mint("alice", ["player"], 60, KEY, token_id="bad-1")
        others = [mint("alice", ["player"], 60, KEY), signed(KEY, None, jti="bad-2"), signed(KEY, None)]
        assert followed.says(bad) == "fine"
        path.write_text(f"# stolen\nbad-1 {time.time() + 60:.0f}\n")
        await followed.until_it_says(bad, "TOKEN_REVOKED")
        assert [followed.says(token) for token in others] == ["fine"] * 3
        assert followed.says(bad) == "TOKEN_REVOKED"
    again = Followed(tmp_path)  # a restart forgets nothing
    assert again.says(bad) == "TOKEN_REVOKED"
    assert again.says(mint("alice", ["player"], -1, KEY, token_id="bad-1")) == "TOKEN_EXPIRED"


async def test_what_has_ended_by_itself_is_forgotten(tmp_path: Path):
    now = 1_000_000.0
    write_keys(tmp_path)
    (tmp_path / "revoked.txt").write_text("a 1000010\nb 1000020\nb 1000005\nc 999999\n")
    trust = Trust(ServiceSettings(build="t", keys_dir=tmp_path), clock_s=lambda: now)
    assert trust.trusted.revoked == {"a": 1_000_010, "b": 1_000_020}
    now += 15
    following = asyncio.create_task(trust.follow_files())
    await until(lambda: set(trust.trusted.revoked) == {"b"})
    following.cancel()


@pytest.mark.parametrize("line", ["a", "a b", "a 1 2", "a nan", "a -1", "a inf", f"{'a' * 129} 1", "a\x7f 1", "1"])
async def test_a_list_that_is_half_understood_would_let_somebody_in(tmp_path: Path, line: str):
    write_keys(tmp_path)
    (tmp_path / "revoked.txt").write_text(f"good {time.time() + 60}\n{line}\n")
    with pytest.raises(KeyFileError, match="line 2: want"):
        Followed(tmp_path)


# The issuer's address


async def test_keys_are_had_from_an_address_and_a_new_one_is_found_when_it_is_used(tmp_path: Path, site: Site):
    site.body = jwks(jwk(ED_KEY, "a"))
    async with Followed(tmp_path, jwks_url=site.url, jwks_refresh_s=86_400) as followed:
        assert followed.says(signed(ED_KEY, "a")) == "KEYS_UNAVAILABLE"
        await followed.until_it_says(signed(ED_KEY, "a"), "fine")
        site.body = jwks(jwk(EC_KEY, "b"))
        await followed.until_it_says(signed(EC_KEY, "b"), "fine")
        assert followed.says(signed(ED_KEY, "a")) == "UNAUTHENTICATED"


async def test_whoever_makes_up_names_of_keys_cannot_have_the_issuer_asked_all_the_time(tmp_path: Path, site: Site):
    site.body = jwks(jwk(ED_KEY, "a"))
    followed = Followed(tmp_path, jwks_url=site.url, jwks_refresh_s=86_400)
    followed.trust._soonest_s = 3600
    async with followed:
        await followed.until_it_says(signed(ED_KEY, "a"), "fine")
        for number in range(100):
            assert followed.says(signed(ED_KEY, f"x{number}")) == "UNAUTHENTICATED"
            await asyncio.sleep(0)
        assert site.asked == 1


def answers_500(site: Site) -> None:
    site.status = 500


def says_nonsense(site: Site) -> None:
    site.body = b"<html>"


def says_too_much(site: Site) -> None:
    site.body = b" " * 300_000


@pytest.mark.parametrize("break_it", [answers_500, says_nonsense, says_too_much])
async def test_an_issuer_that_is_out_of_order_changes_nothing(
    tmp_path: Path, site: Site, break_it: Callable[[Site], None]
):
    site.body = good = jwks(jwk(ED_KEY, "a"))
    async with Followed(tmp_path, jwks_url=site.url, jwks_refresh_s=10) as followed:
        await followed.until_it_says(signed(ED_KEY, "a"), "fine")
        break_it(site)
        followed.says(signed(ED_KEY, "unknown"))
        await until(lambda: followed.trust.stale_s()["jwks_url"] > 0)
        assert followed.says(signed(ED_KEY, "a")) == "fine"
        assert followed.trust.problems()["jwks_url"]
        site.status, site.body = 200, good
        await until(lambda: not followed.trust.stale_s()["jwks_url"])


async def test_an_issuer_that_never_answers_holds_up_one_thread_and_nobody_else(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "GIVEN_UP_S", 0.05)
    site.body = jwks(jwk(ED_KEY, "a"))
    site.go_on.clear()
    async with Followed(write_keys(tmp_path), jwks_url=site.url) as followed:
        await until(lambda: "no answer within" in followed.trust.problems().get("jwks_url", ""))
        assert followed.says(mint("alice", ["player"], 60, KEY)) == "fine"
        for _ in range(5):
            await asyncio.sleep(0.05)
        assert site.asked == 1
        site.go_on.set()
        await followed.until_it_says(signed(ED_KEY, "a"), "fine")


async def test_a_file_system_that_stands_still_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A pipe that nobody writes to, in the place of a file: opening it blocks for ever."""
    monkeypatch.setattr(module, "GIVEN_UP_S", 0.05)
    write_keys(tmp_path)
    async with Followed(tmp_path) as followed:
        os.mkfifo(tmp_path / "jwks.json")
        await until(lambda: followed.trust.stale_s()["public_key"] > 0)
        assert followed.says(mint("alice", ["player"], 60, KEY)) == "fine"
        (tmp_path / "jwks.json").write_bytes(jwks(jwk(ED_KEY, "a")))  # and it goes on
        await until(lambda: not followed.trust.stale_s()["public_key"])


@pytest.mark.parametrize(
    "url",
    [
        "http://issuer.example/jwks",
        "ftp://127.0.0.1/",
        "issuer.example",
        "https://",
        "https://u:p@issuer.example/",
        "https://a:b/",
    ],
)
def test_keys_come_over_https_alone(url: str):
    with pytest.raises(ValueError, match="want https"):
        check_web_address(url)
    with pytest.raises(SettingsError, match="STUD_JWKS_URL: want https"):
        load_settings("table", environ={"STUD_JWKS_URL": url})


def test_what_goes_wrong_is_told_in_a_few_words(site: Site):
    site.status = 404
    with pytest.raises(FetchError, match="it answered 404"):
        fetch(site.url, 100)
    with pytest.raises(FetchError, match="connection refused"):
        fetch("http://127.0.0.1:1/", 100)
    with pytest.raises(FetchError, match="cannot be read"):
        fetch(site.url, 100, Path("/nonexistent"))


def test_keys_come_from_where_they_were_looked_for(site: Site):
    with publishing() as elsewhere:
        elsewhere.body = jwks(jwk(ED_KEY, "a"))
        site.status, site.elsewhere = 302, elsewhere.url
        with pytest.raises(FetchError, match="it answered 302"):
            fetch(site.url, 100_000)
        assert (site.asked, elsewhere.asked) == (1, 0)


def test_an_answer_has_bounds(site: Site, monkeypatch: pytest.MonkeyPatch):
    site.body = b" " * 200_000
    assert len(fetch(site.url, 200_000)) == 200_000
    with pytest.raises(FetchError, match="more than 199999 bytes"):
        fetch(site.url, 199_999)
    monkeypatch.setattr(fetching, "WHOLE_S", -1.0)
    with pytest.raises(FetchError, match="takes longer"):
        fetch(site.url, 200_000)


def test_a_certificate_of_another_ca_is_told(tmp_path: Path):
    """The issuer's own CA is trusted beside the system's, and no other."""
    ours, others = issue("ours"), issue("others")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*issue("issuer", ours).write(tmp_path, "issuer"))
    with publishing(context) as site:
        site.body = b"{}"
        assert fetch(site.url, 100, ours.write(tmp_path, "ours")[0]) == b"{}"
        for ca in (None, others.write(tmp_path, "others")[0]):
            with pytest.raises(FetchError, match="its certificate is not trusted"):
                fetch(site.url, 100, ca)


def test_a_year_of_revocations_fits(tmp_path: Path):
    """As many as a list may have, read at once; and one more is told."""
    until_s = int(time.time()) + MAX_LIFE_S
    lines = [f"{number:032x} {until_s}\n" for number in range(100_000)]
    write_keys(tmp_path)
    (tmp_path / "revoked.txt").write_text("".join(lines))
    assert len(Trust(ServiceSettings(build="t", keys_dir=tmp_path)).trusted.revoked) == 100_000
    (tmp_path / "revoked.txt").write_text("".join([*lines, f"more {until_s}\n"]))
    with pytest.raises(KeyFileError, match="at most 100000 tokens"):
        Followed(tmp_path)
