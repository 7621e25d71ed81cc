"""One cell of a comparison: train, measure on the way, measure the end, or say what failed."""

from __future__ import annotations

import contextlib
import fcntl
import json
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from coevo.agents.agent import Agent
from coevo.agents.load import load_agent
from coevo.agents.sampling import SamplingConfig
from coevo.agents.seated import one_agent, reseed
from coevo.benchmarks.compare.manifest import BASELINES, Manifest, read, short
from coevo.benchmarks.metrics import metric
from coevo.envs.core.errors import CoevoError, DataError
from coevo.trainers.config import TrainConfig
from coevo.trainers.loop import train
from coevo.trainers.run_folder import RunFolder, replace_text, storage

FINAL_SEED = 1_000_000
"""Added to a cell's seed for the last measurement: deals that no point on the way has seen."""
FINAL_GAMES = 10
"""How many times as many plays as on the way."""
Alive = Callable[[], None]
"""Called after every update; raises to stop."""


@dataclass(frozen=True, order=True)
class Cell:
    """One algorithm on one environment from one seed."""

    environment: str
    algorithm: str
    seed: int

    def folder(self, root: Path) -> Path:
        """Give its place in the folder of a comparison."""
        name = self.algorithm.replace(":", "-")
        return root / "cells" / short(self.environment) / name / str(self.seed)

    def __str__(self) -> str:
        return f"{self.algorithm} on {short(self.environment)}, seed {self.seed}"


@dataclass(frozen=True)
class Result:
    """How a cell ended."""

    status: str
    """`done` or `failed`."""
    reason: str = ""
    """Why it failed, in one line."""
    value: float | None = None
    """The environment's metric at the end of the budget."""
    steps: int = 0
    """Updates."""
    tokens: int = 0
    """Sampled tokens."""
    turns: int = 0
    """Turns of environments."""
    seconds: float = 0.0
    """Training time, measurements not counted."""


def cells(manifest: Manifest) -> list[Cell]:
    """List the cells seed by seed, so that an unfinished comparison has whole seeds."""
    return [
        Cell(env, algorithm, seed)
        for seed in manifest.seeds
        for env in manifest.environments
        for algorithm in manifest.algorithms
    ]


def result(root: Path, cell: Cell) -> Result | None:
    """Read how a cell ended; None while it has not."""
    path = cell.folder(root) / "cell.json"
    try:
        return Result(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise DataError(f"{path} is damaged ({error}); remove it to run the cell again") from None


def write_result(root: Path, cell: Cell, found: Result) -> None:
    """Write how a cell ended, in one step."""
    path = cell.folder(root) / "cell.json"
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, json.dumps(asdict(found), indent=2) + "\n")


def run_cell(root: Path, cell: Cell, alive: Alive | None = None) -> Result:
    """Train and measure a cell, continuing it where it was interrupted.

    Args:
        root: folder of a comparison, its manifest written.
        cell: which one.
        alive: called after every update; an exception from it stops the cell, unfinished.

    Raises:
        KeyboardInterrupt: after the current update was finished and saved.
    """
    folder = cell.folder(root)
    folder.mkdir(parents=True, exist_ok=True)
    with only_one(folder):
        before = result(root, cell)
        if before is not None:
            return before
        try:
            found = _carried_out(read(root)[0], root, cell, alive)
        except KeyboardInterrupt:
            raise
        except Exception as error:
            with storage(folder):
                (folder / "error.txt").write_text(traceback.format_exc(), encoding="utf-8")
            found = Result("failed", reason(error))
        write_result(root, cell, found)
        return found


def reason(error: BaseException) -> str:
    """Say an error in one line."""
    text = " ".join(str(error).split())
    name = "" if isinstance(error, CoevoError) and text else type(error).__name__
    return ": ".join(part for part in (name, text) if part)


@contextlib.contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Let one process at a time work in a folder; a process that dies lets go."""
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def train_config(manifest: Manifest, cell: Cell) -> TrainConfig:
    """Give the configuration of a cell's training run."""
    budget = manifest.budgets[cell.environment]
    return TrainConfig(
        algorithm=manifest.record(cell.algorithm, cell.environment),
        env=cell.environment,
        env_options=dict(manifest.env_options),
        model=manifest.model,
        sampling=SamplingConfig(**manifest.sampling),
        seed=cell.seed,
        budget_tokens=budget.get("tokens"),
        budget_turns=budget.get("turns"),
        budget_seconds=budget.get("seconds"),
        probe_points=manifest.points,
        keep_checkpoints=1,
        device=manifest.device,
        threads=manifest.threads,
    )


def _carried_out(manifest: Manifest, root: Path, cell: Cell, alive: Alive | None) -> Result:
    measured = metric(cell.environment, manifest.env_options)

    def probe(policies: Mapping[str, Agent]) -> dict[str, float]:
        agent = one_agent(policies)
        reseed(agent, cell.seed)
        return {measured.name: measured.measure(agent, games=manifest.games, seed=cell.seed)}

    folder = RunFolder(cell.folder(root))
    trained = _baseline if cell.algorithm.startswith(BASELINES) else _algorithm
    agent, progress = trained(manifest, cell, folder, probe, alive)
    seed = FINAL_SEED + cell.seed
    reseed(agent, seed)
    value = measured.measure(agent, games=FINAL_GAMES * manifest.games, seed=seed)
    return Result("done", value=value, **progress)


def _algorithm(
    manifest: Manifest, cell: Cell, folder: RunFolder, probe: Any, alive: Alive | None
) -> tuple[Agent, dict[str, Any]]:
    config = train_config(manifest, cell)
    if not (folder.path / "config.yaml").exists():
        folder.create(config)
    report = None if alive is None else lambda step, metrics, share: alive()
    run = train(config, folder, probes=[probe], report=report)
    done = run.progress
    spent = {
        "steps": done.step,
        "tokens": done.tokens,
        "turns": done.turns,
        "seconds": round(done.seconds, 3),
    }
    return one_agent(run.policies()), spent


def _baseline(
    manifest: Manifest, cell: Cell, folder: RunFolder, probe: Any, alive: Alive | None
) -> tuple[Agent, dict[str, Any]]:
    from coevo.trainers.sb3 import train_sb3  # needs an extra that other cells do without

    budget = manifest.budgets[cell.environment]
    trained = train_sb3(
        cell.algorithm.removeprefix(BASELINES),
        cell.environment,
        folder=folder.path,
        env_options=manifest.env_options,
        seed=cell.seed,
        budget_turns=budget.get("turns"),
        budget_seconds=budget.get("seconds"),
        points=manifest.points,
        probe=lambda agent: probe({"policy": agent}),
        report=None if alive is None else lambda step, metrics, share: alive(),
    )
    done = trained.progress
    spent = {"steps": done.step, "turns": done.turns, "seconds": round(done.seconds, 3)}
    return trained.agent, spent


def start_agent(manifest: Manifest) -> Agent:
    """Load the policy that every cell starts from."""
    return load_agent(
        manifest.model, sampling=SamplingConfig(**manifest.sampling), device=manifest.device
    )
