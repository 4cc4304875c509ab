"""The dealer service: the deck and the order of its cards."""
