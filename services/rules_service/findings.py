"""What the referee may find wrong, and what may keep it from judging. Codes are stable; none ever carries a card."""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """Something is wrong with a hand: it is disputed, and nothing of it is paid."""

    CHAIN_BROKEN = "CHAIN_BROKEN"
    """The stored bytes of a log do not give the hash that follows them: somebody edited them."""
    WRONG_RANGE = "WRONG_RANGE"
    """The range of a log does not begin where the hand before ended, or does not end with the end of this hand."""
    HAND_SKIPPED = "HAND_SKIPPED"
    """The hand's number is not the one after the last hand, or the last hand has no final verdict yet."""
    WRONG_VERDICT = "WRONG_VERDICT"
    """The table recorded a verdict that the referee's log does not hold, or other stacks than were decided."""
    WRONG_COMMITMENT = "WRONG_COMMITMENT"
    """The seed does not open the commitment made before the antes, or table and deck hold different ones."""
    WRONG_ROOT = "WRONG_ROOT"
    """The deck's Merkle root is not that of the committed deck."""
    STACKED_DECK = "STACKED_DECK"
    """A stacked deck at a table that may not have one."""
    WRONG_CARD = "WRONG_CARD"
    """A card is not the one at that place of the committed deck, came twice, or went to another seat."""
    WRONG_BURN = "WRONG_BURN"
    """A card was burned that should not be, or not burned that should."""
    EARLY_DEAL = "EARLY_DEAL"
    """Cards were asked for or dealt before the betting round was over, or by no request at all."""
    WRONG_DEAL = "WRONG_DEAL"
    """The deal asked for is not the next one: street, mode, burn or seats are wrong."""
    WRONG_START = "WRONG_START"
    """Who is dealt in, the order of dealing, the button or the rules' version are wrong."""
    WRONG_ANTE = "WRONG_ANTE"
    """An ante is neither the table's nor all the player had."""
    WRONG_ORDER = "WRONG_ORDER"
    """The turn went to the wrong player, or an event stands where the rules have no place for it."""
    WRONG_ACTOR = "WRONG_ACTOR"
    """An action by another account than the one whose turn it was."""
    ILLEGAL_ACTION = "ILLEGAL_ACTION"
    """An action or amount that the rules do not allow in that position."""
    WRONG_OPTIONS = "WRONG_OPTIONS"
    """The player was offered other actions than the rules give them, another price or another deadline."""
    EARLY_TIMEOUT = "EARLY_TIMEOUT"
    """A timeout was taken before the published deadline."""
    LATE_ACTION = "LATE_ACTION"
    """An action was taken after its deadline."""
    WRONG_UNCALLED = "WRONG_UNCALLED"
    """The part of a bet that nobody matched was not returned, or something else was."""
    WRONG_SHOW = "WRONG_SHOW"
    """A hand that had to be shown was not, or one was shown or mucked that could not be."""
    WRONG_POT = "WRONG_POT"
    """A pot's amount is not what the players put into it, or a pot is missing or paid twice."""
    WRONG_AWARD = "WRONG_AWARD"
    """A pot was paid to other players, or in other shares, than the hands and the rules say."""
    WRONG_RAKE = "WRONG_RAKE"
    """The rake is not what the rules take."""
    WRONG_STACK = "WRONG_STACK"
    """A stack is not what it was plus what came and went."""
    WRONG_DELTA = "WRONG_DELTA"
    """A player's result is not the difference of their stacks, or a player is missing from the result."""
    WRONG_REFUND = "WRONG_REFUND"
    """A void hand or a cancelled ante round did not give back every contribution exactly once."""
    NOT_CONSERVED = "NOT_CONSERVED"
    """Chips appeared or vanished."""
    NOT_DECIDED = "NOT_DECIDED"
    """A recorded fact that the rules engine does not decide from what went before it."""


class Obstacle(StrEnum):
    """Something the referee lacks: it waits and raises an alarm, and never disputes because of it."""

    MISSING_LOG = "MISSING_LOG"
    """Commits of the table's or the deck's log are not there."""
    UNKNOWN_EVENT = "UNKNOWN_EVENT"
    """An event or commit format that this build does not know."""
    UNKNOWN_SHUFFLE = "UNKNOWN_SHUFFLE"
    """A version of the shuffle that this build does not know."""
    WRONG_KEY = "WRONG_KEY"
    """The referee's key does not open the seed."""
    BROKEN_BOX = "BROKEN_BOX"
    """The key is the right one, but the sealed seed or stacked order does not open: altered, or from elsewhere."""
    REFEREE_FAULT = "REFEREE_FAULT"
    """The referee itself failed; the log line has the incident."""


class CannotVerify(Exception):
    """The referee cannot judge now; ``detail`` is for operators and holds no card."""

    def __init__(self, obstacle: Obstacle, stream: str, version: int = 0, detail: str = "") -> None:
        super().__init__(f"{obstacle}: {stream} {version}: {detail}")
        self.obstacle, self.stream, self.version, self.detail = obstacle, stream, version, detail
