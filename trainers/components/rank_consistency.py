"""Rank consistency: the reward of all counts more for those whose own reward agrees with it."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config
from coevo.trainers.batch import Batch
from coevo.trainers.components.base import Composition
from coevo.trainers.tensors import wide


@config
class RankConsistency(Composition):
    """Add the reward of all to a seat's own by how well the two order the plays of a task.

    In a group of plays of one task, v_n = NDCG of the outcomes r_g in the order of the local
    rewards r_n of seat n (gains r_g less the lowest; discount 1 / log2(rank + 1); 1 where all
    outcomes are equal), w = softmax(v) over the seats, and a seat is credited r_n + w_n r_g.
    Source: CoMAM, arXiv 2603.12631; which of equal local rewards comes first is not said in what we
    read: here each has the mean of their discounts. Other components are added with their weights.

    >>> reward_BTK = torch.tensor([[[1.0, 0.5]], [[0.0, 0.25]]], dtype=torch.float64)
    >>> mask_BT = torch.ones(2, 1, dtype=torch.bool)
    >>> names = ("payoff", "local")
    >>> batch = Batch.from_rewards(reward_BTK, names, mask_BT, mask_BT.long() - 1, {})
    >>> RankConsistency()(batch, torch.ones(2)).flatten().tolist()  # one seat has all of it
    [1.5, 0.25]
    """

    name: Literal["rank_consistency"] = "rank_consistency"
    outcome: str = "payoff"
    """Component that all share, r_g."""
    local: str = "local"
    """Component of a seat's own, r_n."""

    def __call__(self, batch: Batch, weight_K: Tensor) -> Tensor:
        shared, own = batch.component(self.outcome), batch.component(self.local)
        outcome_BK = wide(batch.reward_BTK.sum(1))
        share_B = self._shares(batch, outcome_BK[:, shared], outcome_BK[:, own])
        factor_BK = weight_K.expand(len(batch.reward_BTK), -1).clone()
        factor_BK[:, shared] *= share_B
        return (batch.reward_BTK * factor_BK.unsqueeze(1)).sum(-1)

    def _shares(self, batch: Batch, outcome_B: Tensor, own_B: Tensor) -> Tensor:
        """Return w of every trajectory: that of its seat in its group."""
        share_B = torch.zeros_like(outcome_B)
        group_B, seat_B = batch.key_B("group"), batch.key_B("seat")
        for group in group_B.unique():
            here_B = (group_B == group) & batch.real_B
            rows = [here_B & (seat_B == seat) for seat in seat_B[here_B].unique()]
            v_N = torch.stack([rank_consistency(outcome_B[r], own_B[r]) for r in rows])
            for row_B, w in zip(rows, v_N.softmax(0), strict=True):
                share_B[row_B] = w
        return share_B


def rank_consistency(outcome_N: Tensor, local_N: Tensor) -> Tensor:
    """Return the NDCG of outcomes in the order of local rewards, a scalar in [0, 1].

    >>> outcome_N = torch.tensor([1.0, 1.0, 0.0, 0.0])
    >>> [round(float(rank_consistency(outcome_N, outcome_N * x)), 4) for x in (1, -1, 0)]
    [1.0, 0.5706, 0.7853]
    """
    if bool((outcome_N == outcome_N[0]).all()):
        return outcome_N.new_ones(())
    outcome_N = outcome_N - outcome_N.min()
    discount_N = 1 / torch.arange(2, len(outcome_N) + 2, dtype=outcome_N.dtype).log2()
    best = (outcome_N.sort(descending=True).values * discount_N).sum()
    tied_NN = (local_N[:, None] == local_N).to(outcome_N.dtype)
    before_N = (local_N[:, None] < local_N).sum(1)
    cumulated_N = torch.cat([discount_N.new_zeros(1), discount_N.cumsum(0)])
    size_N = tied_NN.sum(1)
    mean_N = (cumulated_N[before_N + size_N.long()] - cumulated_N[before_N]) / size_N
    return (outcome_N * mean_N).sum() / best
