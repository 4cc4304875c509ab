"""The table service: seats, hands, turns, pots."""

import stud_service  # noqa: F401  (before gRPC: it settles how gRPC runs)
