"""Kinds of cycle that whole runs go through: commands, and small runs of reproductions."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from coevo.agents.population import MakePolicy
from coevo.benchmarks.reproductions import claim
from coevo.benchmarks.reproductions.claims import derl_formulas
from coevo.benchmarks.reproductions.run import prepared
from coevo.trainers import loop
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.algorithms import algorithm
from coevo.trainers.algorithms.two_level import cycle as two_level
from coevo.trainers.config import TrainConfig
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.samplers.evolve import Evolve
from coevo.trainers.steps import Every, InnerRun

KUHN, DILEMMA = "coevo/kuhn_poker-v0", "coevo/iterated_game-v0"
SMALL = ("--steps", "5", "--no-eval", "--set", "checkpoint_every=2", "probe_every=2")
TABLE = ("--model", "table", *SMALL, "collect.episodes=8")
OPTIMA = ("--model", "table", *SMALL, "collect.episodes=20")
MODEL = ("--model", "{model}", *SMALL, "collect.episodes=8")
TOLD = {
    "policy gradient": ("mars", *MODEL),
    "table": ("mars", *TABLE),
    "critic": ("ppo", *TABLE),
    "pairs": ("dno", *OPTIMA),
    "pairs by win rates": ("sppo", *OPTIMA),
    "demonstrations": ("optima", *OPTIMA),
    "a teacher": ("on_policy_distillation", "--variant", "past_self", *TABLE),
    "alternation": ("optima", "--variant", "hybrid", *OPTIMA),
    "replay": ("remix", *TABLE),
    "replay of the good": ("spear", *TABLE),
    "past selves": ("mars", *TABLE, "population={name: past_selves, every: 2, size: 2}"),
    "adapters": ("mars", *MODEL, "population={name: adapters, rank: 2, frozen: [player_0]}"),
    "played ahead": ("mars", *MODEL, "collect.staleness=2", "loss.is_correction={name: token_tis}"),
    "a reward that is fitted": ("spa", *TABLE),
    "imitation": ("sft", *MODEL),
    "values of moves": ("iql", "--model", "net:hidden=8", *SMALL, "collect.episodes=8"),
}
"""Kind of cycle -> what `coevo train` is told."""


class Small(NamedTuple):
    """A small run."""

    algorithm: Algorithm
    env: object
    maker: MakePolicy | None = None
    options: dict[str, object] | None = None
    steps: int = 5

    @property
    def config(self) -> TrainConfig:
        """Return all its settings."""
        return TrainConfig(
            algorithm=self.algorithm,
            env=self.env,  # type: ignore[arg-type]  # a mapping is read
            env_options={"prompt_style": "terse", **(self.options or {})},
            model="table",
            steps=self.steps,
            checkpoint_every=2,
            probe_every=2,
            device="cpu",
            threads=1,
        )


def _often(made: Algorithm) -> Algorithm:
    """Take what is rarely done in the third update and in every second one after it."""
    quick = [replace(s, updates=2, first=1) if isinstance(s, Every) else s for s in made.cycle]
    return replace(made, cycle=tuple(quick))


def _environments() -> Small:
    env = {KUHN: 3, DILEMMA: {"weight": 1, "options": {"rounds": 2}, "skill": "trust"}}
    curriculum = Evolve(warmup=1)
    changes = {"collect.episodes": 8, "collect.group_size": 2, "collect.curriculum": curriculum}
    return Small(algorithm("reinforce", None, changes), env)


def _arm(name: str, arm: str, **changes: object) -> Small:
    """Return the run of an arm of a claim, with changes of the algorithm."""
    one = claim(name)
    made = replace(one.arms[arm], changes={**one.arms[arm].changes, **changes})
    config, maker = prepared(one.world, made, 0, one.changes)
    return Small(_often(config.algorithm), config.env, maker, dict(config.env_options))


def _designer() -> Small:
    return _arm("paired_corridor", "paired", **{"collect.episodes": 8})


def _planner() -> Small:
    changes = {"collect.episodes": 8, "cycle": two_level(2), "optim.warmup": 0}
    options = {"rate_steps": 4, "hour_steps": 4}
    return Small(algorithm("two_level", None, changes), "coevo/tax_economy-v0", options=options)


def _roles() -> Small:
    return _arm("cory_exchange", "exchange", **{"collect.episodes": 16})


def _judge() -> Small:
    return _arm("cooper_hack", "fast")


def _evolution() -> Small:
    return _arm("essa_spectrum", "essa")


def _instructions() -> Small:
    return _arm("inspo_procedure", "full")


def _rubrics() -> Small:
    return _arm("mpo_rubric", "mpo")


def _inner() -> Small:
    step = next(s for s in algorithm("derl").cycle if isinstance(s, InnerRun))
    given = {
        "optim.lr": 0.1,
        "optim.warmup": 0,
        "cycle.inner_run.env": derl_formulas.ENV,
        "cycle.inner_run.env_options": derl_formulas.ANSWERS,
        "cycle.inner_run.steps": 3,
        "cycle.inner_run.checkpoint_every": 1,
        "cycle.inner_run.tasks": 8,
        "cycle.inner_run.changes": {**step.changes, **derl_formulas.INNER},
    }
    return Small(algorithm("derl", None, given), derl_formulas.ENV, steps=3)


SMALL_RUNS: dict[str, Callable[[], Small]] = {
    "environments and a curriculum": _environments,
    "a designer and two rivals": _designer,
    "a planner from the third update on": _planner,
    "roles that are exchanged": _roles,
    "a judge that learns": _judge,
    "evolution": _evolution,
    "instructions that are rewritten": _instructions,
    "rubrics that are rewritten": _rubrics,
    "inner runs": _inner,
}
"""Kind of cycle -> what makes a small run."""
CYCLES = (*TOLD, *SMALL_RUNS)


ALL_OF = [pytest.param(c, marks=pytest.mark.xdist_group(c)) for c in CYCLES]
"""The same, each kept by one of the processes that test."""


def command(cycle: str, model: Path, folder: Path) -> Sequence[str] | Callable[[], int]:
    """Return what trains a run in a folder, or goes on with it where it is one of `SMALL_RUNS`."""
    if cycle in SMALL_RUNS:
        return lambda: _trained(SMALL_RUNS[cycle](), RunFolder(folder))
    own = [w.replace("{model}", str(model)) for w in TOLD[cycle]]
    return ["train", *own, "--env", KUHN, "--max-new-tokens", "3", "--out", str(folder)]


def _trained(small: Small, folder: RunFolder) -> int:
    if not (folder.path / "config.yaml").exists():
        folder.create(small.config)
    loop.finish(loop.start(small.config, folder, small.maker))
    return 0
