"""The functional core of the double-entry ledger."""
