"""The steps of value learning: play with some random moves, then fit values to replayed steps.

    cycle = (Explore(epsilon=1.0), Collect(), FitValues(mix="qmix"))

Outputs of a network over arrays are values of moves here, and it plays the highest. The slow copies
that targets are read from are the run's magnet. Source: DQN (Mnih et al. 2015, Nature 518), double
targets (van Hasselt et al. 2016, arXiv 1509.06461), VDN (Sunehag et al. 2018, arXiv 1706.05296) and
QMIX (Rashid et al. 2018, arXiv 1803.11485). With `switch` a centre that values joint moves is
called where it is worth its cost (`values.switching`). Left out: memories of networks in values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn

from coevo.agents.agent import Agent
from coevo.agents.models.nets import Net, NetShape
from coevo.agents.net_policy import NetPolicy
from coevo.agents.policy import Policy
from coevo.envs.core.config import config, real, whole
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import ConfigError
from coevo.trainers.collect.rollout import EpisodeSpec
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.values import switching
from coevo.trainers.values.mixers import Monotonic, Summed
from coevo.trainers.values.switching import Caller, Centre, Switch
from coevo.trainers.values.transitions import Transition, joined, legal, transitions

EXPLORING = "@exploring"
"""Ending of the names of players that make random moves."""
Mix = Literal["none", "vdn", "qmix"]
Moment = Literal["seen", "then"]
"""Fields of a transition with arrays of its seats: of this time-step, and of the next."""


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
    name: Literal["explore"] = "explore"
    epsilon: Annotated[float, real(0, 1)] = 0.05
    """Chance of a random move; `schedules={cycle.explore.epsilon: ...}` lets it fall."""

    def __call__(self, ctx: UpdateContext) -> None:
        learners = {n: _valued(n, a) for n, a in ctx.population.learners.items()}
        fit = next((s for s in ctx.cycle if isinstance(s, FitValues)), None)
        twins: dict[str, Agent] = {n: a.exploring(self.epsilon) for n, a in learners.items()}
        if fit is not None and fit.switch is not None:
            twins = {n: fit.caller(ctx, a, self.epsilon) for n, a in learners.items()}
        ctx.variation = Exploring({f"{n}{EXPLORING}": twin for n, twin in twins.items()})
        ctx.metrics["epsilon"] = self.epsilon


@config
class FitValues(Step):
    """Keeps the transitions of the episodes, and moves values towards one-step targets.

    y = r + gamma max_a Q'(s', a), with Q' the slow copies; under `vdn` and `qmix` of the team: r is
    the mean over its seats, Q the mix of the values of their moves.
    """

    moves: ClassVar = True
    reads_values: ClassVar = True
    reads_magnet: ClassVar = True
    needs: ClassVar = ("episodes",)
    name: Literal["fit_values"] = "fit_values"
    mix: Mix = "none"
    """Who is valued: every seat by itself, the sum over all seats of learners, or a network of
    their values that never falls with one of them."""
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
    units: Annotated[int, whole(1)] = 32
    """Of the hidden layer of `qmix`."""
    switch: Switch | None = None
    """A centre that may choose the moves of all seats, beside seats that are valued by themselves,
    all of one parameter set; both learn from all that is played, and from the team's reward."""

    def __post_init__(self) -> None:
        if self.switch is not None and self.mix != "none":
            raise ConfigError(
                f"cycle.fit_values.switch and mix={self.mix} contradict each other: seats beside a "
                "centre are valued by themselves; set mix=none"
            )

    @property
    def parts(self) -> tuple[str, ...]:
        if self.switch is not None:
            return ("switch",)
        return () if self.mix == "none" else (self.mix,)

    def __call__(self, ctx: UpdateContext) -> None:
        memory, found = ctx.values.transitions, ctx.episodes
        fresh = found.episodes[: found.fresh]
        new = [t for e in fresh for t in self._transitions(ctx, e)]
        memory.add(new, self.capacity)
        ctx.metrics["replay/transitions"] = float(len(memory))
        if self.switch is not None and new:
            ctx.metrics["calls"] = float(np.mean([t.called for t in new]))
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
        apart = self.mix == "none" and self.switch is None
        teams = [{s: name} for s, name in owners.items()] if apart else [owners]
        return [t for team in teams for t in transitions(episode, team, weights)]

    def caller(self, ctx: UpdateContext, policy: NetPolicy, epsilon: float) -> Agent:
        """Return who plays for a policy where a centre may be called."""
        assert self.switch is not None  # asked for
        centre, _ = self._centres(ctx, policy.model.shape)
        return Caller(policy, centre, ctx.population.seats, epsilon, self.switch.always)

    def _centres(self, ctx: UpdateContext, shape: NetShape) -> tuple[Centre, Centre]:
        """Return the centre of the run and its slow copy."""
        seats, switch = len(ctx.population.seats), self.switch
        assert switch is not None  # asked for
        if len(ctx.population.learners) > 1:
            raise ConfigError(
                "cycle.fit_values.switch: seats that a centre may move share a parameter set; set "
                "population=shared"
            )
        state = seats * math.prod(shape.array)
        found = ctx.values.mixers(
            lambda: Centre(seats, shape.moves, state, switch.units, ctx.seed), ctx.algorithm.optim
        )
        return cast("tuple[Centre, Centre]", found)

    def _fit_switch(self, ctx: UpdateContext, drawn: Sequence[Transition]) -> dict[str, float]:
        """Take one optimiser step on values of seats by themselves and on those of the centre."""
        assert self.switch is not None  # asked for
        ((name, learner),) = ctx.learners.items()
        nets, slow = {name: cast("Net", learner.model)}, {name: cast("Net", learner.magnet)}
        shape = nets[name].shape
        centre, target = self._centres(ctx, shape)
        given = switching.TeamSteps(
            state_BS=joined([t.seen for t in drawn], shape),
            moves_BN=torch.tensor([t.moves for t in drawn]),
            called_B=torch.tensor([t.called for t in drawn]),
            reward_B=torch.tensor([t.reward for t in drawn], dtype=torch.float32),
            goes_on_B=torch.tensor([any(len(s) for s in t.then) for t in drawn]),
            then_BS=joined([t.then for t in drawn], shape),
            legal_BNA=legal([t.then for t in drawn], shape),
        )
        seen = _outputs(nets, drawn, "seen")
        value_BN, asked_BN = seen.picked(given.moves_BN), seen.legal_BNA.any(-1)
        with torch.no_grad():
            later = _outputs(slow, drawn, "then")
            best_BN = (_outputs(nets, drawn, "then") if self.double else later).best()
            next_BN = torch.where(given.goes_on_B.unsqueeze(1), later.picked(best_BN), 0.0)
            goal_BN = given.reward_B.unsqueeze(1) + self.gamma * next_BN
        alone = nn.functional.mse_loss(value_BN[asked_BN], goal_BN[asked_BN])
        central = switching.loss(centre, target, given, self.gamma, self.switch.cost)
        (alone + central).backward()
        norm = learner.step(ctx.rate)
        ctx.values.step(ctx.algorithm.optim, ctx.rate)
        return {
            "loss/values": alone.item(),
            "loss/centre": central.item(),
            "value": value_BN[asked_BN].mean().item(),
            "grad_norm": norm,
        }

    def _fit(self, ctx: UpdateContext, drawn: Sequence[Transition]) -> dict[str, float]:
        """Take one optimiser step on some transitions."""
        if self.switch is not None:
            return self._fit_switch(ctx, drawn)
        nets = {name: cast("Net", learner.model) for name, learner in ctx.learners.items()}
        slow = {name: cast("Net", learner.magnet) for name, learner in ctx.learners.items()}
        then_BS = self._states(nets, drawn, "then")
        mixer, target = ctx.values.mixers(
            lambda: self._mixer(len(drawn[0].owners), then_BS.shape[1], ctx.seed),
            ctx.algorithm.optim,
        )
        with torch.no_grad():
            later = _outputs(slow, drawn, "then")
            best_BN = (_outputs(nets, drawn, "then") if self.double else later).best()
            next_B = target(later.picked(best_BN), then_BS)
            goes_on_B = torch.tensor([any(len(s) for s in t.then) for t in drawn])
            reward_B = torch.tensor([t.reward for t in drawn], dtype=torch.float32)
            goal_B = reward_B + self.gamma * torch.where(goes_on_B, next_B, 0.0)
        value_B = self.values(nets, mixer, drawn)
        loss = nn.functional.mse_loss(value_B, goal_B)
        loss.backward()
        norms = [x.step(ctx.rate) for n, x in ctx.learners.items() if _acts(n, drawn)]
        ctx.values.step(ctx.algorithm.optim, ctx.rate)
        return {
            "loss/values": loss.item(),
            "value": value_B.mean().item(),
            "grad_norm": float(np.mean(norms)),
        }

    def values(
        self, nets: Mapping[str, Net], mixer: nn.Module, drawn: Sequence[Transition]
    ) -> Tensor:
        """Return the value of what was done in transitions, [B]: of a seat, or of the team.

        Args:
            nets: parameter set -> network.
            mixer: of the run (`ValueState.mixer`).
            drawn: transitions of as many seats each.
        """
        moves_BN = torch.tensor([t.moves for t in drawn])
        value_BN = _outputs(nets, drawn, "seen").picked(moves_BN)
        found: Tensor = mixer(value_BN, self._states(nets, drawn, "seen"))
        return found

    def _states(self, nets: Mapping[str, Net], drawn: Sequence[Transition], of: Moment) -> Tensor:
        """Return what the seats of a team see together, for `qmix` alone, [B, S]."""
        if self.mix != "qmix":
            return torch.zeros(len(drawn), 0)
        return joined([getattr(t, of) for t in drawn], next(iter(nets.values())).shape)

    def _mixer(self, seats: int, state: int, seed: int) -> nn.Module:
        return Monotonic(seats, state, self.units, seed) if self.mix == "qmix" else Summed()


@dataclass(frozen=True)
class _Values:
    """Values of the moves of every seat in every transition; 0 where a seat is not asked."""

    value_BNA: Tensor
    legal_BNA: Tensor

    def picked(self, moves_BN: Tensor) -> Tensor:
        asked_BN = self.legal_BNA.any(-1)
        value_BN = self.value_BNA.gather(-1, moves_BN.unsqueeze(-1)).squeeze(-1)
        return torch.where(asked_BN, value_BN, 0.0)

    def best(self) -> Tensor:
        return self.value_BNA.masked_fill(~self.legal_BNA, -torch.inf).argmax(-1)


def _outputs(nets: Mapping[str, Net], drawn: Sequence[Transition], of: Moment) -> _Values:
    """Return what networks say where the seats of some transitions are, or will be."""
    shape = next(iter(nets.values())).shape
    size = len(drawn), len(drawn[0].owners), shape.moves
    value_BNA, legal_BNA = torch.zeros(size), torch.zeros(size, dtype=torch.bool)
    for name, net in nets.items():
        at = [
            (b, i)
            for b, t in enumerate(drawn)
            for i, owner in enumerate(t.owners)
            if owner == name and len(getattr(t, of)[i])
        ]
        if at:
            read = net([getattr(drawn[b], of)[i] for b, i in at])
            places = tuple(torch.tensor(at).T)
            value_BNA = value_BNA.index_put(places, read.outputs_MA)
            legal_BNA = legal_BNA.index_put(places, read.legal_MA)
    return _Values(value_BNA, legal_BNA)


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
