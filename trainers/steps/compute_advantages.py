"""Compute advantages: from rewards to the advantage of every token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.estimators import Advantages, Trajectories, advantages
from coevo.trainers.items.sequences import Batch, Sequences, note_advantages
from coevo.trainers.learners.algorithm_settings import AlgorithmSettings
from coevo.trainers.learners.learner import Learner
from coevo.trainers.learners.utterance_critic import CRITICS


@config
class ComputeAdvantages(Step):
    """Computes advantages as the setting `advantage` says; the replay buffer is told of them."""

    moves: ClassVar = True
    needs: ClassVar = ("batch",)
    gives: ClassVar = ("advantages",)
    in_ranks: ClassVar = True
    name: Literal["compute_advantages"] = "compute_advantages"

    def __call__(self, ctx: UpdateContext) -> None:
        """Write the sequences with what they learn from."""
        if ctx.batch is None:
            return
        found = credit(ctx.algorithm, ctx.learners, ctx.batch, ctx.estimator_state, rate=ctx.rate)
        ctx.estimator_state |= found.state
        ctx.items["advantages"] = found.sequences
        ctx.log(found.metrics)
        note_advantages(ctx.batch, found.advantage_BS, ctx.episodes_logged)
        ctx.collector.remember(ctx.episodes, ctx.batch, found.advantage_BS, ctx.step)


@dataclass(frozen=True)
class Credited:
    """What credit leaves behind."""

    sequences: Sequences
    """With what they learn from."""
    advantage_BS: Tensor
    metrics: dict[str, float]
    state: dict[str, Any]
    """Of the estimators, for the next update."""


def credit(
    algorithm: AlgorithmSettings,
    learners: Mapping[str, Learner],
    batch: Batch,
    state: Mapping[str, Any],
    *,
    rate: float,
) -> Credited:
    """Compute advantages; critics of utterances learn first.

    Args:
        algorithm: whose settings count.
        learners: parameter set -> learner.
        batch: trajectories and sequences of one update, scored.
        state: of the estimators, such as running baselines.
        rate: factor on the learning rates.
    """
    trajectories, sequences = batch.trajectories, batch.sequences
    if algorithm.advantage.credit.reads == "q_BTC":
        trajectories = _judged(algorithm, learners, trajectories, sequences, rate)
    found = advantages(algorithm.advantage, trajectories, dict(state))
    taught = with_advantages(sequences, found)
    return Credited(taught, found.advantage_BS, dict(found.stats), dict(found.state))


def with_advantages(sequences: Sequences, credited: Advantages) -> Sequences:
    """Return the sequences with what they learn from."""

    def cut(value_BS: Tensor | None) -> Tensor | None:
        return None if value_BS is None else sequences.cut(value_BS)

    return replace(
        sequences,
        advantage_CL=cut(credited.advantage_BS),
        return_CL=cut(credited.return_BS),
        return_mask_CL=cut(credited.return_mask_BS),
    )


def _judged(
    algorithm: AlgorithmSettings,
    learners: Mapping[str, Learner],
    found: Trajectories,
    sequences: Sequences,
    rate: float,
) -> Trajectories:
    """Let the utterance critics learn, and note what they say of every turn."""
    weight_K = [algorithm.advantage.reward_weights.get(c, 1.0) for c in found.components]
    reward_BT = (found.reward_BTK * found.reward_BTK.new_tensor(weight_K)).sum(-1)
    q_BTC = v_BTC = reward_BT.new_zeros(*reward_BT.shape, CRITICS)
    for name, learner in learners.items():
        own, at = sequences.written_by(name)
        if len(at):
            mine_B = torch.zeros(len(reward_BT), dtype=torch.bool)
            mine_B[own.trajectory_C] = True
            mask_BT = found.turn_mask_BT & mine_B.unsqueeze(1)
            q_own, v_own = learner.fit_utterance_critic(own, reward_BT, mask_BT, rate)
            own_BT1 = mask_BT.unsqueeze(-1)
            q_BTC = torch.where(own_BT1, q_own.to(q_BTC), q_BTC)
            v_BTC = torch.where(own_BT1, v_own.to(v_BTC), v_BTC)
    return replace(found, q_BTC=q_BTC, v_BTC=v_BTC)
