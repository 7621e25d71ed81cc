"""The step of inverse soft Q-learning: values of moves that explain demonstrations, seat by seat.

    cycle = (Demonstrate(by="expert:1"), InverseSoftQ(scale=2.0))

Source: IQ-Learn (Garg et al. 2021, arXiv 2106.12142), one Q for every seat as in MAMQL
(arXiv 2503.04679). Logits of a table are the values times `scale`, so that the learner plays the
softmax of its values. Transitions are kept from update to update.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from coevo.agents.engines.scoring import Span
from coevo.agents.table import TabularPolicy
from coevo.envs.core.config import config, real, whole
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import ConfigError
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.learners.learner import Learner
from coevo.trainers.values.transitions import Transition, transitions


@config
class InverseSoftQ(Step):
    """Keeps the transitions of the episodes, and fits the soft values of every seat to them.

    Lowers -mean[phi(Q(s, a) - gamma V(s'))] + mean[V(s) - gamma V(s')], with
    V(s) = log sum_a exp(scale Q(s, a)) / scale and phi(x) = x - x^2 / (4 alpha). Q is of the seat's
    own moves: those of others are marginalised by drawing them, as they were demonstrated.
    """

    moves: ClassVar = True
    needs: ClassVar = ("episodes",)
    name: Literal["inverse_soft_q"] = "inverse_soft_q"
    scale: Annotated[float, real(above=0)] = 1.0
    """Inverse temperature: the odds of a move are those of exp(scale Q)."""
    gamma: Annotated[float, real(0, 1)] = 0.99
    """Discount per reply of the seat."""
    alpha: Annotated[float, real(above=0)] = 0.5
    """Of phi: small keeps rewards near 0."""
    steps: Annotated[int, whole(1)] = 8
    """Optimiser steps of an update."""
    batch: Annotated[int, whole(1)] = 64
    """Transitions of a parameter set in a step; where fewer are kept, all of them."""
    capacity: Annotated[int, whole(1)] = 10_000
    """Transitions that are kept."""

    def __call__(self, ctx: UpdateContext) -> None:
        memory, found = ctx.values.transitions, ctx.episodes
        new = [t for e in found.episodes[: found.fresh] for t in _transitions(ctx, e)]
        memory.add(new, self.capacity)
        ctx.metrics["replay/transitions"] = float(len(memory))
        ctx.note_signal(len(memory) > 0)
        rng = np.random.default_rng([ctx.seed, ctx.step, 29])
        logged = [
            self._fit(ctx, learner, _Shown.of(own), rng)
            for name, learner in ctx.learners.items()
            if (own := [t for t in memory.kept if t.owners == (name,)])
        ]
        for name in logged[0] if logged else ():
            ctx.log({name: float(np.mean([x[name] for x in logged]))})

    def _fit(
        self, ctx: UpdateContext, learner: Learner, shown: _Shown, rng: np.random.Generator
    ) -> dict[str, float]:
        """Take the optimiser steps of one learner; return the mean of what they log."""
        count, losses, norms = len(shown.move_B), [], []
        for _ in range(self.steps):
            few = count <= self.batch
            at_B = np.arange(count) if few else rng.integers(count, size=self.batch)
            loss = self.loss(learner, shown, at_B)
            loss.backward()
            losses.append(loss.item())
            norms.append(learner.step(ctx.rate))
        return {"loss/values": float(np.mean(losses)), "grad_norm": float(np.mean(norms))}

    def loss(self, learner: Learner, shown: _Shown, at_B: NDArray[np.int64]) -> Tensor:
        """Return the loss of some transitions, a number.

        Args:
            learner: whose logits are its values.
            shown: transitions of the learner.
            at_B: numbers of those that count.
        """
        now_B, then_B = shown.now_B[at_B], shown.then_B[at_B]
        asked_P, place_X = np.unique(np.concatenate([now_B, then_B]), return_inverse=True)
        ends = int(asked_P[0] < 0)  # -1 stands for the end, whose value is 0
        logits_PA = _logits(learner, [shown.prompts[i] for i in asked_P[ends:]]) / self.scale
        soft_P = (self.scale * logits_PA).logsumexp(1) / self.scale
        place_2B = torch.from_numpy(place_X.reshape(2, -1)) - ends
        value_B = logits_PA[place_2B[0], torch.from_numpy(shown.move_B[at_B])]
        goes_on_B = torch.from_numpy(then_B >= 0)
        next_B = torch.where(goes_on_B, soft_P[place_2B[1].clamp(min=0)], 0.0)
        reward_B = value_B - self.gamma * next_B
        phi_B = reward_B - reward_B**2 / (4 * self.alpha)
        return (soft_P[place_2B[0]] - self.gamma * next_B - phi_B).mean()


class _Shown(NamedTuple):
    """Transitions of one parameter set; prompts by their numbers, -1 after the end."""

    prompts: list[tuple[int, ...]]
    now_B: NDArray[np.int64]
    move_B: NDArray[np.int64]
    then_B: NDArray[np.int64]

    @classmethod
    def of(cls, seen: Sequence[Transition]) -> _Shown:
        number: dict[tuple[int, ...], int] = {}
        rows = []
        for t in seen:
            now, then = (tuple(ids[0].tolist()) for ids in (t.seen, t.then))
            at = number.setdefault(now, len(number))
            rows.append((at, t.moves[0], number.setdefault(then, len(number)) if then else -1))
        return cls(list(number), *np.array(rows).T)


def _logits(learner: Learner, prompts: Sequence[tuple[int, ...]]) -> Tensor:
    """Return the logits of all moves in every prompt, [P, A]."""
    agent = learner.agent
    if not isinstance(agent, TabularPolicy):
        raise ConfigError(f"{agent.name} does not value whole moves; give --model table")
    spans = [Span((*ids, 0), (len(ids),), (len(ids) + 1,)) for ids in prompts]
    return agent.weights.score(spans, agent.sampling, learner.model).logits(slice(None))


def _transitions(ctx: UpdateContext, episode: Episode) -> list[Transition]:
    """Return the transitions of every seat of a learner by itself."""
    owners = {t.agent: t.player for t in episode.turns if t.player in ctx.learners}
    alone = [{seat: name} for seat, name in owners.items()]
    return [t for owner in alone for t in transitions(episode, owner, {})]
