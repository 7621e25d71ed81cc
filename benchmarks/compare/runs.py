"""One run of a comparison: training, measurements on the way and at the end, or the failure."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from coevo.agents.agent import Agent
from coevo.agents.load import load_agent
from coevo.agents.models.seated import one_agent
from coevo.agents.policy import Policy
from coevo.agents.sampling import NEUTRAL, SamplingConfig
from coevo.benchmarks.compare.manifest import BASELINES, KIND, Manifest, read
from coevo.benchmarks.files import read_json, short, within
from coevo.benchmarks.measurement import RATES
from coevo.benchmarks.metrics import metric
from coevo.benchmarks.results_folder import ResultsFolder
from coevo.envs.core.config import read as read_config
from coevo.envs.core.errors import CoevoError, ConfigError, DataError
from coevo.trainers.config import TrainConfig
from coevo.trainers.files import StorageError, storage
from coevo.trainers.loop import updates
from coevo.trainers.run import start
from coevo.trainers.run_folder import RunFolder

FINAL_SEED = 1_000_000
"""Added to a run's seed for the last measurement: starts that no point on the way has seen."""
FINAL_GAMES = 10
"""How many times as many episodes as on the way."""
RESULT = "result.json"
"""File in the folder of a run that says how it ended."""
Alive = Callable[[], None]
"""Called after every update; raises to stop."""


@dataclass(frozen=True, order=True)
class PlannedRun:
    """One algorithm on one environment from one seed."""

    environment: str
    algorithm: str
    seed: int

    def folder(self, root: Path) -> Path:
        name = self.algorithm.replace(":", "-")
        return within(root, "runs", short(self.environment), name, str(self.seed))

    def __str__(self) -> str:
        return f"{self.algorithm} on {short(self.environment)}, seed {self.seed}"


@dataclass(frozen=True)
class RunResult:
    """How a run ended."""

    status: Literal["done", "failed"]
    reason: str = ""
    value: float | None = None
    """The environment's metric at the end of the budget."""
    steps: int = 0
    tokens: int = 0
    turns: int = 0
    seconds: float = 0.0
    """Training time, measurements not counted."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Forfeited, illegal, unread and nearly missed replies at the end, as `measurement.RATES` names
    them."""


def runs(manifest: Manifest) -> list[PlannedRun]:
    """List the runs seed by seed, so that an unfinished comparison has whole seeds."""
    return [
        PlannedRun(env, algorithm, seed)
        for seed in manifest.seeds
        for env in manifest.environments
        for algorithm in manifest.algorithms
    ]


def result(root: Path, run: PlannedRun) -> RunResult | None:
    """Read how a run ended; None while it has not."""
    path = run.folder(root) / RESULT
    if not path.exists():
        return None
    try:
        found: RunResult = read_config(RunResult, read_json(path))
        return found
    except (DataError, ConfigError) as error:
        raise DataError(f"{path} is damaged ({error}); remove it to repeat the run") from None


def results(root: Path, manifest: Manifest) -> dict[PlannedRun, RunResult]:
    pairs = ((run, result(root, run)) for run in runs(manifest))
    return {run: found for run, found in pairs if found is not None}


def write_result(root: Path, run: PlannedRun, found: RunResult) -> None:
    ResultsFolder(run.folder(root), KIND).write(RESULT, asdict(found))


def carry_out(root: Path, run: PlannedRun, alive: Alive | None = None) -> RunResult:
    """Train and measure a run, continuing it where it was interrupted.

    An exception from `alive`, which is called after every update, stops the run, unfinished.
    KeyboardInterrupt is raised after the current update was saved, StorageError where the disk
    refused a write.
    """
    folder = run.folder(root)
    with storage(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with storage(folder), ResultsFolder(folder, KIND).alone(wait=True):
        before = result(root, run)
        if before is not None:
            return before
        try:
            found = _measured(read(root)[0], root, run, alive)
        except (KeyboardInterrupt, StorageError):
            raise  # neither is the algorithm's fault: the run is not finished
        except Exception as error:
            with storage(folder):
                (folder / "error.txt").write_text(traceback.format_exc(), encoding="utf-8")
            found = RunResult("failed", reason(error))
        write_result(root, run, found)
        return found


def reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    name = "" if isinstance(error, CoevoError) and text else type(error).__name__
    return ": ".join(part for part in (name, text) if part)


def train_config(manifest: Manifest, run: PlannedRun) -> TrainConfig:
    budget = manifest.budgets[run.environment]
    return TrainConfig(
        algorithm=manifest.algorithm(run.algorithm, run.environment),
        env=run.environment,
        env_options=dict(manifest.env_options),
        model=manifest.model,
        sampling=SamplingConfig(**{**manifest.sampling, **NEUTRAL}),
        seed=run.seed,
        budget_tokens=budget.get("tokens"),
        budget_turns=budget.get("turns"),
        budget_seconds=budget.get("seconds"),
        probe_points=manifest.points,
        keep_checkpoints=1,
        device=manifest.device,
        threads=manifest.threads,
    )


def _measured(manifest: Manifest, root: Path, run: PlannedRun, alive: Alive | None) -> RunResult:
    measured = metric(run.environment, manifest.env_options)

    def probe(policies: Mapping[str, Agent]) -> dict[str, float | None]:
        agent = _drawing(policies, manifest)
        found = measured.measure(agent, games=manifest.games, seed=run.seed)
        return {measured.name: found.value}

    trained = _baseline if run.algorithm.startswith(BASELINES) else _algorithm
    policies, progress = trained(manifest, run, RunFolder(run.folder(root)), probe, alive)
    games, seed = FINAL_GAMES * manifest.games, FINAL_SEED + run.seed
    found = measured.accompanied(_drawing(policies, manifest), games, seed, manifest.games)
    rates = {name: getattr(found, name) for name in RATES}
    return RunResult("done", value=found.value, rates=rates, **progress)


def _drawing(policies: Mapping[str, Agent], manifest: Manifest) -> Agent:
    how = SamplingConfig(**manifest.sampling)
    if how.filters:
        policies = {
            name: p.drawing(how) if isinstance(p, Policy) else p for name, p in policies.items()
        }
    return one_agent(policies)


def _algorithm(
    manifest: Manifest, run: PlannedRun, folder: RunFolder, probe: Any, alive: Alive | None
) -> tuple[Mapping[str, Agent], dict[str, Any]]:
    config = train_config(manifest, run)
    if not (folder.path / "config.yaml").exists():
        folder.create(config)
    training = start(config, folder)
    for _ in updates(training, [probe]):
        if alive is not None:
            alive()
    done = training.progress
    used = {
        "steps": done.step,
        "tokens": done.tokens,
        "turns": done.turns,
        "seconds": round(done.seconds, 3),
    }
    return training.policies(), used


def _baseline(
    manifest: Manifest, run: PlannedRun, folder: RunFolder, probe: Any, alive: Alive | None
) -> tuple[Mapping[str, Agent], dict[str, Any]]:
    # these need an extra that other runs do without
    from coevo.trainers.sb3.hyperparameters import SB3Config
    from coevo.trainers.sb3.train import SB3Run, sb3_updates

    budget = manifest.budgets[run.environment]
    config = SB3Config(
        algo=run.algorithm.removeprefix(BASELINES),
        env=run.environment,
        env_options=manifest.env_options,
        seed=run.seed,
        budget_turns=budget.get("turns"),
        budget_seconds=budget.get("seconds"),
        probe_points=manifest.points,
    )
    training = SB3Run(config, folder)
    for _ in sb3_updates(training, [probe]):
        if alive is not None:
            alive()
    done = training.progress
    used = {"steps": done.step, "turns": done.turns, "seconds": round(done.seconds, 3)}
    return training.policies(), used


def start_agent(manifest: Manifest) -> Agent:
    return load_agent(
        manifest.model, sampling=SamplingConfig(**manifest.sampling), device=manifest.device
    )
