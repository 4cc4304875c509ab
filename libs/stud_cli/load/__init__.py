"""``stud load``: bots over the public API, what they measured, and whether it was poker."""
