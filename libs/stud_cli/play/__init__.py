"""``stud play`` and ``stud watch``: a table on a terminal, for whoever plays and for whoever looks on."""
