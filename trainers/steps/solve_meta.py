"""Solve the meta-game of a pool: past selves are weighed by an equilibrium (PSRO)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Annotated, ClassVar, Literal

import numpy as np

from coevo.agents.agent import Agent
from coevo.agents.models.copies import copy_weights
from coevo.agents.population import Pool
from coevo.envs.core.config import config, real, whole
from coevo.envs.core.episode import Episode, StopReason
from coevo.envs.core.errors import ConfigError
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.collect.rollout import EpisodeSpec
from coevo.trainers.cycle import Step, UpdateContext

ITERATIONS = 2000
"""Of the search for an equilibrium, from each of its starts."""


@dataclass(frozen=True)
class Seated:
    """Seats two players of the pool, who change places from task to task."""

    one: str
    other: str
    agents: Mapping[str, Agent] = field(default_factory=dict)

    def __call__(self, spec: EpisodeSpec, group: int, number: int) -> EpisodeSpec:
        seats = list(spec.players)
        own = seats[group % len(seats)]
        return replace(spec, players={s: self.one if s == own else self.other for s in seats})


@config
class SolveMeta(Step):
    """Lets past selves play one another, and weighs them for the draw `meta_strategy`.

    The weights are a symmetric equilibrium of the game between past selves, in which every player
    maximises the mean of its payoff over the opponents minus `aversion` times its variance
    (risk-averse equilibrium; 0 is the common one). Past selves are artifacts of kind `snapshot`,
    with their weights and payoffs. An update without a new one changes nothing.
    """

    moves: ClassVar = True
    name: Literal["solve_meta"] = "solve_meta"
    tasks: Annotated[int, whole(2)] = 64
    """Held-out tasks that every two of them play, half in each seat."""
    aversion: Annotated[float, real(0)] = 0.0
    """Payoff that a player gives for one unit of variance less."""
    tremble: Annotated[float, real(0, below=1)] = 0.0
    """Probability with which an opponent plays any strategy, evenly."""
    anew: bool = True
    """Whether the learner starts again from the policy of the start behind every past self."""

    def __call__(self, ctx: UpdateContext) -> None:
        pool = ctx.population
        if not isinstance(pool, Pool) or not pool.spec.first or pool.spec.learners > 1:
            raise ConfigError(
                "cycle.solve_meta weighs the past selves of one learner, its start among them; set "
                "population={name: past_selves, first: true, draw: meta_strategy, learners: 1}"
            )
        known = {a.payload["of"]: a for a in ctx.archive.living("snapshot")}
        here = pool.snapshots()
        ctx.archive.prune([a.id for name, a in known.items() if name not in here], ctx.step)
        new = [name for name in sorted(here) if name not in known]
        for name in new:
            parents = [a.id for a in ctx.archive.living("snapshot")[-1:]]
            known[name] = ctx.archive.propose(
                "snapshot", {"of": name}, parents=parents, step=ctx.step
            )
        those = [known[name] for name in sorted(here)]
        if new:
            self._play(ctx, those)
            self._weigh(pool, those)
            if self.anew:
                self._restart(ctx, pool)
        ctx.metrics |= ctx.archive.metrics()

    def _restart(self, ctx: UpdateContext, pool: Pool) -> None:
        (learner,) = (x for n, x in ctx.learners.items() if n in pool.learners)
        copy_weights(learner.model, pool.start.model)
        learner.restart()
        learner.agent.publish(ctx.step)

    def _play(self, ctx: UpdateContext, those: Sequence[Artifact]) -> None:
        """Fill the payoffs between past selves that are not known yet."""
        pairs = itertools.combinations_with_replacement(those, 2)
        missing = [(a, b) for a, b in pairs if b.id not in a.stats]
        seated = [Seated(a.payload["of"], b.payload["of"]) for a, b in missing]
        for (a, b), episodes in zip(
            missing, ctx.collector.held_out(self.tasks, ctx.step, seated), strict=True
        ):
            ctx.count(turns=sum(len(e.turns) for e in episodes))
            first, second = (_payoff(ctx, episodes, first=x) for x in (True, False))
            if a is b:
                first = second = (first + second) / 2
            ctx.archive.evaluate(a.id, "", **{b.id: first})
            ctx.archive.evaluate(b.id, "", **{a.id: second})

    def _weigh(self, pool: Pool, those: Sequence[Artifact]) -> None:
        payoff_NN = np.array([[a.stats[b.id] for b in those] for a in those])
        for one, share in zip(
            those, equilibrium(payoff_NN, self.aversion, self.tremble), strict=True
        ):
            one.weight = float(share)
            pool.weights[one.payload["of"]] = float(share)


def _payoff(ctx: UpdateContext, episodes: Sequence[Episode], first: bool) -> float:
    """Return what the one or the other earned on average; seats rotate from task to task."""
    component, earned = ctx.algorithm.collect.component, list[float]()
    for number, episode in enumerate(episodes):
        if episode.stop is not StopReason.ERROR:
            own = number % len(episode.agents)
            seats = [s for i, s in enumerate(episode.agents) if (i == own) == first]
            earned += [episode.total(seat, component) for seat in seats]
    return fmean(earned) if earned else 0.0


def equilibrium(payoff_NN: np.ndarray, aversion: float = 0.0, tremble: float = 0.0) -> np.ndarray:
    """Return a symmetric equilibrium of strategies with these payoffs, row against column.

    From every pure strategy and from the even mix, the share of the strategy that gains most grows
    (Frank-Wolfe on the objective, averaged as in fictitious play); of the ends the one is taken
    whose players are best off.

    >>> stag_hunt = np.array([[4.0, 0.0], [3.0, 3.0]])
    >>> equilibrium(stag_hunt).round(2).tolist(), equilibrium(stag_hunt, 0.5, 0.2).round(2).tolist()
    ([1.0, 0.0], [0.0, 1.0])
    >>> cycle = np.array([[0, -1, 2.0], [1, 0, -1], [-2, 1, 0]])
    >>> bool(np.abs(equilibrium(cycle) - [0.25, 0.5, 0.25]).max() < 0.02)
    True
    """
    starts = [*np.eye(len(payoff_NN)), np.full(len(payoff_NN), 1 / len(payoff_NN))]
    ends = [_settled(payoff_NN, start, aversion, tremble) for start in starts]
    return max(ends, key=lambda x_N: worth(payoff_NN, x_N, x_N, aversion, tremble))


def worth(
    payoff_NN: np.ndarray, x_N: np.ndarray, y_N: np.ndarray, aversion: float, tremble: float
) -> float:
    """Return the mean of x's payoff over what y plays, minus aversion times its variance."""
    mean_N, covariance_NN = _moments(payoff_NN, y_N, tremble)
    return float(x_N @ mean_N - aversion * x_N @ covariance_NN @ x_N)


def _moments(
    payoff_NN: np.ndarray, y_N: np.ndarray, tremble: float
) -> tuple[np.ndarray, np.ndarray]:
    met_N = (1 - tremble) * y_N + tremble / len(y_N)
    mean_N = payoff_NN @ met_N
    return mean_N, (payoff_NN * met_N) @ payoff_NN.T - np.outer(mean_N, mean_N)


def _settled(payoff_NN: np.ndarray, x_N: np.ndarray, aversion: float, tremble: float) -> np.ndarray:
    for k in range(ITERATIONS):
        utility_N, covariance_NN = _moments(payoff_NN, x_N, tremble)
        best = int(np.argmax(utility_N - 2 * aversion * covariance_NN @ x_N))
        x_N = x_N + (np.eye(len(x_N))[best] - x_N) / (k + 2)
    return x_N
