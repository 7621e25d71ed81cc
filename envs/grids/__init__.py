"""Worlds on a grid, each with a text and an array view of one state."""
