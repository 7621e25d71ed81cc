"""Estimators, intervals, tests and ratings behind compare, tournament and evaluate.

Pure functions of arrays; randomness comes in as a numpy Generator. Undefined is NaN or an error.
SciPy and OpenSpiel do the computing where they give the figure.

    scores of runs   normalise, score_table, aggregates, bootstrap, profiles, curves
    differences      paired (one pair), improvement, verdicts (a family, Holm), power (seeds needed)
    questions        samples (pass@k, maj@k), standard_errors (clusters of questions)
    games            cross_play, bradley_terry, alpha_rank, nash_averaging, response_graph
    series           generations, adaptability
"""
