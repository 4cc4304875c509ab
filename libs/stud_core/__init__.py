"""Functional core: the rules of seven-card stud as pure functions over immutable values."""
