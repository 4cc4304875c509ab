"""What the logs say, read without asking a service: proofs, sums, tables as they were, messages that wait."""
