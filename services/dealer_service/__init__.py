"""The dealer service: the deck and the order of its cards."""

import stud_service  # noqa: F401  (before gRPC: it settles how gRPC runs)
