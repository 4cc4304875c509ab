"""Cards that a recorded hand does not tell: drawn where some fit, proven impossible where none can."""
