"""The wallet service: the double-entry ledger."""

import stud_service  # noqa: F401  (before gRPC: it settles how gRPC runs)
