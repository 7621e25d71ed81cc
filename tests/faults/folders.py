"""Damages every file of a run's folder, and says which command took it for what it was."""

import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests import damage
from tests.faults.child import Done
from tests.faults.conftest import ends
from tests.faults.cycles import KUHN
from tests.faults.results import timeless

SMALL = ("--steps", "2", "--no-eval", "--set", "collect.episodes=8", "checkpoint_every=1")
KINDS = {
    "table": ("mars", "--model", "table", *SMALL),
    "network": ("iql", "--model", "net:hidden=8", *SMALL),
    "adapters": (
        *("mars", "--model", "{model}", "--max-new-tokens", "3", *SMALL),
        *("population={name: adapters, rank: 2}",),
    ),
}
"""Kind of run -> what `coevo train` is told."""
COMMANDS = {
    "resume": ("train", "--resume", "{run}", "--steps", "3", "--no-eval"),
    "report": ("report", "{run}"),
    "evaluate": ("evaluate", "--agent", "{run}", "--env", KUHN, "--games", "4", "--json"),
    "play": ("play", "--agent", "{run}", "--env", KUHN, "--seed", "1"),
}
"""What is done with the folder afterwards."""
NO_SEAL = ("config.yaml", "metrics.jsonl", "summary.json", "episodes.jsonl.seals.json")
"""Files without a hash: a damaged one that is still valid holds other numbers."""


class Case(NamedTuple):
    """A file of a run, and what happens to it."""

    file: Path
    harm: damage.Damage


Call = Callable[[list[str]], Done]
"""Carries a command line out."""


def made(kind: str, model: Path, folder: Path) -> list[str]:
    """Return the command that makes a run of a kind."""
    words = [w.replace("{model}", str(model)) for w in KINDS[kind]]
    return ["train", *words, "--env", KUHN, "--out", str(folder)]


def cases(run: Path) -> list[Case]:
    """Return every file of a run with everything that may happen to it."""
    files = [p for p in sorted(run.rglob("*")) if p.is_file() and p.suffix != ".lock"]
    return [Case(p.relative_to(run), harm) for p in files for harm in damage.of_file(p)]


def result_of(command: str, run: Path, call: Call) -> tuple[Done, object]:
    """Carry a command out; return how it ended, and its result without times and paths."""
    sys.stdin = io.StringIO("1\n" * 20)
    try:
        done = call([w.replace("{run}", str(run)) for w in COMMANDS[command]])
    finally:
        sys.stdin = sys.__stdin__
    if done.status:
        return done, None
    if command == "resume":
        return done, {k: v for k, v in ends(run).items() if not k.startswith("metrics")}
    if command == "evaluate":
        return done, timeless(json.loads(done.out.replace(str(run), "RUN")))
    return done, done.out.replace(str(run), "RUN") if command == "play" else None


def fault_of(case: Case, command: str, whole: Path, calm: object, work: Path, call: Call) -> str:
    """Return what a command did wrong with a copy of a run in which one file is damaged."""
    run = Path(shutil.copytree(whole, work))
    case.harm.do(run / case.file)
    done, result = result_of(command, run, call)
    shutil.rmtree(run)
    said = f"{case.file} {case.harm.name}: {command}: {done!r}"
    if done.status:
        right = done.status in (1, 2) and done.one_line and case.file.name in done.err
        return "" if right else said
    flipped = case.file.name in NO_SEAL and not case.harm.whole
    lost = case.harm.whole and (case.file.name, command) == ("metrics.jsonl", "resume")
    told = not lost or case.file.name in done.out
    return "" if told and (flipped or result == calm) else f"in silence: {said}"
