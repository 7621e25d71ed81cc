"""What is measured: evaluation, exploitability, algorithms at equal tokens."""
