"""Ports of this machine that stay ours between the lives of the processes that listen on them."""

from __future__ import annotations

import os
import socket
import sys
import weakref

HOST = "127.0.0.1"


class Port:
    """A port that nobody else is given as long as this object lives.

    One that was free a moment ago may be a stranger's when our process gets round to listening on it, and the stranger
    answers when ours is asked whether it is healthy. So the port is bound here and never listened on; a process that
    is told its number may listen, since both sides say SO_REUSEADDR (which gRPC and the log's server do).
    """

    def __init__(self, number: int = 0) -> None:
        """Takes the port of that number, or any free one. Raises OSError when it is in use."""
        holder = socket.socket()
        try:
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.bind((HOST, number))
            self.number: int = holder.getsockname()[1]
        except OSError:
            holder.close()
            raise
        if sys.platform == "linux":
            weakref.finalize(self, os.close, holder.detach())
        else:  # elsewhere our own process would be kept from it too
            holder.close()

    @property
    def address(self) -> str:
        """host:port, as a client is told it."""
        return f"{HOST}:{self.number}"
