"""Every measurement of every cell as one tidy row: JSON lines, and Parquet where pyarrow is.

One row per cell and measurement: `environment, algorithm, seed, kind, step, tokens, turns, seconds,
metric, value, normalised`. `kind` is `curve` on the way and `absolute` at the end. pandas reads the
files as they are; `to_marl_eval` gives the nesting that marl-eval wants, `to_rliable` the arrays of
rliable.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coevo.benchmarks.compare.cells import Cell, Result, cells, result
from coevo.benchmarks.compare.manifest import Manifest
from coevo.benchmarks.statistics.arrays import Array
from coevo.benchmarks.statistics.normalise import normalise
from coevo.envs.core.errors import DataError
from coevo.trainers.run_folder import RunFolder, replace_text, storage

Row = dict[str, Any]
"""One measurement."""


def rows(
    root: Path, manifest: Manifest, metrics: Mapping[str, Any], found: Mapping[Cell, Result]
) -> Iterator[Row]:
    """Give the measurements of all cells that are done.

    Args:
        root: folder of the comparison.
        manifest: the plan.
        metrics: environment -> what is measured, as the manifest has it.
        found: results of cells.
    """
    for cell in cells(manifest):
        done = found.get(cell)
        if done is None or done.value is None:
            continue
        measured = metrics[cell.environment]
        lines = RunFolder(cell.folder(root)).read_metrics()
        points = [line for line in lines if measured["metric"] in line]
        if not points or points[0]["step"] > 0:  # it began as the start model did
            yield _row(cell, measured, "curve", measured["references"]["start"], {})
        for line in points:
            spent = {
                "step": line["step"],
                "tokens": line.get("total_tokens", 0),
                "turns": line.get("total_turns", 0),
                "seconds": line.get("total_seconds", 0.0),
            }
            yield _row(cell, measured, "curve", line[measured["metric"]], spent)
        spent = {
            "step": done.steps,
            "tokens": done.tokens,
            "turns": done.turns,
            "seconds": done.seconds,
        }
        yield _row(cell, measured, "absolute", done.value, spent)


def _row(
    cell: Cell, measured: Mapping[str, Any], kind: str, value: float, spent: Mapping[str, Any]
) -> Row:
    refs = measured["references"]
    return {
        "environment": cell.environment,
        "algorithm": cell.algorithm,
        "seed": cell.seed,
        "kind": kind,
        "step": 0,
        "tokens": 0,
        "turns": 0,
        "seconds": 0.0,
        **spent,
        "metric": measured["metric"],
        "value": float(value),
        "normalised": float(normalise(value, refs["random"], refs["oracle"])),
    }


def results(root: Path, manifest: Manifest) -> dict[Cell, Result]:
    """Read the results of all cells that have one."""
    pairs = ((cell, result(root, cell)) for cell in cells(manifest))
    return {cell: found for cell, found in pairs if found is not None}


def write_rows(root: Path, table: Sequence[Row]) -> None:
    """Write `records.jsonl`, and `records.parquet` where pyarrow is installed."""
    with storage(root):
        replace_text(root / "records.jsonl", "".join(json.dumps(row) + "\n" for row in table))
        try:
            import pyarrow
            import pyarrow.parquet
        except ModuleNotFoundError:
            return
        path = root / "records.parquet"
        work = path.with_suffix(".tmp")
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(table)), work)
        work.replace(path)


def read_rows(root: Path) -> list[Row]:
    """Read `records.jsonl`."""
    try:
        text = (root / "records.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {root / 'records.jsonl'}: {error}") from None


def to_rliable(table: Sequence[Row]) -> dict[str, Array]:
    """Give the final normalised scores as rliable takes them: algorithm -> [runs, tasks].

    Raises:
        DataError: some run lacks a task: rliable has no place for a hole.
    """
    final = [row for row in table if row["kind"] == "absolute"]
    seeds = sorted({row["seed"] for row in final})
    tasks = list(dict.fromkeys(row["environment"] for row in final))
    score = {(r["algorithm"], r["seed"], r["environment"]): r["normalised"] for r in final}
    names = list(dict.fromkeys(row["algorithm"] for row in final))
    try:
        return {a: np.array([[score[a, s, t] for t in tasks] for s in seeds]) for a in names}
    except KeyError as error:
        raise DataError(f"no result for {error.args[0]}") from None


def to_marl_eval(table: Sequence[Row], suite: str = "coevo") -> dict[str, Any]:
    """Nest records as marl-eval reads them: suite -> task -> algorithm -> run -> step.

    marl-eval wants equal steps in every run: the points of a curve are counted, and `step_count`
    is the number of sampled tokens.
    """
    nested: dict[str, Any] = {}
    for row in table:
        task = nested.setdefault(suite, {}).setdefault(row["environment"], {})
        run = task.setdefault(row["algorithm"], {}).setdefault(f"seed_{row['seed']}", {})
        if row["kind"] == "absolute":
            run["absolute_metrics"] = {row["metric"]: [row["value"]]}
        else:
            point = {"step_count": row["tokens"], row["metric"]: [row["value"]]}
            run[f"step_{sum(k.startswith('step_') for k in run)}"] = point
    return nested
