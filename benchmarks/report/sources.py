"""The contents of a folder: a run, a comparison or a tournament, and its episodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coevo.benchmarks.files import as_table, read_if_there, read_json, short, within
from coevo.envs.core.config import read_tree
from coevo.envs.core.errors import DataError, nearest

EXPECTED = "a run (config.yaml), or a comparison or a tournament (manifest.json with its kind)"
LIMITS = {
    "steps": ("step", "updates"),
    "budget_tokens": ("total_tokens", "tokens"),
    "budget_turns": ("total_turns", "turns"),
    "budget_seconds": ("total_seconds", "seconds"),
}
"""Limit of a configuration -> the metric that approaches it, and its unit."""


@dataclass(frozen=True)
class ReportedRun:
    """The run folder of one algorithm on one environment from one seed in a comparison."""

    path: Path
    environment: str
    algorithm: str
    seed: int
    result: Mapping[str, Any] = field(default_factory=dict)
    """Status, reason and what was used; empty while the run is not done."""

    @property
    def name(self) -> str:
        return f"{self.algorithm} on {self.environment}, seed {self.seed}"


def kind(folder: Path) -> str:
    """Return what a folder holds: `run`, `comparison` or `tournament`."""
    if not folder.is_dir():
        near = [folder.parent / name for name in nearest(folder.name, beside(folder))]
        hint = f"; did you mean {' or '.join(map(str, near))}?" if near else ""
        raise DataError(f"no folder {folder}{hint}; expected {EXPECTED}")
    if (folder / "manifest.json").is_file():
        named = read_json(folder / "manifest.json").get("kind")
        if named in ("comparison", "tournament"):
            return str(named)
        raise DataError(f"{folder / 'manifest.json'} is of kind {named!r}; expected {EXPECTED}")
    if (folder / "config.yaml").is_file():
        return "run"
    inside = [p.parent for n in ("config.yaml", "manifest.json") for p in folder.glob(f"*/{n}")]
    hint = f"; there is one in {sorted(inside)[0]}" if inside else ""
    raise DataError(f"{folder} is not {EXPECTED}{hint}")


def beside(folder: Path) -> list[str]:
    parent = folder.parent
    return [p.name for p in parent.iterdir() if p.is_dir()] if parent.is_dir() else []


def read_config(folder: Path) -> dict[str, Any]:
    """Read `config.yaml` as plain values: a run of another version is shown, too."""
    path = folder / "config.yaml"
    return as_table(read_tree(path), path)


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Return place and content of every whole line of a file, one at a time.

    A last line without an end is still being written, or was cut by a kill: it is left out.
    """
    if not path.is_file():
        return
    with path.open("rb") as file:
        place = 0
        for line in file:
            if line.endswith(b"\n"):
                yield place, line
            place += len(line)


def runs(folder: Path, manifest: Mapping[str, Any]) -> list[ReportedRun]:
    """List every run that a comparison has planned, done or not, in the manifest's order."""
    return [
        _run(folder, short(env), str(algorithm), seed)
        for env in manifest.get("environments", ())
        for algorithm in manifest.get("algorithms", ())
        for seed in manifest.get("seeds", ())
    ]


def _run(folder: Path, env: str, algorithm: str, seed: int) -> ReportedRun:
    path = within(folder, "runs", env, algorithm.replace(":", "-"), str(seed))
    return ReportedRun(path, env, algorithm, seed, read_if_there(path / "result.json"))
