"""Algorithms side by side: equal budgets, paired seeds, resumable runs, tested differences.

manifest   what is compared, written before anything runs
runs       one algorithm on one environment from one seed: a run folder with a result
workers    runs in parallel, in processes or on Ray
records    every measurement of every run as tidy rows
summary    tables, curves and tests
sentences  the verdict in words
"""
