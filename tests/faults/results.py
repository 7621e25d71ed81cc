"""Commands whose results are kept in a folder: comparisons, tournaments, evaluations."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.faults.child import Command, Done, Fault, both, forked, listing, run
from tests.faults.cycles import KUHN

COMPARISON = (
    *("compare", "--algos", "reinforce,mars", "--env", KUHN, "--model", "table", "--points", "2"),
    *("--games", "2", "--budget-tokens", "60", "--device", "cpu", "--set", "collect.episodes=8"),
)
TOURNAMENT = ("tournament", "--agents", "random,oracle,first_legal", "--env", KUHN, "--games", "40")
EVALUATION = ("evaluate", "--games", "2", "--agent", "random")
KINDS = {
    "comparison": (*COMPARISON, "--seeds", "1", "--workers", "1"),
    "comparison in parallel": (*COMPARISON, "--seeds", "2", "--workers", "2"),
    "tournament": TOURNAMENT,
    "adaptive tournament": (*TOURNAMENT, "--adaptive"),
    "suite": (*EVALUATION, "--suite", "mars-heldout"),
    "scenarios": (*EVALUATION, "--scenario", "all"),
    "axis": (*EVALUATION, "--axis", "partners"),
    "generations": ("evaluate", "--games", "2", "--generations", "{run}"),
}
"""Kind of results -> the command without its folder."""
ALL_OF = [pytest.param(kind, marks=pytest.mark.xdist_group(kind)) for kind in KINDS]
NO_TABLES = ("manifest.json", "report.html")
TIMED = ("second", "usage", "mtime")


class Whole:
    """Results of a command that nobody disturbed."""

    def __init__(self, folder: Path, done: Done, changes: list[str]) -> None:
        self.folder, self.seconds, self.changes = folder, done.seconds, changes
        self.tables = tables(folder)


def of_kind(kind: str, folder: Path, **given: Path) -> list[str]:
    """Return the command that makes or continues the results in a folder."""
    words = [w.format(**given) if w[0] == "{" and w[-1] == "}" else w for w in KINDS[kind]]
    return [*words, "--out", str(folder)]


def undisturbed(command: Command, folder: Path, place: Path) -> Whole:
    """Return the results of a command in a folder."""
    done = run(command, place, both(forked, listing(folder, place / "changes")))
    assert done.status == 0, done
    return Whole(folder, done, (place / "changes").read_text().splitlines())


def disturbed(command: Command, place: Path, *faults: Fault) -> Done:
    """Carry a command out whose workers are forks, with faults."""
    return run(command, place, both(forked, *faults))


def tables(folder: Path) -> dict[str, Any]:
    """Return everything in a folder that is a result; no times."""
    found: dict[str, Any] = {}
    for path in sorted(p for p in folder.iterdir() if p.is_file()):
        if path.suffix == ".json" and path.name not in NO_TABLES:
            found[path.name] = timeless(json.loads(path.read_text()))
        elif path.name == "records.jsonl":
            lines = [timeless(json.loads(line)) for line in path.read_text().splitlines()]
            found[path.name] = sorted(map(str, lines))
    return found


def timeless(value: Any) -> Any:
    """Leave times and costs out."""
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if not any(word in k for word in TIMED)}
        return {k: timeless(v) for k, v in kept.items()}
    return [timeless(v) for v in value] if isinstance(value, list) else value


def unlike(folder: Path, whole: Whole) -> list[str]:
    """Name the files that differ from those of the undisturbed command."""
    try:
        found = tables(folder)
    except (OSError, ValueError) as error:
        return [repr(error)]
    names = sorted({*found, *whole.tables})
    return [n for n in names if found.get(n) != whole.tables.get(n)]
