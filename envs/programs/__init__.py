"""Runs programs that agents and models write: two tiers of a sandbox, whose verdicts are data."""
