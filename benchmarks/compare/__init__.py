"""Algorithms side by side: equal budgets, paired seeds, resumable cells, tested differences.

manifest   what is compared, written before anything runs
cells      one algorithm on one environment from one seed: a run folder with a result
workers    cells in parallel, in processes or on Ray
records    every measurement of every cell as tidy rows
summary    tables, curves, tests and the verdict in words
"""
