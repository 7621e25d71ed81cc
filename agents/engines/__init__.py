"""Engines: from prompts of token ids to sampled tokens with their log-probabilities."""
