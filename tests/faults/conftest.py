"""The fault suite: `make faults`. It is collected only where its marker is asked for."""

import hashlib
import json
import os
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.faults.child import Done, Fault, listing, run

KUHN = "coevo/kuhn_poker-v0"
SMALL = ("--steps", "5", "--no-eval", "--set", "checkpoint_every=2", "probe_every=2")
TABLE = ("--model", "table", *SMALL, "collect.episodes=8")
OPTIMA = ("--model", "table", *SMALL, "collect.episodes=20")
CYCLES = {
    "policy gradient": ("mars", "--model", "{model}", *SMALL, "collect.episodes=8"),
    "table": ("mars", *TABLE),
    "critic": ("ppo", *TABLE),
    "pairs": ("dno", *OPTIMA),
    "demonstrations": ("optima", *OPTIMA),
    "alternation": ("optima", "--variant", "hybrid", *OPTIMA),
    "replay": ("remix", *TABLE),
    "past selves": ("mars", *TABLE, "population={name: pool, every: 2, size: 2}"),
    "adapters": (
        *("mars", "--model", "{model}", *SMALL, "collect.episodes=8"),
        "population={name: adapters, rank: 2, frozen: [player_0]}",
    ),
}
"""Kind of cycle -> what `coevo train` is told."""
TOLD: dict[str, Counter] = {}
"""Kind of fault -> how often it was injected, and how often everything promised held."""


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return None if "faults" in (config.option.markexpr or "") else True


def pytest_terminal_summary(terminalreporter) -> None:
    if TOLD:
        terminalreporter.section("faults")
        for kind, count in TOLD.items():
            terminalreporter.line(f"{kind:<28} {count['held']:>4} of {count['injected']:>4} held")
        total = sum(TOLD.values(), Counter())
        terminalreporter.line(f"{'all':<28} {total['held']:>4} of {total['injected']:>4} held")


@pytest.fixture(autouse=True)
def _quiet_forks() -> Iterator[None]:
    """A child runs its command alone: threads of this process are none of its business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


@pytest.fixture(scope="session", autouse=True)
def _loaded() -> None:
    """Import once what every child needs."""
    import torch
    import transformers  # noqa: F401 - imported for the children

    from coevo.commands import train  # noqa: F401 - as above

    torch.set_num_threads(1)
    os.environ.pop("COEVO_TRACEBACK", None)


@pytest.fixture
def rng(fault_seed, request) -> np.random.Generator:
    """Chooses moments, files and bytes."""
    return np.random.default_rng([fault_seed, *request.node.name.encode()])


@pytest.fixture
def fault():
    """Return a function that notes a fault and whether the promises held."""

    def note(kind: str, held: bool, what: object = "") -> None:
        count = TOLD.setdefault(kind, Counter())
        count["injected"] += 1
        count["held"] += held
        if not held:
            problems.append(f"{kind}: {what}")

    problems: list[str] = []
    yield note
    assert not problems, "\n".join(problems)


class Calm:
    """An undisturbed run."""

    def __init__(self, folder: Path, done: Done, changes: list[str]) -> None:
        self.folder, self.seconds, self.changes = folder, done.seconds, changes
        self.ends = ends(folder)


@pytest.fixture(scope="session")
def words(tiny_model_dir):
    """Return a function that gives the command of a kind of cycle."""

    def of(cycle: str, folder: Path) -> list[str]:
        own = [w.replace("{model}", str(tiny_model_dir)) for w in CYCLES[cycle]]
        return ["train", *own, "--env", KUHN, "--max-new-tokens", "3", "--out", str(folder)]

    return of


@pytest.fixture(scope="session")
def calm(words, tmp_path_factory):
    """Return a function that gives the undisturbed run of a kind of cycle."""
    found: dict[str, Calm] = {}

    def of(cycle: str) -> Calm:
        if cycle not in found:
            root = tmp_path_factory.mktemp("calm")
            noted = listing(root / "run", root / "changes")
            done = run(words(cycle, root / "run"), root, noted)
            assert done.status == 0, done.err
            changes = (root / "changes").read_text().splitlines()
            found[cycle] = Calm(root / "run", done, changes)
        return found[cycle]

    return of


def newest(folder: Path) -> Path:
    """Return the newest checkpoint of a run."""
    found = (p.parent for p in folder.glob("checkpoints/step_*/manifest.json"))
    return max(p for p in found if p.name[5:].isdecimal())


def ends(folder: Path) -> dict[str, object]:
    """Return what a run ends with: weights, state, counters and metrics; no times."""
    last = newest(folder)
    found: dict[str, object] = {}
    for path in sorted(p for p in last.rglob("*") if p.is_file()):
        if path.name not in ("manifest.json", "progress.json"):
            name = str(path.relative_to(last))
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    progress = json.loads((last / "progress.json").read_text())
    found["progress"] = {k: v for k, v in progress.items() if k != "seconds"}
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    for number, line in enumerate(lines):
        for key, value in json.loads(line).items():
            if "second" not in key:
                found[f"metrics {number} {key}"] = value
    return found


def goes_on(folder: Path, again: list[str], *more: str, fault: Fault | None = None) -> Done:
    """Continue a run, or begin it where the fault came before it was there."""
    begun = (folder / "config.yaml").exists()
    command = ["train", "--resume", str(folder), "--no-eval", *more] if begun else again
    return run(command, folder.parent / "again", fault)
