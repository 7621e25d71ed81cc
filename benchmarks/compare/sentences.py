"""The findings of a comparison in words: only the corrected test makes one better."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from coevo.benchmarks.compare.manifest import Manifest
from coevo.benchmarks.compare.runs import PlannedRun, RunResult
from coevo.benchmarks.files import short
from coevo.benchmarks.statistics.paired import smallest_p

ALPHA = 0.05
"""Accepted chance of any false separation in a table."""


def headline(
    manifest: Manifest, summary: Mapping[str, Any], found: Mapping[PlannedRun, RunResult]
) -> list[str]:
    """Say what was found: the best first, then what separates it from whom."""
    said = []
    left = summary["runs"] - len(found)
    failed = sum(r.status == "failed" for r in found.values())
    if left or failed:
        said.append(f"{left} of {summary['runs']} runs are not done, {failed} failed.")
    overall = summary["overall"]
    ranked = sorted(
        (a for a, t in overall["algorithms"].items() if t["n"]),
        key=lambda a: -overall["algorithms"][a]["iqm"],
    )
    if not ranked:
        return [*said, "No algorithm has a result for any seed that all the others have."]
    best = overall["algorithms"][ranked[0]]
    first, *others = manifest.environments
    where = "over all environments" if others else f"on {short(first)}"
    said.append(
        f"{ranked[0]} has the highest interquartile mean {where}: {best['iqm']:.3f}"
        f"{_bracketed(best['interval'])}, n = {best['n']} seeds (0 is random play, 1 the oracle)."
    )
    tests = overall["comparisons"]
    said.append(_too_few_seeds(len(tests), best["n"]))
    said += [
        _standing(ranked[0], tests, "the best"),
        _standing(manifest.baseline, tests, "the baseline"),
    ]
    return [sentence for sentence in said if sentence]


def _bracketed(interval: Sequence[float]) -> str:
    """Write bounds, where there are any: one seed says nothing about others."""
    low, high = interval
    return "" if math.isnan(low) else f" [{low:.3f}, {high:.3f}]"


def _too_few_seeds(pairs: int, seeds: int) -> str:
    """Say where so few seeds were run that the test could not have found anything."""
    if not pairs or smallest_p(seeds) * pairs <= ALPHA:
        return ""
    enough = next(n for n in itertools.count(seeds) if smallest_p(n) * pairs <= ALPHA)
    return (
        f"With {seeds} seeds no difference can pass the test, corrected for {pairs} pairs; "
        f"{enough} seeds is the least that could."
    )


def _standing(name: str, tests: Sequence[Mapping[str, Any]], role: str) -> str:
    better: list[str] = []
    worse: list[str] = []
    open_: list[str] = []
    for test in tests:
        if name not in (test["a"], test["b"]):
            continue
        other = test["b"] if test["a"] == name else test["a"]
        ahead = (test["difference"] > 0) == (test["a"] == name)
        (open_ if not test["separated"] else better if ahead else worse).append(other)
    parts = [
        f"better than {', '.join(better)}" if better else "",
        f"worse than {', '.join(worse)}" if worse else "",
        f"not separated from {', '.join(open_)}" if open_ else "",
    ]
    said = "; ".join(p for p in parts if p)
    return f"{name}, {role}, is {said} (paired sign-flip test, Holm)." if said else ""
