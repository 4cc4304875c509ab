"""The edge: what browsers talk to. It hands calls on to the services and decides nothing."""

import stud_service  # noqa: F401  (before gRPC: it settles how gRPC runs)
