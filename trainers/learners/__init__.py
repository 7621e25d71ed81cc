"""Parameter sets and how they move: forward passes, the loss of an update, optimiser, copies."""
