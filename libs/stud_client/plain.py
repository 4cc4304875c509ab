"""What a stream sends to a client that accepts everything, told as the first version of the contract tells it: updates
and results one after the other, each update with all that its viewer sees.
"""

from __future__ import annotations

from collections.abc import Iterator

from stud.table.v1 import table_service_pb2 as pb

ACCEPTS = (pb.CAPABILITY_RESULT_INLINE, pb.CAPABILITY_BATCH, pb.CAPABILITY_MINE_DELTA)
"""All that the contract offers beyond its first version."""


class Plain:
    """The messages of one stream, from its first on."""

    def __init__(self) -> None:
        self._mine: pb.PrivateView | None = None

    def told_by(self, message: pb.PlayResponse | pb.WatchResponse) -> Iterator[pb.TableUpdate | pb.CommandResult]:
        """Yield what a message says, in order: an update before the result that came with it."""
        for response in message.batch.responses or (message,):
            if isinstance(response, pb.PlayResponse) and response.HasField("result"):
                yield response.result
                continue
            update = response.update
            if update.current:
                self._complete(update)
            yield update
            if update.HasField("result"):
                yield update.result

    def _complete(self, update: pb.TableUpdate) -> None:
        """Put the viewer's own part in where it is left out, since it is as before (CAPABILITY_MINE_DELTA)."""
        if update.HasField("mine"):
            if not update.mine.sitting_no:
                update.ClearField("mine")  # nothing of their own any more
        elif self._mine is not None and not update.reset:
            update.mine.CopyFrom(self._mine)
        self._mine = update.mine if update.HasField("mine") else None
