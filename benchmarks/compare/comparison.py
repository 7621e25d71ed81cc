"""Run a comparison, or continue one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from coevo.benchmarks.compare.manifest import KIND, Manifest, read, write
from coevo.benchmarks.compare.runs import (
    FINAL_GAMES,
    FINAL_SEED,
    RESULT,
    PlannedRun,
    RunResult,
    results,
    runs,
    start_agent,
)
from coevo.benchmarks.compare.summary import summarise
from coevo.benchmarks.compare.workers import WHERE
from coevo.benchmarks.metrics import metric
from coevo.benchmarks.results_folder import ResultsFolder
from coevo.envs.core.errors import ConfigError
from coevo.trainers.checkpoint import set_aside
from coevo.trainers.run_folder import RunFolder

Ended = Callable[[PlannedRun, RunResult, int, int], None]
"""Told after every run: which, how, how many have ended, how many there are."""


def prepare(root: Path, manifest: Manifest | None) -> tuple[Manifest, dict[str, Any]]:
    """Write the manifest of a new comparison, or read that of one to be continued.

    Raises:
        ConfigError: the folder holds a comparison with other settings.
    """
    if manifest is not None:
        write(root, manifest, lambda: measured(manifest))
    return read(root)


def measured(manifest: Manifest) -> dict[str, Any]:
    """Return for every environment what is measured, and where the start model stands."""
    start = start_agent(manifest)
    out = {}
    for env in manifest.environments:
        found = metric(env, manifest.env_options)
        if found.references is None:
            raise ConfigError(f"{env} cannot be compared: {found.source}")
        value = found.measure(start, FINAL_GAMES * manifest.games, FINAL_SEED).value
        out[env] = {
            "metric": found.name,
            "higher_is_better": found.higher_is_better,
            "references": {**found.references._asdict(), "start": value},
        }
    return out


def compare(
    root: Path,
    manifest: Manifest | None = None,
    *,
    workers: int = 0,
    on: str = "processes",
    retry: bool = False,
    ended: Ended = lambda run, result, count, total: None,
) -> dict[str, Any]:
    """Carry every run out that has no result yet, and return the tables.

    The folder may hold a part of it; without a manifest what is there is continued. `workers` 0 is
    one per `threads` CPU cores, `on` a key of WHERE. KeyboardInterrupt is raised after every run in
    progress has saved itself.
    """
    plan, facts = prepare(root, manifest)
    with ResultsFolder(root, KIND).alone(wait=True):
        if retry:
            forget_failures(root, plan)
        found = results(root, plan)
        todo = [run for run in runs(plan) if run not in found]
        number = workers or max(1, (os.cpu_count() or 1) // plan.threads)
        if todo:
            done = enumerate(WHERE[on](root, todo, number, plan.threads), start=len(found) + 1)
            for count, (run, result) in done:
                ended(run, result, count, len(found) + len(todo))
        return summarise(root, plan, facts)


def forget_failures(root: Path, manifest: Manifest) -> None:
    """Remove the results of failed runs, which continue from what they saved and is whole."""
    for run, result in results(root, manifest).items():
        if result.status == "failed":
            set_aside(RunFolder(run.folder(root)).checkpoints)
            (run.folder(root) / RESULT).unlink()


def share_of_budget(manifest: Manifest, summary: Mapping[str, Any]) -> dict[str, float]:
    """Return environment -> largest overshoot of a budget in tokens, as a share of it."""
    out = {}
    for env in manifest.environments:
        tokens = manifest.budgets[env].get("tokens")
        algorithms = summary["environments"][env]["algorithms"].values()
        used = [t["tokens"] for t in algorithms if t["tokens"]]
        if tokens and used:
            out[env] = max(used) / tokens - 1
    return out


def check_on(on: str, workers: int) -> None:
    if on not in WHERE:
        raise ConfigError(f"--on {on!r} must be one of {', '.join(WHERE)}")
    if workers < 0:
        raise ConfigError(f"--workers {workers} must be 0 or more")
