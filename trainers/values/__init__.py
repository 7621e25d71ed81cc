"""Learning the values of moves from replayed transitions: independent, summed, mixed."""
