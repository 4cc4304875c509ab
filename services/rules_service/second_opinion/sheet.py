"""What the second opinion writes down while it follows a hand, and how it complains."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import msgspec

from rules_service.findings import Code
from rules_service.second_opinion.account import Account
from rules_service.second_opinion.betting import Choice, Round
from rules_service.second_opinion.dealing import Dealt, Deck, Plan, Stub
from rules_service.second_opinion.pots import Payment
from stud_core.deck_events import DeckCardsDealt
from stud_core.events import DealtIn, Delta, Engine, SeatStack
from stud_core.ruleset import Ruleset, TableConfig


class Due(IntEnum):
    """What the rules want next."""

    ANTES_OPENED = 0
    ANTES = 1
    FIRST_DEAL = 2
    CARDS = 3
    TURN = 4
    ACTION = 5
    DEAL = 6
    AWARDS = 7
    NOTHING = 8


class Diverged(Exception):
    """From here on the log is a different game than the rules allow; nothing after it can be judged."""

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self.code = code


class Figures(msgspec.Struct, frozen=True, gc=False):
    """Who is owed what, as recomputed: all dealt-in sittings in deal order, minor units."""

    deltas: tuple[Delta, ...]
    rake: int
    stacks: tuple[SeatStack, ...]


class Sheet:
    """One hand in progress. Lists are by seat (index 0 unused), amounts minor units."""

    def __init__(
        self, config: TableConfig, account: Account, deck: Deck, deals: Mapping[int, DeckCardsDealt], from_version: int
    ) -> None:
        self.config = config
        self.account = account
        self.deck = deck
        self.deals = deals  # the dealer's answers by deal number
        self.from_version = from_version
        self.version = 0
        self.at_ms = 0
        self.actor = ""
        self.findings: list[tuple[Code, int]] = []
        self.requested: dict[int, int] = {}  # version that asked for each deal
        self.walk: dict[int, Dealt] = {}  # positions that each deal must take
        self.figures: Figures | None = None
        self.ended = False
        self.voided = False
        self.reset()

    def reset(self) -> None:
        """Begin again: no ante, no card; the deck serves the next attempt."""
        self.due = Due.ANTES_OPENED
        self.engine = Engine.FIRST
        self.asked: set[int] = set()
        self.asked_until = 0  # deadline of the questions that are open, antes or shows; 0 = none
        self.answering = 0  # seat whose question is answered by a preference, until the answer has come
        self.prompt_id = 0
        self.deadline = 0
        self.extended = 0  # what the open turn was given beyond its clock
        self.protected: set[int] = set()  # seats that had more time because their connection was lost
        self.stacks = [0] * 9
        self.start = [0] * 9
        self.paid: dict[int, int] = {}
        self.dealt_in: tuple[DealtIn, ...] = ()
        self.order: tuple[int, ...] = ()
        self.live: list[int] = []
        self.stub = Stub()
        self.plan = Plan(0, 1, False, ())  # type: ignore[arg-type]
        self.taken = Dealt((), (), (), None)
        self.deal_no = 0
        self.street = 0
        self.up: list[list[int]] = [[] for _ in range(9)]
        self.down: list[list[int]] = [[] for _ in range(9)]
        self.community: int | None = None
        self.round = Round(self.config, 0, (), ())
        self.due_seat = 0
        self.turn_id = 0
        self.choices: dict[Choice, bool] = {}
        self.owed = (0, 0)  # uncalled chips: seat, amount
        self.payments: list[Payment] = []
        self.next_pot = -1
        self.must_show: set[int] = set()
        self.told: dict[int, str] = {}  # shown, mucked
        self.prompted: set[int] = set()

    def before(self) -> dict[int, int]:
        """Stacks of those who are dealt in, by sitting, before their antes."""
        return {player.sitting_no: self.start[player.seat] for player in self.dealt_in}

    def close(self) -> None:
        """The hand is over."""
        self.ended = True
        self.due = Due.NOTHING

    @property
    def decided(self) -> bool:
        """Whether a pot is paid, or a player has shown, mucked or been asked to: no void takes that back (B.21)."""
        return self.next_pot + 1 < len(self.payments) or bool(self.told or self.prompted)

    @property
    def ruleset(self) -> Ruleset:
        return self.config.ruleset

    def find(self, code: Code) -> None:
        """Note a fault that leaves the play itself intact."""
        if (code, self.version) not in self.findings:
            self.findings.append((code, self.version))

    def need(self, right: bool, code: Code) -> None:
        """Stop following when something that everything else rests on is wrong."""
        if not right:
            raise Diverged(code)

    def check(self, right: bool, code: Code) -> None:
        """Note a fault and go on."""
        if not right:
            self.find(code)
