"""The steps of value learning: play with some random moves, then fit values to replayed steps.

    cycle = (Explore(epsilon=1.0), Collect(), FitValues(mix=Qmix()))

Outputs of a network over arrays are values of moves here, and it plays the highest. The slow copies
that targets are read from are the run's magnet. Source: DQN (Mnih et al. 2015, Nature 518), double
targets (van Hasselt et al. 2016, arXiv 1509.06461); a mix names its own (`values.mixers`,
`values.switching`). Left out: memories of networks in values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar, Literal, cast

import numpy as np
from torch import nn

from coevo.agents.agent import Agent
from coevo.agents.models.nets import Net, NetShape
from coevo.agents.net_policy import NetPolicy
from coevo.agents.policy import Policy
from coevo.envs.core.config import choice, config, real, whole
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import ConfigError
from coevo.trainers.collect.rollout import EpisodeSpec
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.values.mixers import NoMix, Qmix, ValueMix, Vdn
from coevo.trainers.values.switching import Switch
from coevo.trainers.values.team_steps import team_steps
from coevo.trainers.values.transitions import Transition, transitions

EXPLORING = "@exploring"
"""Ending of the names of players that make random moves."""
AnyMix = Annotated[NoMix | Vdn | Qmix | Switch, choice(ValueMix)]
"""Who is valued, and by what."""


@dataclass(frozen=True)
class Exploring:
    """Puts exploring twins in the place of learners."""

    agents: Mapping[str, Agent]

    def __call__(self, spec: EpisodeSpec, group: int, number: int) -> EpisodeSpec:
        twins = {seat: f"{name}{EXPLORING}" for seat, name in spec.players.items()}
        found = {seat: name for seat, name in twins.items() if name in self.agents}
        return replace(spec, players={**spec.players, **found})


@config
class Explore(Step):
    """Lets learners make a random legal move now and then, and else that of the highest value."""

    varies_episodes: ClassVar = True
    reads_values: ClassVar = True
    beside: ClassVar = ("fit_values",)
    name: Literal["explore"] = "explore"
    epsilon: Annotated[float, real(0, 1)] = 0.05
    """Chance of a random move; `schedules={cycle.explore.epsilon: ...}` lets it fall."""

    def __call__(self, ctx: UpdateContext) -> None:
        learners = {n: _valued(n, a) for n, a in ctx.population.learners.items()}
        fit = next(s for s in ctx.cycle if isinstance(s, FitValues))  # the cycle was checked
        twins = {n: fit.player(ctx, a, self.epsilon) for n, a in learners.items()}
        ctx.variation = Exploring({f"{n}{EXPLORING}": twin for n, twin in twins.items()})
        ctx.metrics["epsilon"] = self.epsilon


@config
class FitValues(Step):
    """Keeps the transitions of the episodes, and moves values towards one-step targets.

    y = r + gamma max_a Q'(s', a), with Q' the slow copies; a mix of seats values their team: r is
    the mean over its seats, Q of all their moves.
    """

    moves: ClassVar = True
    reads_values: ClassVar = True
    reads_magnet: ClassVar = True
    needs: ClassVar = ("episodes",)
    name: Literal["fit_values"] = "fit_values"
    mix: AnyMix = NoMix()
    """Who is valued: every seat by itself, or all seats of learners together, and how."""
    steps: Annotated[int, whole(1)] = 8
    """Optimiser steps of an update."""
    batch: Annotated[int, whole(1)] = 64
    """Transitions of a step."""
    gamma: Annotated[float, real(0, 1)] = 0.99
    """Discount per time-step."""
    double: bool = True
    """Whether the best next move is that of the weights which learn, and its value that of the
    slow copies; else both are of the copies."""
    capacity: Annotated[int, whole(1)] = 10_000
    """Transitions that are kept."""

    @property
    def parts(self) -> tuple[str, ...]:
        return () if self.mix == NoMix() else (self.mix.name,)

    def __call__(self, ctx: UpdateContext) -> None:
        memory, found = ctx.values.transitions, ctx.episodes
        fresh = found.episodes[: found.fresh]
        new = [t for e in fresh for t in self._transitions(ctx, e)]
        memory.add(new, self.capacity)
        ctx.metrics["replay/transitions"] = float(len(memory))
        ctx.metrics |= self.mix.noted(new)
        ctx.note_signal(len(memory) > 0)
        if not len(memory):
            return
        rng = np.random.default_rng([ctx.seed, ctx.step, 23])
        logged = [self._fit(ctx, memory.draw(self.batch, rng)) for _ in range(self.steps)]
        ctx.log({name: float(np.mean([x[name] for x in logged])) for name in logged[0]})
        assert ctx.algorithm.magnet is not None  # the algorithm was checked
        ctx.values.follow(ctx.algorithm.magnet.kept(ctx.step + 1))

    def _transitions(self, ctx: UpdateContext, episode: Episode) -> list[Transition]:
        """Return the transitions of an episode, of seats by themselves or of all together."""
        players = {t.agent: t.player.removesuffix(EXPLORING) for t in episode.turns}
        owners = {s: players[s] for s in episode.agents if players.get(s) in ctx.learners}
        weights = ctx.algorithm.advantage.reward_weights
        teams = [{s: name} for s, name in owners.items()] if self.mix.apart else [owners]
        return [t for team in teams for t in transitions(episode, team, weights)]

    def player(self, ctx: UpdateContext, policy: NetPolicy, epsilon: float) -> Agent:
        """Return who plays for a policy that learns, with this chance of a random move."""
        if self.mix.one_set and len(ctx.population.learners) > 1:
            raise ConfigError(
                f"cycle.fit_values.mix={self.mix.name}: its seats share a parameter set; set "
                "population=shared"
            )
        seats, shape = ctx.population.seats, policy.model.shape
        return self.mix.player(
            policy, lambda: self._mixers(ctx, len(seats), shape)[0], seats, epsilon
        )

    def _mixers(
        self, ctx: UpdateContext, seats: int, shape: NetShape
    ) -> tuple[nn.Module, nn.Module]:
        """Return the mixer of the run, and its slow copy."""
        make = partial(self.mix.mixer, seats, shape, ctx.seed)
        return ctx.values.mixers(make, ctx.algorithm.optim)

    def _fit(self, ctx: UpdateContext, drawn: Sequence[Transition]) -> dict[str, float]:
        """Take one optimiser step on some transitions."""
        nets = {name: cast("Net", learner.model) for name, learner in ctx.learners.items()}
        slow = {name: cast("Net", learner.magnet) for name, learner in ctx.learners.items()}
        shape = next(iter(nets.values())).shape
        mixer, target = self._mixers(ctx, len(drawn[0].owners), shape)
        steps = team_steps(nets, slow, drawn, self.double)
        loss, found = self.mix.loss(mixer, target, steps, self.gamma)
        loss.backward()
        norms = [x.step(ctx.rate) for n, x in ctx.learners.items() if _acts(n, drawn)]
        ctx.values.step(ctx.algorithm.optim, ctx.rate)
        return {**found, "grad_norm": float(np.mean(norms))}


def _acts(name: str, drawn: Sequence[Transition]) -> bool:
    return any(owner == name for t in drawn for owner in t.owners)


def _valued(name: str, agent: Policy) -> NetPolicy:
    if isinstance(agent, NetPolicy) and agent.model.shape.values:
        if agent.model.gru is not None:
            raise ConfigError("values are learnt from single time-steps; leave gru out of --model")
        return agent
    raise ConfigError(
        f"{name} is no network over arrays, whose outputs could be values; give --model net or "
        "net:conv"
    )
