"""From results of runs to tables, curves, tests and sentences: `comparison.json`.

Scores are normalised by the fixed references of each environment: 0 is random play, 1 the oracle.
Differences are tested on normalised scores paired by seed. The pairs of one table, which is one
environment or all of them together, are one family for Holm's correction; the headline reads the
table over all environments alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coevo.benchmarks.compare.manifest import KIND, Manifest
from coevo.benchmarks.compare.records import Row, rows, write_rows
from coevo.benchmarks.compare.runs import PlannedRun, RunResult, results, runs
from coevo.benchmarks.compare.sentences import ALPHA, headline
from coevo.benchmarks.measurement import RATES
from coevo.benchmarks.results_folder import ResultsFolder, plain
from coevo.benchmarks.statistics import verdicts
from coevo.benchmarks.statistics.aggregates import (
    interquartile_mean,
    mean,
    median,
    optimality_gap,
)
from coevo.benchmarks.statistics.arrays import Array
from coevo.benchmarks.statistics.bootstrap import Interval, bootstrap_interval
from coevo.benchmarks.statistics.curves import area_under_curve, curve_band, on_grid
from coevo.benchmarks.statistics.profiles import profile_band
from coevo.benchmarks.statistics.score_table import Score, ScoreTable, score_table

GRID = 21
THRESHOLDS = 41
OVERALL = "overall"
CURVES_BY = ("tokens", "turns", "seconds")
"""Budgets along which curves may be drawn, the preferred one first."""


def summarise(root: Path, manifest: Manifest, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Write rows and tables of what is done so far, and return the tables.

    The same runs give the same tables, whatever order they ended in.
    """
    found = results(root, manifest)
    table = list(rows(root, manifest, facts["metrics"], found))
    write_rows(root, table)
    summary: dict[str, Any] = plain(tables(manifest, facts["metrics"], table, found))
    ResultsFolder(root, KIND).write("comparison.json", summary)
    return summary


def tables(
    manifest: Manifest,
    metrics: Mapping[str, Any],
    table: Sequence[Row],
    found: Mapping[PlannedRun, RunResult],
) -> dict[str, Any]:
    scores = {env: _scores(manifest, table, [env]) for env in manifest.environments}
    if len(manifest.environments) > 1:
        scores[OVERALL] = _scores(manifest, table, manifest.environments)
    tests = _tests(manifest, scores)
    parts = {
        name: _part(name, manifest, table, found, scores[name], tests[name]) for name in scores
    }
    for env in manifest.environments:
        parts[env] |= metrics[env]
    overall = parts.pop(OVERALL, parts[manifest.environments[0]])
    summary = {
        "kind": "comparison",
        "runs": len(runs(manifest)),
        "done": sum(r.status == "done" for r in found.values()),
        "environments": parts,
        "overall": overall,
    }
    return {"headline": headline(manifest, summary, found), **summary}


def _scores(
    manifest: Manifest, table: Sequence[Row], environments: Sequence[str]
) -> ScoreTable | None:
    """Line up final scores; a seed that one algorithm lacks is left out for all."""
    final = {
        (r["algorithm"], r["environment"], r["seed"]): r["normalised"]
        for r in table
        if r["kind"] == "absolute" and r["environment"] in environments
    }
    if not final:
        return None
    names = [a for a in manifest.algorithms if any(k[0] == a for k in final)]
    given = [
        Score(a, env, seed, final.get((a, env, seed), math.nan))
        for a in names
        for env in environments
        for seed in manifest.seeds
    ]
    return score_table(given)


def _tests(
    manifest: Manifest, scores: Mapping[str, ScoreTable | None]
) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for name, table in scores.items():
        pairs = list(itertools.combinations(table.scores if table else (), 2))
        rng = np.random.default_rng([len(found), 1])
        made = verdicts.compare_all(table, pairs, rng, alpha=ALPHA) if table and pairs else []
        found[name] = [_comparison(c) for c in made]
    return found


def _comparison(c: verdicts.Comparison) -> dict[str, Any]:
    return {
        "a": c.first,
        "b": c.second,
        "difference": c.interval.point,
        "interval": [c.interval.low, c.interval.high],
        "p": c.p,
        "p_adjusted": c.p_adjusted,
        "d_z": c.effect.d_z,
        "correlation": c.effect.correlation,
        "improvement": c.improvement.point,
        "improvement_interval": [c.improvement.low, c.improvement.high],
        "family": c.family,
        "n": c.interval.runs,
        "separated": c.separated,
        "seeds_needed": c.seeds_needed,
        "verdict": c.verdict,
    }


def _part(
    name: str,
    manifest: Manifest,
    table: Sequence[Row],
    found: Mapping[PlannedRun, RunResult],
    scores: ScoreTable | None,
    tests: list[dict[str, Any]],
) -> dict[str, Any]:
    environments = manifest.environments if name == OVERALL else (name,)
    algorithms: dict[str, Any] = {}
    curves = {e: _curves(manifest, table, e, scores.seeds if scores else ()) for e in environments}
    for algorithm in manifest.algorithms:
        own = {c: r for c, r in found.items() if c.algorithm == algorithm}
        own = {c: r for c, r in own.items() if c.environment in environments}
        algorithms[algorithm] = _used(own) | _quality(algorithm, scores)
        if len(environments) == 1:
            algorithms[algorithm] |= _values(table, algorithm, name)
            algorithms[algorithm] |= _area(curves[name], algorithm)
    return {
        "algorithms": algorithms,
        "dropped_seeds": list(scores.dropped) if scores else [],
        "profile": _profile(scores),
        "curve": _curve(curves[name]) if len(environments) == 1 else None,
        "comparisons": tests,
    }


def _used(own: Mapping[PlannedRun, RunResult]) -> dict[str, Any]:
    done = [r for r in own.values() if r.status == "done"]
    failed = [
        {"seed": c.seed, "environment": c.environment, "reason": r.reason}
        for c, r in sorted(own.items())
        if r.status != "done"
    ]
    used = {
        k: _mean([getattr(r, k) for r in done]) for k in ("steps", "tokens", "turns", "seconds")
    }
    rates = {k: _mean([r.rates[k] for r in done if k in r.rates]) for k in RATES}
    return {"done": len(done), "failed": failed, **used, **rates}


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _quality(algorithm: str, scores: ScoreTable | None) -> dict[str, Any]:
    """Return the aggregates of normalised scores over the seeds that all algorithms have."""
    if scores is None or algorithm not in scores.scores:
        return {"n": 0}
    x_RT = scores.scores[algorithm]
    middle = bootstrap_interval(x_RT, interquartile_mean, np.random.default_rng([len(x_RT), 2]))
    return {
        "n": len(x_RT),
        "iqm": middle.point,
        "interval": _bounds(middle),
        "mean": float(mean(x_RT)),
        "median": float(median(x_RT)),
        "optimality_gap": float(optimality_gap(x_RT)),
        "scores": x_RT.mean(-1).tolist(),
    }


def _values(table: Sequence[Row], algorithm: str, env: str) -> dict[str, Any]:
    final = sorted(
        (r["seed"], r["value"])
        for r in table
        if r["kind"] == "absolute" and r["algorithm"] == algorithm and r["environment"] == env
    )
    return {"seeds": [s for s, _ in final], "values": [v for _, v in final]}


def _bounds(interval: Interval) -> list[float]:
    return [interval.low, interval.high]


def _profile(scores: ScoreTable | None) -> dict[str, Any] | None:
    if scores is None:
        return None
    every = np.concatenate([x.ravel() for x in scores.scores.values()])
    thresholds = np.linspace(min(0.0, every.min()), max(1.0, every.max()), THRESHOLDS)
    out = {}
    for name, x_RT in scores.scores.items():
        band = profile_band(x_RT, thresholds, np.random.default_rng([len(x_RT), 3]))
        out[name] = {"share": band.point, "low": band.low, "high": band.high}
    return {"thresholds": thresholds, "algorithms": out}


# ---- Curves -------------------------------------------------------------------------------------


def _curves(
    manifest: Manifest, table: Sequence[Row], env: str, seeds: Sequence[int]
) -> dict[str, Any] | None:
    """Put the curves of one environment on a grid: up to the budget that every run reached."""
    own = [r for r in table if r["kind"] == "curve" and r["environment"] == env]
    runs: dict[tuple[str, int], list[Row]] = {}
    for row in own:
        if row["seed"] in seeds:
            runs.setdefault((row["algorithm"], row["seed"]), []).append(row)
    by = next((k for k in CURVES_BY if runs and all(r[-1][k] for r in runs.values())), None)
    if by is None:
        return None
    grid = np.linspace(0.0, min(r[-1][by] for r in runs.values()), GRID)
    lines = {key: on_grid(*_increasing(run, by), grid) for key, run in runs.items()}
    names = [a for a in manifest.algorithms if any(k[0] == a for k in lines)]
    scores = {a: np.array([lines[a, s] for s in seeds])[:, None, :] for a in names}
    return {"by": by, "grid": grid, "scores": scores}


def _increasing(run: Sequence[Row], by: str) -> tuple[Array, Array]:
    """Return budgets and scores of a run without points that lie on one budget."""
    at = np.array([row[by] for row in run], dtype=float)
    keep = np.concatenate([[True], np.diff(at) > 0])
    return at[keep], np.array([row["normalised"] for row in run])[keep]


def _area(curves: Mapping[str, Any] | None, algorithm: str) -> dict[str, Any]:
    if curves is None or algorithm not in curves["scores"]:
        return {}
    area_R = area_under_curve(curves["grid"], curves["scores"][algorithm][:, 0, :])
    interval = bootstrap_interval(area_R[:, None], mean, np.random.default_rng([len(area_R), 4]))
    return {"auc": interval.point, "auc_interval": _bounds(interval)}


def _curve(curves: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if curves is None:
        return None
    out = {}
    for name, scores in curves["scores"].items():
        band = curve_band(scores, np.random.default_rng([len(scores), 5]))
        out[name] = {"iqm": band.point, "low": band.low, "high": band.high}
    return {"by": curves["by"], curves["by"]: curves["grid"], "algorithms": out}
