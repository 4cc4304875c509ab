"""The table service: seats, hands, turns, pots."""
