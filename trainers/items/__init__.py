"""What is learnt from: trajectories of seats, and the token sequences that hold their responses."""
