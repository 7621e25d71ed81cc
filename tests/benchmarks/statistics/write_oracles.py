"""Write oracles.json: what rliable and cvxpy compute for tables of random numbers.

rliable 1.2.0 imports with pandas below 3 only and brings arch, seaborn and statsmodels; cvxpy
brings four solvers. So they are no test dependencies. In an environment of their own:

    pip install rliable==1.2.0 "pandas<3" cvxpy==1.9.3 open_spiel==2.0.2 numpy==2.4.6
    python write_oracles.py oracles.json
"""

import json
import sys
from importlib.metadata import version

import numpy as np
from open_spiel.python.algorithms import nash_averaging
from rliable import library, metrics

PACKAGES = ("rliable", "arch", "pandas", "scipy", "numpy", "open_spiel", "cvxpy", "clarabel")
REPLICATES = 20_000


def score_case(rng, runs, others, tasks):
    x = rng.normal(0.6, 0.3, size=(runs, tasks)).round(2)  # rounded, so that there are ties
    y = rng.normal(0.5, 0.3, size=(others, tasks)).round(2)
    taus = np.linspace(-0.2, 1.4, 9)
    aggregates = {
        "iqm": metrics.aggregate_iqm,
        "mean": metrics.aggregate_mean,
        "median": metrics.aggregate_median,
        "optimality_gap": metrics.aggregate_optimality_gap,
    }

    def all_aggregates(scores):
        return np.array([f(scores) for f in aggregates.values()])

    np.random.seed(7)  # noqa: NPY002 - rliable draws from it, whatever random_state it is given
    _, bounds = library.get_interval_estimates({"x": x}, all_aggregates, reps=REPLICATES)
    pairs = {"x,y": (x, y)}
    _, improvement = library.get_interval_estimates(
        pairs, metrics.probability_of_improvement, reps=REPLICATES // 10
    )
    profile, bands = library.create_performance_profile({"x": x}, taus, reps=2000)
    average, _ = library.create_performance_profile(
        {"x": x}, taus, use_score_distribution=False, reps=10
    )
    return {
        "x": x.tolist(),
        "y": y.tolist(),
        "aggregates": {name: float(f(x)) for name, f in aggregates.items()},
        "bounds": dict(zip(aggregates, np.asarray(bounds["x"]).T.tolist(), strict=True)),
        "improvement": float(metrics.probability_of_improvement(x, y)),
        "improvement_bounds": np.ravel(improvement["x,y"]).tolist(),
        "taus": taus.tolist(),
        "run_profile": np.asarray(profile["x"]).tolist(),
        "profile_bounds": np.asarray(bands["x"]).tolist(),
        "task_profile": np.asarray(average["x"]).tolist(),
    }


def agents_case(rng, size, scale):
    a = rng.normal(size=(size, size)) * scale
    a = a - a.T
    weights = np.ravel(nash_averaging._max_entropy_symmetric_nash(a))
    return {"payoffs": a.tolist(), "weights": weights.tolist(), "skill": (a @ weights).tolist()}


def tasks_case(rng, agents, tasks):
    scores = rng.random((agents, tasks))
    (pa, pe), (skill, difficulty) = nash_averaging.nash_averaging_avt_matrix(scores)
    return {
        "scores": scores.tolist(),
        "agents": np.ravel(pa).tolist(),
        "tasks": np.ravel(pe).tolist(),
        "skill": np.ravel(skill).tolist(),
        "difficulty": np.ravel(difficulty).tolist(),
    }


def main(path):
    rng = np.random.default_rng(2026)
    oracles = {
        "versions": {name: version(name) for name in PACKAGES},
        "replicates": REPLICATES,
        "scores": [score_case(rng, *shape) for shape in ((4, 4, 3), (10, 7, 5), (3, 5, 1))],
        "agents": [agents_case(rng, size, scale) for size, scale in ((3, 1), (5, 3), (8, 0.2))],
        "tasks": [tasks_case(rng, agents, tasks) for agents, tasks in ((3, 4), (6, 5))],
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(oracles, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
