"""Reward modules and the ways to compose them."""
