"""Who is valued by what: a seat by itself, a team by the sum or by a network of its seats' values.

Source: VDN (Sunehag et al. 2018, arXiv 1706.05296), QMIX (Rashid et al. 2018, arXiv 1803.11485).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor, nn

from coevo.agents.agent import Agent
from coevo.agents.models.nets import NetShape
from coevo.agents.net_policy import NetPolicy
from coevo.envs.core.config import config, whole
from coevo.trainers.values.team_steps import TeamSteps
from coevo.trainers.values.transitions import Transition


class ValueMix:
    """Base of who is valued, and by what; subclasses are components with a name."""

    name: str
    apart: ClassVar[bool] = False
    """Whether every seat is valued by itself, and not its team."""
    one_set: ClassVar[bool] = False
    """Whether all seats must share a parameter set."""

    def mixer(self, seats: int, shape: NetShape, seed: int) -> nn.Module:
        """Return the weights that learn beside the networks of seats of such a shape."""
        return Summed()

    def player(
        self,
        policy: NetPolicy,
        mixer: Callable[[], nn.Module],
        seats: Sequence[str],
        epsilon: float,
    ) -> Agent:
        """Return who plays for a policy.

        Args:
            policy: that learns.
            mixer: returns that of the run.
            seats: of an episode, in order.
            epsilon: chance of a random move.
        """
        return policy.exploring(epsilon)

    def noted(self, new: Sequence[Transition]) -> dict[str, float]:
        """Return metrics of the transitions of an update."""
        return {}

    def loss(
        self, mixer: nn.Module, target: nn.Module, steps: TeamSteps, gamma: float
    ) -> tuple[Tensor, dict[str, float]]:
        """Return the squared error of values towards one-step targets, and metrics.

        Args:
            mixer: of the run.
            target: its slow copy.
            steps: of seats by themselves, or of teams.
            gamma: discount per time-step.
        """
        with torch.no_grad():
            next_B = target(steps.next_BN, steps.then_BS)
            goal_B = steps.reward_B + gamma * torch.where(steps.goes_on_B, next_B, 0.0)
        value_B = mixer(steps.value_BN, steps.state_BS)
        loss = nn.functional.mse_loss(value_B, goal_B)
        return loss, {"loss/values": loss.item(), "value": value_B.mean().item()}


@config
class NoMix(ValueMix):
    """Every seat is valued by itself, from its own reward."""

    apart: ClassVar = True
    name: Literal["no_mix"] = "no_mix"


@config
class Vdn(ValueMix):
    """The value of a team is the sum over its seats."""

    name: Literal["vdn"] = "vdn"


@config
class Qmix(ValueMix):
    """A network of the seats' values that never falls with one of them; see `Monotonic`."""

    name: Literal["qmix"] = "qmix"
    units: Annotated[int, whole(1)] = 32
    """Of its hidden layer."""

    def mixer(self, seats: int, shape: NetShape, seed: int) -> nn.Module:
        return Monotonic(seats, seats * math.prod(shape.array), self.units, seed)


class Summed(nn.Module):
    """VDN: the value of a team is the sum over its seats (Sunehag et al. 2018)."""

    def forward(self, value_BN: Tensor, state_BS: Tensor) -> Tensor:
        """Return the value of every team, [B]; with one seat it is the seat's own."""
        return value_BN.sum(1)


class Monotonic(nn.Module):
    """QMIX: a network of the values whose weights, all at least 0, depend on the state.

    Q = w_2(s) . elu(W_1(s) q + b_1(s)) + b_2(s), with W_1, w_2 >= 0, so that every seat's best
    move is part of the team's best (Rashid et al. 2018).

    Args:
        seats: of the team.
        state: numbers of the state.
        units: of the hidden layer.
        seed: of the start weights.
    """

    def __init__(self, seats: int, state: int, units: int, seed: int) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.weight_1, self.bias_1 = nn.Linear(state, seats * units), nn.Linear(state, units)
            self.weight_2 = nn.Linear(state, units)
            self.bias_2 = nn.Sequential(nn.Linear(state, units), nn.ReLU(), nn.Linear(units, 1))

    def forward(self, value_BN: Tensor, state_BS: Tensor) -> Tensor:
        """Return the value of every team, [B]."""
        rows, seats = value_BN.shape
        weight_BNU = self.weight_1(state_BS).abs().view(rows, seats, -1)
        mixed_B1U = torch.bmm(value_BN.unsqueeze(1), weight_BNU)
        hidden_BU = nn.functional.elu(mixed_B1U.squeeze(1) + self.bias_1(state_BS))
        weight_BU = self.weight_2(state_BS).abs()
        found: Tensor = (hidden_BU * weight_BU).sum(1) + self.bias_2(state_BS).squeeze(1)
        return found
