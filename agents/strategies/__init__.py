"""Scripted players: strategies, experts, and solutions of small games."""
