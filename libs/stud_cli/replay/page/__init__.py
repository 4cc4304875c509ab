"""``stud replay --html``: hands as one page that needs nothing else, for players and whoever answers them."""
