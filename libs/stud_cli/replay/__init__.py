"""``stud replay``: a table as it was, one picture, a range of steps, a difference, or a screen to walk about in."""
