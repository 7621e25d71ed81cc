"""Artifacts that outlive an update: instructions, formulas, genomes, and where they came from."""
