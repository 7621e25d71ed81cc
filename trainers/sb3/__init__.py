"""Learners of stable-baselines3 as baselines on the same environments."""
