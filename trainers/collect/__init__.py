"""Episodes from policies: which tasks are played, who sits where, and what it was worth."""
