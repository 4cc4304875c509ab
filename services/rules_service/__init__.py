"""The rules service: the referee that certifies finished hands."""

import stud_service  # noqa: F401  (before gRPC: it settles how gRPC runs)
