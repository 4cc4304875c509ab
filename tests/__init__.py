"""The proof: one folder per kind of test. Shared helpers are imported as tests.<folder>.<module>."""
