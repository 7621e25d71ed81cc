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

from tests.faults.child import Command, Done, Fault, both, listing, noted, run
from tests.faults.cycles import KUHN as KUHN
from tests.faults.cycles import command

TOLD: dict[str, Counter] = {}
"""Kind of fault -> how often it was injected, and how often everything promised held."""


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return None if "faults" in (config.option.markexpr or "") else True


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown":  # what a test has noted comes from whichever process ran it
        for kind, held in (pair for name, pair in report.user_properties if name == "fault"):
            count = TOLD.setdefault(kind, Counter())
            count["injected"] += 1
            count["held"] += held


def pytest_terminal_summary(terminalreporter) -> None:
    if TOLD:
        terminalreporter.section("faults")
        for kind, count in sorted(TOLD.items()):
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
    import torch._dynamo  # which the first optimiser imports, in every child
    import transformers.modeling_utils  # noqa: F401 - imported for the children

    from coevo import __main__  # noqa: F401 - as above
    from coevo.commands import compare, evaluate, tournament, train  # noqa: F401 - as above

    torch.set_num_threads(1)
    os.environ.pop("COEVO_TRACEBACK", None)


@pytest.fixture
def rng(fault_seed, request) -> np.random.Generator:
    """Chooses moments, files and bytes."""
    return np.random.default_rng([fault_seed, *request.node.name.encode()])


@pytest.fixture
def fault(request):
    """Return a function that notes a fault and whether the promises held."""

    def note(kind: str, held: bool, what: object = "") -> None:
        request.node.user_properties.append(("fault", (kind, bool(held))))
        if not held:
            problems.append(f"{kind}: {what}")

    problems: list[str] = []
    yield note
    assert not problems, "\n".join(problems)


class Calm:
    """An undisturbed run."""

    def __init__(self, folder: Path, done: Done, changes: list[str], moments: list[str]) -> None:
        self.folder, self.seconds = folder, done.seconds
        self.changes, self.moments = changes, moments
        self.ends = ends(folder)


@pytest.fixture(scope="session")
def words(tiny_model_dir):
    """Return a function that gives the command of a kind of cycle."""
    return lambda cycle, folder: command(cycle, tiny_model_dir, folder)


@pytest.fixture(scope="session")
def calm(words, tmp_path_factory):
    """Return a function that gives the undisturbed run of a kind of cycle."""
    found: dict[str, Calm] = {}

    def of(cycle: str) -> Calm:
        if cycle not in found:
            root = tmp_path_factory.mktemp("calm")
            seen = both(listing(root / "run", root / "changes"), noted(root / "moments"))
            done = run(words(cycle, root / "run"), root, seen)
            assert done.status == 0, done.err
            lists = [(root / name).read_text().splitlines() for name in ("changes", "moments")]
            found[cycle] = Calm(root / "run", done, *lists)
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


def goes_on(folder: Path, again: Command, *more: str, fault: Fault | None = None) -> Done:
    """Continue a run, or begin it where the fault came before it was there."""
    begun = (folder / "config.yaml").exists() and not callable(again)
    command = ["train", "--resume", str(folder), "--no-eval", *more] if begun else again
    return run(command, folder.parent / "again", fault)
