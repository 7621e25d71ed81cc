"""Arms that the shipped loop trains: in a world, from a seed, in a folder that is then gone."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from coevo.agents.agent import Agent
from coevo.agents.policy import Policy
from coevo.agents.population import MakePolicy
from coevo.agents.table import Rows, Table, TabularPolicy
from coevo.benchmarks.reproductions.taught import Taught
from coevo.benchmarks.rollouts import task_seeds
from coevo.envs import make
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.algorithms import algorithm
from coevo.trainers.collect.rollout import EpisodeSpec, rollout
from coevo.trainers.config import TrainConfig
from coevo.trainers.loop import UpdateResult, updates
from coevo.trainers.run import Run, output_policy, start
from coevo.trainers.run_folder import RunFolder

QUICKLY = {
    "critic.lr": 0.2,
    "optim.warmup": 0,
    "optim.epochs": 1,
    "optim.minibatches": 1,
}
"""Settings of PPO for a table: one plain step per update, a critic that follows at once."""
SGD = {"optim.optimiser": "sgd", "optim.warmup": 0, "optim.grad_norm": 1e9}
"""Plain gradient steps, as tables take them."""
PLAIN = {**SGD, "rewards": ()}
"""Those on the payoff of the environment alone."""
ADAM = {"optim.beta2": 0.999, "optim.warmup": 0, "optim.grad_norm": 1e9}
"""Steps of Adam with the decays of its paper, from the first update on and of any length."""
NETS = {
    "rewards": (),
    "critic.lr": 1e-2,
    "optim.lr": 3e-3,
    "optim.warmup": 0,
    "optim.minibatches": 4,
}
"""Settings of `turn_ppo` for small networks on the payoff of the environment alone."""
NEVER = 10**9
"""Updates between what a claim does not look at."""


@dataclass(frozen=True)
class World:
    """Where the arms of a claim are trained, and for how long."""

    env: str
    steps: int | None = None
    """Updates; None where `settings` limits the run."""
    options: Mapping[str, Any] | Callable[[int], Mapping[str, Any]] = field(default_factory=dict)
    """Arguments of the environment, beside the terse style of prompts; a function of the seed where
    every seed is a problem of its own."""
    maker: Callable[[int], MakePolicy] | None = None
    """Seed -> what makes the policies, where they are no plain tables."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of the run, such as `model` and `threads`."""
    taught: Taught | None = None
    """The pretrained model that all arms start from, in the place of `settings["model"]`."""
    begin: Callable[[Run], Any] | None = None
    watch: Callable[[Run, UpdateResult], Any] | None = None
    """Looks at the run after every update; see `Trained.seen`."""


@dataclass(frozen=True)
class Arm:
    """One way of training in the world of a claim."""

    algorithm: str
    """`name` or `name:variant`."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the environment, on top of those of the world."""
    edit: Callable[[Algorithm, int], Algorithm] | None = None
    """Changes the algorithm, for a seed, where dotted settings cannot."""
    world: World | None = None
    """Where it is trained, if that is not the claim's world."""
    maker: Callable[[int], MakePolicy] | None = None
    """As of the world, in its place."""
    steps: int | None = None
    """As of the world, in its place; 0 trains nothing."""
    once: bool = False
    """Whether it runs with the first seed alone."""


@dataclass(frozen=True)
class Trained:
    """An arm after training; its folder still stands."""

    run: Run
    seed: int
    log: list[Mapping[str, Any]]
    seen: list[Any]
    """What `World.watch` returned after every update."""

    def first(self, name: str) -> float:
        return float(self.log[0].get(name, 0.0))

    def last(self, count: int, name: str) -> float:
        """Return the mean of a metric over the last updates; where it was not logged it is 0."""
        return fmean(float(update.get(name, 0.0)) for update in self.log[-count:])

    def policy(self, name: str = "policy") -> Policy:
        """Return the policy of a parameter set as it is handed out at the end."""
        return output_policy(self.run.learners[name])

    def learnt(self, name: str = "policy") -> dict[str, Tensor]:
        """Return what the table of a parameter set has learnt."""
        return learnt(self.policy(name))


def configured(arm: Arm, seed: int, changes: Mapping[str, Any] | None = None) -> Algorithm:
    name, _, variant = arm.algorithm.partition(":")
    made = algorithm(name, variant or None, {**(changes or {}), **arm.changes})
    return made if arm.edit is None else arm.edit(made, seed)


def prepared(
    world: World,
    arm: Arm,
    seed: int,
    changes: Mapping[str, Any] | None = None,
    steps: int | None = None,
) -> tuple[TrainConfig, MakePolicy | None]:
    """Return the configuration of a run, and what makes its policies where they are no plain table.

    `changes` are below those of the arm; `steps` None takes those of the arm or of the world.
    """
    world, maker = arm.world or world, arm.maker or (arm.world or world).maker
    options = world.options(seed) if callable(world.options) else world.options
    usual: dict[str, Any] = {
        "model": "table",
        "checkpoint_every": NEVER,
        "probe_every": NEVER,
        "episodes_logged": 0,
        "device": "cpu",
    }
    for given in (world.steps, arm.steps, steps):
        usual |= {} if given is None else {"steps": given or 1}
    options = {"prompt_style": "terse", **options, **arm.options}
    if world.taught is not None:
        usual |= world.taught.settings(world.env, options, seed)
    config = TrainConfig(
        algorithm=configured(arm, seed, changes),
        env=world.env,
        env_options=options,
        **{**usual, **world.settings, "seed": seed},
    )
    return config, maker and maker(seed)


@contextmanager
def trained(
    world: World,
    arm: Arm,
    seed: int,
    changes: Mapping[str, Any] | None = None,
    steps: int | None = None,
) -> Iterator[Trained]:
    """Train an arm with a seed in a folder that goes at the end; see `prepared`."""
    config, maker = prepared(world, arm, seed, changes, steps)
    still = 0 in (steps, arm.steps if steps is None else steps)
    with tempfile.TemporaryDirectory() as name:
        folder = RunFolder(Path(name) / "run")
        folder.create(config)
        run = start(config, folder, maker)
        world = arm.world or world
        if world.begin is not None:
            world.begin(run)
        log, seen = list[Mapping[str, Any]](), list[Any]()
        for done in () if still else updates(run):
            log.append(done.metrics)
            if world.watch is not None:
                seen.append(world.watch(run, done))
        yield Trained(run, seed, log, seen)


def played(world: World, agent: Agent, games: int, seed: int) -> dict[str, float]:
    """Return the mean outcomes of games in a world, on start states of their own.

    `agent` has every seat.
    """
    options = world.options(seed) if callable(world.options) else world.options
    options = {"prompt_style": "terse", **options}
    seats = dict.fromkeys(make(world.env, **options).possible_agents, agent.name)
    specs = [EpisodeSpec(s, seats) for s in task_seeds(games, seed)]
    found = rollout(world.env, specs, {agent.name: agent.reseeded(seed)}, options)
    return {key: fmean(e.outcome[key] for e in found) for key in found[0].outcome}


def sized(
    rows: int,
    moves: int,
    starts: Mapping[str, Mapping[str, float]] | None = None,
    sees: Callable[[str], str] = str,
) -> MakePolicy:
    """Return what makes tables of a size that is known: an update of a large one takes longer.

    `starts`, what all tables begin with: terse prompt -> legal move -> logit; `sees`: what a table
    makes of a prompt.
    """
    begun, known = starts or {}, Rows(sees)
    for prompt, logits in begun.items():
        known.add(known.key([prompt], list(logits)), len(logits))

    def make(name: str, **given: Any) -> TabularPolicy:
        table = Table(rows, moves)
        with torch.no_grad():
            for row, logits in enumerate(begun.values()):
                table.logits_RA[row, : len(logits)] = torch.tensor(list(logits.values()))
        return TabularPolicy(table, known, name=name)

    return make


@torch.no_grad()
def learnt(policy: Policy) -> dict[str, Tensor]:
    """Return what a table has learnt: what it saw of a prompt's latest message -> odds of moves."""
    assert isinstance(policy, TabularPolicy)  # a run of tables
    found = {}
    for key, row in policy.rows.of.items():
        logits_A = policy.model(torch.tensor([row]))[0, : policy.rows.moves[row]]
        found[str(json.loads(key)[0][-1])] = logits_A.softmax(-1)
    return found
