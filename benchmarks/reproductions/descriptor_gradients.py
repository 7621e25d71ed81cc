"""Gradients towards a behaviour: a critic that knows the descriptor, and members that climb it.

Source: Faldor et al. 2023, DCG-MAP-Elites, arXiv 2303.03832: Q(s, a | d) values the rewards of an
episode times exp(-|d' - d| / scale), where d' is how it behaved, so that a member of an archive may
improve without leaving its cell. The critic and its actor learn by TD3 (Fujimoto et al. 2018,
arXiv 1802.09477). Left out: injection of the actor into the archive. No cycle runs this; genomes of
a run are lists of seeds, which gradients cannot be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from coevo.agents.models.copies import blend, frozen_copy


@dataclass(frozen=True)
class Perceptron:
    """Small networks of one hidden layer whose weights are one row of numbers each."""

    inputs: int
    units: int
    outputs: int

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """Rows and columns of weights and biases."""
        return (
            (self.inputs, self.units),
            (1, self.units),
            (self.units, self.outputs),
            (1, self.outputs),
        )

    @property
    def numbers(self) -> int:
        return sum(rows * columns for rows, columns in self.shapes)

    def begun(self, members: int, rng: np.random.Generator) -> Tensor:
        """Return random members, [M, D]: normal weights of variance 1 / inputs, no biases."""
        parts = [
            rng.normal(size=(members, rows * columns)) * (rows > 1) / rows**0.5
            for rows, columns in self.shapes
        ]
        return torch.from_numpy(np.concatenate(parts, 1)).float()

    def __call__(self, genome_MD: Tensor, input_MBI: Tensor) -> Tensor:
        """Return what members say, from -1 to 1, [M, B, O]."""
        sizes = [rows * columns for rows, columns in self.shapes]
        first, bias, second, shift = (
            part.view(-1, *shape)
            for part, shape in zip(genome_MD.split(sizes, 1), self.shapes, strict=True)
        )
        hidden_MBU = torch.tanh(torch.baddbmm(bias, input_MBI, first))
        return torch.tanh(torch.baddbmm(shift, hidden_MBU, second))


class TimeSteps(NamedTuple):
    """Time-steps of episodes, with how the whole episode behaved."""

    state_BS: Tensor
    action_BA: Tensor
    reward_B: Tensor
    then_BS: Tensor
    ends_B: Tensor
    descriptor_BK: Tensor

    def rows(self, index_R: Tensor) -> TimeSteps:
        return TimeSteps(*(part[index_R] for part in self))


@dataclass(kw_only=True)
class Climbing:
    """How the critic learns and how members climb."""

    scale: float = 0.1
    """Distance between descriptors at which a reward counts 1 / e."""
    batch: int = 128
    gamma: float = 0.99
    lr: float = 1e-3
    """Of the critic and the actor."""
    noise: float = 0.2
    """Deviation of the noise on the actor's actions in targets, which is cut at .5."""
    steps: int = 30
    """Gradient steps of a member."""
    rate: float = 5e-3
    """Step size of members."""


class DescriptorCritic:
    """A critic Q(s, a | d) with its actor, and the gradient steps of members under it.

    Args:
        states: numbers of a state.
        actions: numbers of an action.
        descriptors: numbers of a descriptor.
        units: of the hidden layers.
        seed: of start weights and of all that is drawn.
        how: settings.
    """

    def __init__(
        self, states: int, actions: int, descriptors: int, units: int, seed: int, how: Climbing
    ) -> None:
        self.how, self.draw = how, torch.Generator().manual_seed(seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.critics = nn.ModuleList(
                _network(states + actions + descriptors, units, 1) for _ in range(2)
            )
            self.actor = nn.Sequential(_network(states + descriptors, units, actions), nn.Tanh())
        self.slow = frozen_copy(self.critics), frozen_copy(self.actor)
        self._optim = [
            torch.optim.Adam(x.parameters(), lr=how.lr) for x in (self.critics, self.actor)
        ]

    def fit(self, steps: TimeSteps, updates: int) -> float:
        """Learn from time-steps that are drawn anew for every update; return the mean error.

        Half of them are valued for the behaviour that they were part of, half for another one.
        """
        errors = []
        for number in range(updates):
            drawn = steps.rows(self._some(len(steps.reward_B)))
            wanted_BK = drawn.descriptor_BK.clone()
            half = len(wanted_BK) // 2
            wanted_BK[:half] = wanted_BK[:half].roll(1, 0)
            errors.append(self._fit_critics(drawn, wanted_BK))
            if number % 2:
                self._fit_actor(drawn.state_BS, wanted_BK)
        return float(np.mean(errors))

    def climb(
        self, policy: Perceptron, genome_MD: Tensor, wanted_MK: Tensor, steps: TimeSteps
    ) -> Tensor:
        """Return members after gradient steps on their values for behaviours of their own."""
        found_MD = genome_MD.clone().requires_grad_()
        optim = torch.optim.Adam([found_MD], lr=self.how.rate)
        members = len(genome_MD)
        for _ in range(self.how.steps):
            state_BS = steps.state_BS[self._some(len(steps.reward_B))]
            state_MBS = state_BS.expand(members, -1, -1)
            wanted_MBK = wanted_MK.unsqueeze(1).expand(-1, len(state_BS), -1)
            action_MBA = policy(found_MD, state_MBS)
            value_MB1 = self.critics[0](torch.cat([state_MBS, action_MBA, wanted_MBK], -1))
            (found_MD.grad,) = torch.autograd.grad(-value_MB1.mean(1).sum(), found_MD)
            optim.step()
        return found_MD.detach()

    def _some(self, size: int) -> Tensor:
        return torch.randint(size, (self.how.batch,), generator=self.draw)

    def _fit_critics(self, drawn: TimeSteps, wanted_BK: Tensor) -> float:
        slow_critics, slow_actor = self.slow
        with torch.no_grad():
            far_B = (drawn.descriptor_BK - wanted_BK).norm(dim=-1)
            reward_B = drawn.reward_B * torch.exp(-far_B / self.how.scale)
            action_BA = slow_actor(torch.cat([drawn.then_BS, wanted_BK], -1))
            noise_BA = torch.randn(action_BA.shape, generator=self.draw) * self.how.noise
            action_BA = (action_BA + noise_BA.clamp(-0.5, 0.5)).clamp(-1, 1)
            input_BI = torch.cat([drawn.then_BS, action_BA, wanted_BK], -1)
            next_B = torch.minimum(*(c(input_BI).squeeze(-1) for c in slow_critics))
            goal_B = reward_B + self.how.gamma * torch.where(drawn.ends_B, 0.0, next_B)
        input_BI = torch.cat([drawn.state_BS, drawn.action_BA, wanted_BK], -1)
        errors = [nn.functional.mse_loss(c(input_BI).squeeze(-1), goal_B) for c in self.critics]
        loss = errors[0] + errors[1]
        self._step(0, loss)
        blend(slow_critics, self.critics, 0.995)
        return float(loss.item())

    def _fit_actor(self, state_BS: Tensor, wanted_BK: Tensor) -> None:
        action_BA = self.actor(torch.cat([state_BS, wanted_BK], -1))
        value_B1 = self.critics[0](torch.cat([state_BS, action_BA, wanted_BK], -1))
        self._step(1, -value_B1.mean())
        blend(self.slow[1], self.actor, 0.995)

    def _step(self, number: int, loss: Tensor) -> None:
        self._optim[number].zero_grad()
        loss.backward()
        self._optim[number].step()


def _network(inputs: int, units: int, outputs: int) -> nn.Sequential:
    first, second = nn.Linear(inputs, units), nn.Linear(units, units)
    return nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), nn.Linear(units, outputs))
