"""Small comparisons: one that is made up, one that is really run."""

import json

import pytest

from coevo.benchmarks.compare.manifest import Manifest, write
from coevo.benchmarks.compare.runs import PlannedRun, RunResult, write_result
from coevo.trainers.run_folder import RunFolder

KUHN, TTT = "coevo/kuhn_poker-v0", "coevo/tic_tac_toe-v0"
METRICS = {
    KUHN: {
        "metric": "exploitability",
        "higher_is_better": False,
        "references": {"random": 11 / 24, "oracle": 0.0, "start": 0.275},
    },
    TTT: {
        "metric": "return_vs_oracle",
        "higher_is_better": True,
        "references": {"random": -0.875, "oracle": 0.0, "start": -0.7},
    },
}
FACTS = {"metrics": METRICS, "commit": None}


def read_rows(root):
    """Return the measurements of a comparison."""
    return [json.loads(line) for line in (root / "records.jsonl").read_text().splitlines()]


def plan(**fields) -> Manifest:
    given = {
        "algorithms": ("mars", "grpo"),
        "environments": (KUHN,),
        "seeds": tuple(range(6)),
        "budgets": {KUHN: {"tokens": 1000}, TTT: {"tokens": 1000}},
        "baseline": "mars",
        "sampling": {"max_new_tokens": 16},
    }
    return Manifest(**(given | fields))


def made_up(root, manifest, value, *, points=4):
    """Write a comparison whose run (algorithm, environment, seed) ends at `value(run)`."""
    write(root, manifest, lambda: {e: METRICS[e] for e in manifest.environments})
    for env in manifest.environments:
        for name in manifest.algorithms:
            for seed in manifest.seeds:
                run = PlannedRun(env, name, seed)
                end = value(run)
                if end is None:
                    continue
                start = METRICS[env]["references"]["start"]
                folder = RunFolder(run.folder(root))
                folder.path.mkdir(parents=True)
                for p in range(1, points + 1):
                    at = start + (end - start) * p / points
                    spent = {"total_tokens": 250 * p, "total_turns": 90 * p, "total_seconds": p}
                    folder.log(p, {METRICS[env]["metric"]: at, **spent})
                write_result(
                    root, run, RunResult("done", "", end, points, 250 * points, 90 * points, points)
                )


@pytest.fixture
def six(tmp_path):
    """Return a comparison in which grpo is better than mars for every one of six seeds."""
    manifest = plan()
    made_up(
        tmp_path,
        manifest,
        lambda c: 0.01 * c.seed + (0.05 if c.algorithm == "grpo" else 0.15),
    )
    return tmp_path, manifest
