"""Which services there are, and what each of them writes and reads: `services`, the one table of it."""
