"""What every service shell shares: settings, logging, interceptors, feed reader, health, start and stop.

Importing any module of this package settles how gRPC runs, before gRPC is loaded; see below.
"""

import importlib
import os
import sys

# gRPC reads both once, while it is being imported; later it is too late. A value that is there already wins.
# * Its EventEngine off: with asyncio the old poller carries a fifth more messages (measured: 3 900 to 4 200 actions/s
#   through streams instead of 3 200).
# * Its C core silent: it writes plain text to standard error, which is for our JSON lines. What matters of it comes
#   back as status codes and exceptions anyway.
GRPC_EXPERIMENTS = "-event_engine_client,-event_engine_listener"
GRPC_CAME_FIRST = "grpc" in sys.modules and "GRPC_EXPERIMENTS" not in os.environ
os.environ.setdefault("GRPC_EXPERIMENTS", GRPC_EXPERIMENTS)
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

# structlog loads rich, where it is installed, to draw tracebacks in a terminal. Our lines are JSON: without it a
# process starts with a tenth less of work.
if "rich" not in sys.modules:
    sys.modules["rich"] = None  # type: ignore[assignment]  # as if it were not installed
    try:
        importlib.import_module("structlog")
    finally:
        del sys.modules["rich"]
