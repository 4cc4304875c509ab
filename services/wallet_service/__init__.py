"""The wallet service: the double-entry ledger."""
