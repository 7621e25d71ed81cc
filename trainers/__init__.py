"""Who learns: the training loop, its samplers and its checkpoints."""
