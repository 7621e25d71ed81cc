"""Tabular softmax policies: the smallest models that every estimator and loss can move.

A context is a state or a prompt, an arm is an action, and an action is one token. Independent
repetitions (seeds, draws) are further contexts of the same table, so that one batch moves all of
them; with the denominators of one repetition each gets the step that it would get alone.

Expectations: a loss of the library averages over rows. A batch that holds each arm as often as
a policy plays it therefore gives that policy's expected gradient exactly; for probabilities that
are not ratios, a row's advantage is multiplied by the probability (losses are linear in it) and
the denominator is 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from coevo.trainers.advantage import AdvantageConfig, advantages
from coevo.trainers.batch import Batch
from coevo.trainers.components.base import Denominators
from coevo.trainers.loss import LossConfig, policy_loss

REAL = torch.float64


class Moves(NamedTuple):
    """What was played, one token a row: contexts and arms, [B, 1]."""

    context_BL: Tensor
    arm_BL: Tensor


def moves(context_B: Tensor, arm_B: Tensor) -> Moves:
    """Return the moves of episodes of one step each."""
    return Moves(context_B.reshape(-1, 1), arm_B.reshape(-1, 1))


class SoftmaxTable:
    """A softmax over arms for every context, moved by plain gradient steps."""

    def __init__(self, logits_CA: Tensor) -> None:
        self.logits_CA = logits_CA.detach().to(REAL).clone().requires_grad_()

    def logp_CA(self) -> Tensor:
        return self.logits_CA.log_softmax(-1)

    @torch.no_grad()
    def probabilities_CA(self) -> Tensor:
        return self.logits_CA.softmax(-1)

    @torch.no_grad()
    def draw(self, uniform_CG: Tensor) -> Tensor:
        """Sample G arms in every context from uniform numbers in [0, 1)."""
        cumulative_CA = self.probabilities_CA().cumsum(-1)
        arm_CG = torch.searchsorted(cumulative_CA, uniform_CG.contiguous(), right=True)
        return arm_CG.clamp(max=cumulative_CA.shape[-1] - 1)

    def gradient_CA(
        self,
        spec: Mapping[str, Any],
        played: Moves,
        advantage_CL: Tensor,
        rows: int,
        *,
        old_BL: Tensor | None = None,
        behaviour_BL: Tensor | None = None,
    ) -> Tensor:
        """Return the direction that lowers a loss.

        The sum of the loss is divided by `rows`. Log-probabilities at the start of the update are
        those of now, and those of the policy that played these, where they are not given.
        """
        logp_CL = self.logp_CA()[played]
        inputs = Batch.from_tokens(logp_CL, advantage_CL, old_BL, logp_behaviour_CL=behaviour_BL)
        return self._downhill(LossConfig(**spec), inputs, rows)

    def _downhill(self, config: LossConfig, inputs: Batch, rows: int) -> Tensor:
        loss = policy_loss(config, inputs, Denominators(rows, rows, 1))[0]
        (gradient_CA,) = torch.autograd.grad(loss, self.logits_CA)
        return -gradient_CA

    def update(
        self,
        spec: Mapping[str, Any],
        played: Moves,
        advantage_CL: Tensor,
        *,
        lr: float,
        epochs: int = 1,
    ) -> None:
        """Take one gradient step per epoch on moves that this policy has just made.

        A step of zero is the last one: nothing would move any more.
        """
        config = LossConfig(**spec)
        start = Batch.from_tokens(self.logp_CA().detach()[played], advantage_CL)
        for _ in range(epochs):
            inputs = replace(start, logp_CL=self.logp_CA()[played])
            step_CA = self._downhill(config, inputs, len(played.arm_BL))
            if not step_CA.any():
                break
            with torch.no_grad():
                self.logits_CA += lr * step_CA


def credited(spec: AdvantageConfig | Mapping[str, Any], reward_BTK: Tensor, **given: Any) -> Tensor:
    """Return the advantages of episodes with one token per turn, [B, T]."""
    spec = spec if isinstance(spec, AdvantageConfig) else AdvantageConfig(**spec)
    return advantages(spec, episodes(reward_BTK, **given))[0].advantage_CL


def padded(rewards: Sequence[Sequence[float]]) -> tuple[Tensor, Tensor]:
    """Return rewards of episodes of several lengths, [B, T, 1], and the mask of their turns."""
    rows = [torch.tensor(row, dtype=REAL) for row in rewards]
    size_B = torch.tensor([len(row) for row in rows])
    reward_BT = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return reward_BT.unsqueeze(2), torch.arange(reward_BT.shape[1]) < size_B.unsqueeze(1)


def episodes(
    reward_BTK: Tensor,
    components: Sequence[str] = ("reward",),
    mask_BT: Tensor | None = None,
    **keys: Tensor,
) -> Batch:
    """Return a batch of episodes with one token per turn.

    [B] is one reward at the end of one step, [B, K] its components. The mask is False after the end
    of an episode. Identities that are not given are 0, `trajectory` counts up.
    """
    if reward_BTK.ndim == 1:
        reward_BTK = reward_BTK[:, None, None]
    elif reward_BTK.ndim == 2:
        reward_BTK = reward_BTK.unsqueeze(1)
    rows, turns, _ = reward_BTK.shape
    mask_BT = torch.ones(rows, turns, dtype=torch.bool) if mask_BT is None else mask_BT
    turn_of_BS = torch.where(mask_BT, torch.arange(turns).expand_as(mask_BT), -1)
    return Batch.from_rewards(reward_BTK.to(REAL), tuple(components), mask_BT, turn_of_BS, keys)


def generators(seeds: Sequence[int]) -> list[torch.Generator]:
    """Make one source of random numbers per seed, so that a seed gives the same figures alone."""
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def uniform(sources: Sequence[torch.Generator], *shape: int) -> Tensor:
    return torch.stack([torch.rand(shape, generator=g, dtype=REAL) for g in sources])


def normal(sources: Sequence[torch.Generator], *shape: int) -> Tensor:
    """Draw standard normal numbers from every source: [sources, *shape]."""
    return torch.stack([torch.randn(shape, generator=g, dtype=REAL) for g in sources])
