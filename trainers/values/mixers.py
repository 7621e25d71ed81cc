"""From the values of the moves of seats to the value of what they do together."""

from __future__ import annotations

import torch
from torch import Tensor, nn


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
