"""Carry a comparison out, or the rest of one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from coevo.agents.seated import reseed
from coevo.benchmarks.compare.cells import (
    FINAL_GAMES,
    FINAL_SEED,
    Cell,
    Result,
    cells,
    only_one,
    start_agent,
)
from coevo.benchmarks.compare.manifest import Manifest, check_same, read, write
from coevo.benchmarks.compare.records import results
from coevo.benchmarks.compare.summary import summarise
from coevo.benchmarks.compare.workers import WHERE
from coevo.benchmarks.metrics import metric
from coevo.envs.core.errors import ConfigError

Ended = Callable[[Cell, Result, int, int], None]
"""Told after every cell: which, how, how many have ended, how many there are."""


def prepare(root: Path, manifest: Manifest | None) -> tuple[Manifest, dict[str, Any]]:
    """Write the manifest of a new comparison, or read that of one to be continued.

    Args:
        root: folder of the comparison.
        manifest: the plan; None continues what is there.

    Raises:
        ConfigError: the folder holds a comparison with other settings.
    """
    if (root / "manifest.json").exists() or manifest is None:
        found, facts = read(root)
        if manifest is not None:
            check_same(found, manifest, root)
        return found, facts
    write(root, manifest, measured(manifest))
    return read(root)


def measured(manifest: Manifest) -> dict[str, Any]:
    """Say for every environment what is measured, and where the start model stands."""
    start = start_agent(manifest)
    out = {}
    for env in manifest.environments:
        found = metric(env, manifest.env_options)
        if found.references is None:
            raise ConfigError(f"{env} cannot be compared: {found.source}")
        reseed(start, FINAL_SEED)
        value = found.measure(start, games=FINAL_GAMES * manifest.games, seed=FINAL_SEED)
        out[env] = {
            "metric": found.name,
            "higher_is_better": found.higher_is_better,
            "references": {
                "random": found.references.random,
                "oracle": found.references.oracle,
                "start": value,
            },
        }
    return out


def compare(
    root: Path,
    manifest: Manifest | None = None,
    *,
    workers: int = 0,
    on: str = "processes",
    retry: bool = False,
    ended: Ended | None = None,
) -> dict[str, Any]:
    """Run every cell that has no result yet, and give the tables.

    Args:
        root: folder of the comparison; it may hold a part of it.
        manifest: the plan; None continues what is there.
        workers: cells at a time; 0 for one per `threads` CPU cores.
        on: key of WHERE.
        retry: run cells again that failed.
        ended: told after every cell.

    Raises:
        KeyboardInterrupt: after every running cell has saved itself.
    """
    plan, facts = prepare(root, manifest)
    with only_one(root):
        if retry:
            forget_failures(root, plan)
        found = results(root, plan)
        todo = [cell for cell in cells(plan) if cell not in found]
        number = workers or max(1, (os.cpu_count() or 1) // plan.threads)
        if todo:
            for count, (cell, result) in enumerate(
                WHERE[on](root, todo, number, plan.threads), start=len(found) + 1
            ):
                if ended is not None:
                    ended(cell, result, count, len(found) + len(todo))
        return summarise(root, plan, facts)


def forget_failures(root: Path, manifest: Manifest) -> None:
    """Remove the results of failed cells; their runs continue from what they saved."""
    for cell, result in results(root, manifest).items():
        if result.status == "failed":
            (cell.folder(root) / "cell.json").unlink()


def share_of_budget(manifest: Manifest, summary: Mapping[str, Any]) -> dict[str, float]:
    """Give for every environment the largest overshoot of a budget in tokens, as a share of it."""
    out = {}
    for env in manifest.environments:
        tokens = manifest.budgets[env].get("tokens")
        used = [
            t["tokens"] for t in summary["environments"][env]["algorithms"].values() if t["tokens"]
        ]
        if tokens and used:
            out[env] = max(used) / tokens - 1
    return out


def check_on(on: str, workers: int) -> None:
    """Refuse what cannot be run before anything is written."""
    if on not in WHERE:
        raise ConfigError(f"--on {on!r} must be one of {', '.join(WHERE)}")
    if workers < 0:
        raise ConfigError(f"--workers {workers} must be 0 or more")
