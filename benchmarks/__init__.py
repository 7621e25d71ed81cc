"""What is measured: evaluation, comparison, exploitability, throughput."""
