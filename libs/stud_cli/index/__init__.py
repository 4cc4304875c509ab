"""``stud hands``: hands over all tables, found by what is public. An index beside the log, never the truth."""
