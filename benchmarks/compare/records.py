"""Every measurement of every run as one tidy row: JSON lines, and Parquet where pyarrow is.

One row per run and measurement: `environment, algorithm, seed, kind, step, tokens, turns, seconds,
metric, value, normalised`. `kind` is `curve` on the way and `absolute` at the end. pandas reads the
files as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from coevo.benchmarks.compare.manifest import Manifest
from coevo.benchmarks.compare.runs import PlannedRun, RunResult, runs
from coevo.benchmarks.statistics.normalise import normalise
from coevo.envs.core.errors import DataError
from coevo.trainers.files import replace_text, storage
from coevo.trainers.run_folder import RunFolder

Row = dict[str, Any]


def rows(
    root: Path,
    manifest: Manifest,
    metrics: Mapping[str, Any],
    found: Mapping[PlannedRun, RunResult],
) -> Iterator[Row]:
    """Return the measurements of all runs that are done."""
    for run in runs(manifest):
        done = found.get(run)
        if done is None or done.value is None:
            continue
        measured = metrics[run.environment]
        lines = _logged(run.folder(root), done.steps)
        points = [line for line in lines if measured["metric"] in line]
        if not points or points[0]["step"] > 0:  # it began as the start model did
            yield _row(run, measured, "curve", measured["references"]["start"], {})
        for line in points:
            used = {
                "step": line["step"],
                "tokens": line.get("total_tokens", 0),
                "turns": line.get("total_turns", 0),
                "seconds": line.get("total_seconds", 0.0),
            }
            yield _row(run, measured, "curve", line[measured["metric"]], used)
        used = {name: getattr(done, name) for name in ("tokens", "turns", "seconds")}
        yield _row(run, measured, "absolute", done.value, {"step": done.steps, **used})


def _logged(folder: Path, steps: int) -> list[Row]:
    """Return what a finished run has logged, one line per update.

    Raises:
        DataError: some of it is missing, so that a curve would have other points.
    """
    found = RunFolder(folder)
    lines = found.read_metrics()
    logged = [line["step"] for line in lines if line["step"]]  # 0 is before the first
    if logged != list(range(1, steps + 1)):
        raise DataError(
            f"{found.metrics} is damaged: it should hold the updates 1 to {steps}, each once; "
            f"remove {folder} to repeat the run"
        )
    return lines


def _row(
    run: PlannedRun, measured: Mapping[str, Any], kind: str, value: float, used: Mapping[str, Any]
) -> Row:
    refs = measured["references"]
    return {
        "environment": run.environment,
        "algorithm": run.algorithm,
        "seed": run.seed,
        "kind": kind,
        "step": 0,
        "tokens": 0,
        "turns": 0,
        "seconds": 0.0,
        **used,
        "metric": measured["metric"],
        "value": float(value),
        "normalised": float(normalise(value, refs["random"], refs["oracle"])),
    }


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
    with storage(path):
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(table)), work)
        work.replace(path)
