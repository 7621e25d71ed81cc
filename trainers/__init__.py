"""Training: the loop, its samplers and its checkpoints."""
