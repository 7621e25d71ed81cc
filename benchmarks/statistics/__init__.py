"""Estimators, intervals, tests and ratings behind compare, tournament and evaluate.

Pure functions of arrays; randomness comes in as a numpy Generator. Undefined is NaN or an error.

    scores of runs   normalise, score_table, aggregates, bootstrap, profiles, curves
    differences      paired (one pair), verdicts (a family, Holm), power (seeds needed)
    questions        samples (pass@k), votes (maj@k), errors (clusters, proportions)
    games            cross_play, bradley_terry, elo, plackett_luce, alpha_rank (on stationary),
                     response_graph and adaptive (which games to play), nash_averaging
    series           generations, adaptability, social
"""
