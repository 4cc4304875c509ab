"""Recorded hands: read, followed and judged by the rules alone. Knows no service, no log and no clock."""
