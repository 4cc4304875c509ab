"""Who is shown what, in which order, and what happens to those who do not keep up."""

from structlog.testing import capture_logs

from table_service.hub import Hub, Viewer
from table_service.updates import Outgoing, Step

STEP = Step(1, b"h", b"public")


def public(version: int) -> bytes:
    return b"<%d>" % version


def step(version: int) -> Step:
    return Step(version, bytes([version]), public(version))


def fill(hub: Hub, *versions: int) -> None:
    for version in versions:
        hub.publish(step(version), lambda account: b"")


def taken(viewer: Viewer) -> list[bytes | None]:
    """What is queued: the shared bytes with the viewer's own part behind them."""
    queued = [viewer.queue.get_nowait() for _ in range(viewer.queue.qsize())]
    assert all(item.current for item in queued if isinstance(item, Outgoing))
    return [item.shared + item.mine if isinstance(item, Outgoing) else item for item in queued]


def test_everybody_gets_the_public_bytes_and_only_the_owner_theirs():
    hub, ada, bea, eve = Hub(), Viewer("ada"), Viewer("bea"), Viewer("eve")
    for viewer in (ada, bea, eve):
        hub.add(viewer)
    hub.publish(STEP, lambda account: {"ada": b"+A", "bea": b"+B"}.get(account, b""))
    assert [taken(viewer) for viewer in (ada, bea, eve)] == [[b"public+A"], [b"public+B"], [b"public"]]


def test_a_private_part_is_made_once_for_all_streams_of_its_owner():
    hub, asked = Hub(), []
    for _ in range(3):
        hub.add(Viewer("ada"))

    def private(account: str) -> bytes:
        asked.append(account)
        return b"+A"

    hub.publish(STEP, private)
    assert asked == ["ada"]


def test_players_are_served_before_spectators():
    hub, order = Hub(), []

    class Noting(Viewer):
        def offer(self, data: Outgoing | bytes) -> None:
            order.append(self.account)

    for number in range(50):
        hub.add(Noting(f"spectator-{number}"))
        hub.add(Noting(f"player-{number}"))
    hub.publish(STEP, lambda account: b"+" if account.startswith("player") else b"")
    assert len(order) == 100
    assert all(account.startswith("player") for account in order[:50])


def test_a_slow_viewer_is_dropped_and_the_others_are_not():
    hub, slow, quick = Hub(), Viewer("slow", limit=3), Viewer("quick", limit=3)
    hub.add(slow)
    hub.add(quick)
    got = []
    for version in range(1, 8):
        fill(hub, version)
        got += taken(quick)
    assert got == [public(version) for version in range(1, 8)]
    assert not quick.dropped
    assert slow.dropped
    assert taken(slow) == [public(1), public(2), public(3), None]  # what he has, then the end
    assert slow.why is not None
    assert slow.why.reason == "RESUME_FROM_VERSION"


def test_a_dropped_viewer_takes_no_room():
    viewer = Viewer("slow", limit=1)
    for _ in range(100):
        viewer.offer(b"x")
        viewer.finish()
    assert taken(viewer) == [b"x", None]


def test_nobody_is_served_after_they_were_removed():
    hub, viewer = Hub(), Viewer("ada")
    hub.add(viewer)
    hub.remove(viewer)
    hub.remove(viewer)
    fill(hub, 1)
    assert (len(hub), taken(viewer)) == (0, [])


def test_finishing_ends_every_stream_after_what_is_queued():
    hub, viewer = Hub(), Viewer("ada")
    hub.add(viewer)
    fill(hub, 1)
    hub.finish()
    fill(hub, 2)
    assert taken(viewer) == [public(1), None]
    assert viewer.why is None  # a good end; with a refusal it says why


def test_who_comes_back_gets_what_they_missed():
    hub = Hub()
    fill(hub, 4, 5, 6, 7)
    assert hub.since(5, b"") == [step(6), step(7)]
    assert hub.since(5, bytes([5])) == [step(6), step(7)]
    assert hub.since(7, bytes([7])) == []


def test_who_has_another_history_or_too_old_a_version_gets_no_updates():
    hub = Hub(keep=3)
    assert hub.since(0, b"") is None  # nothing is kept
    fill(hub, 4, 5, 6, 7)
    assert hub.since(4, b"") is None  # not kept any more
    assert hub.since(6, b"another hash") is None
    assert hub.since(8, b"") is None  # ahead of the log


def test_the_present_is_shown_to_everybody_or_to_one_account_and_leads_nowhere_else():
    hub, ada, eve = Hub(), Viewer("ada"), Viewer("eve")
    for viewer in (ada, eve):
        hub.add(viewer)
    fill(hub, 1, 2)
    present = Step(2, bytes([2]), b"all of it")
    hub.refresh(present, lambda account: b"+A" if account == "ada" else b"")
    hub.refresh(present, lambda account: b"+B", "ada")
    fill(hub, 3)
    assert taken(ada) == [public(1), public(2), b"all of it+A", b"all of it+B", public(3)]
    assert taken(eve) == [public(1), public(2), b"all of it", public(3)]
    assert hub.since(1, b"") == [step(2), step(3)]


def test_what_is_forgotten_is_not_sent_again():
    hub = Hub()
    fill(hub, 1, 2)
    hub.forget()
    fill(hub, 5)
    assert hub.since(2, b"") is None
    assert hub.since(5, b"") == []


def test_a_part_that_cannot_be_made_costs_its_viewer_their_stream_and_nobody_else():
    hub, ada, bea, eve = Hub(), Viewer("ada"), Viewer("bea"), Viewer("eve")
    for viewer in (ada, bea, eve):
        hub.add(viewer)

    def private(account: str) -> bytes:
        if account == "ada":
            raise ValueError("the card is 51")
        return b"+B" if account == "bea" else b""

    with capture_logs() as lines:
        hub.publish(STEP, private)
    assert [taken(viewer) for viewer in (ada, bea, eve)] == [[None], [b"public+B"], [b"public"]]
    assert ada.why is not None
    assert (ada.why.reason, "51" in ada.why.text) == ("INTERNAL", False)
    assert [line["event"] for line in lines] == ["private_part_failed"]


def test_a_full_view_that_cannot_be_made_costs_its_viewer_their_stream_and_nobody_else():
    hub, ada, eve = Hub(), Viewer("ada"), Viewer("eve")
    for viewer in (ada, eve):
        hub.add(viewer)

    def private(account: str) -> bytes:
        if account == "ada":
            raise ValueError("the card is 51")
        return b""

    with capture_logs() as lines:
        hub.refresh(STEP, private)
    assert [taken(viewer) for viewer in (ada, eve)] == [[None], [b"public"]]
    assert (ada.why is not None and ada.why.reason) == "INTERNAL"
    assert [line["event"] for line in lines] == ["private_part_failed"]
