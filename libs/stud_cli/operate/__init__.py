"""What operators, cashiers and auditors ask of a running system: one file for each family of commands."""
