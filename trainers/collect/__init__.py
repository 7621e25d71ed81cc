"""Episodes from policies: which tasks are played, by which agents, and with which rewards."""
