"""What a screen knows of a table: the last update and when it came, what has happened, and one's own cards of the last
hand. Nothing is made up here: all of it was sent to this viewer.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.play.happened import Names, lines

KEPT_LINES: Final = 500
"""Of what happened; older ones are in `stud replay`."""


def name_of(seat: pb.SeatView | pb.LastHandSeat) -> str:
    """Return what somebody at the table is called."""
    return seat.name or seat.account


class Seen:
    """A table as one viewer has seen it. Times are seconds of one monotonic clock. ``plain``: cards in letters alone;
    ``own``: whether the viewer's own part is taken in.
    """

    def __init__(self, *, plain: bool = False, own: bool = True) -> None:
        self.plain = plain
        self.update: pb.TableUpdate | None = None
        self.said: deque[str] = deque(maxlen=KEPT_LINES)
        self.told = 0
        """Lines that were said, kept or not."""
        self.hands = 0
        """Hands that were seen to end."""
        self._own = own
        self._came_s = 0.0
        self._names: Names = {}
        self._down: tuple[int, tuple[int, ...]] = (0, ())

    @property
    def view(self) -> pb.TableView:
        """The table as it was sent last; empty before."""
        return self.update.view if self.update is not None else pb.TableView()

    @property
    def mine(self) -> pb.PrivateView | None:
        """The viewer's own part; None without a seat."""
        if self.update is None or not (self._own and self.update.HasField("mine") and self.update.mine.sitting_no):
            return None
        return self.update.mine

    @property
    def my_seat(self) -> pb.SeatView | None:
        """The viewer's seat; None where they have none (any more)."""
        mine = self.mine
        number = mine.seat if mine is not None else 0
        return next((seat for seat in self.view.seats if seat.seat == number and seat.account), None)

    def take(self, update: pb.TableUpdate, now_s: float) -> None:
        """Take in the next update."""
        self.update, self._came_s = update, now_s
        self._names |= {seat.seat: name_of(seat) for seat in update.view.seats if seat.account}
        mine = self.mine
        if mine is not None and mine.down:
            self._down = update.view.hand_no, tuple(mine.down)
        for event in update.events:
            for line in lines(event, self._names, update.view, plain=self.plain):
                self.tell(line)
            self.hands += event.WhichOneof("body") == "hand_ended"

    def tell(self, text: str) -> None:
        """Add a line to what happened."""
        self.said.append(text)
        self.told += 1

    def own_down(self) -> tuple[int, ...]:
        """The viewer's down cards of the hand that is drawn: the running one, or the last one while it is shown."""
        mine = self.mine
        if mine is not None and mine.down:
            return tuple(mine.down)
        drawn = self.view.hand_no if self.view.phase else self.view.last_hand.hand_no
        hand_no, down = self._down
        return down if mine is not None and drawn == hand_no else ()

    def left_ms(self, deadline_ms: int, now_s: float) -> int:
        """How long a deadline is away, never below 0: by the server's clock when it told of it, and ours since then."""
        if self.update is None or not deadline_ms:
            return 0
        return max(0, deadline_ms - self.update.sent_at_ms - round((now_s - self._came_s) * 1000))
