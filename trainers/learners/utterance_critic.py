"""Double critics of whole utterances on the policy's hidden states (ArCHer, arXiv 2402.19446).

Q_c(s, a) reads the state before the last token of a reply, which has seen all that was said, and
V_c(s) the state before its first token. Slow copies give the targets:
Q_c <- r + gamma V_c^slow(s'), V_c <- Q_c^slow(s, a). The trunk is not trained by them.

Left out: the buffer of old trajectories. Every batch is fresh, so the reply that was played is one
of the current policy, as a' in the target of V has to be.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from coevo.trainers.learners.settings import UtteranceCritic

CRITICS = 2


class UtteranceCriticNet(nn.Module):
    """Two linear Q heads, two linear V heads, and a slow copy of each.

    Args:
        hidden: size of the hidden states.
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.q, self.v = nn.Linear(hidden, CRITICS), nn.Linear(hidden, CRITICS)
        noise = torch.Generator().manual_seed(0)
        for head in (self.q, self.v):
            # Apart from each other, for the smaller of two to mean anything.
            nn.init.normal_(head.weight, std=0.01, generator=noise)
            nn.init.zeros_(head.bias)
        self.slow_q = copy.deepcopy(self.q).requires_grad_(False)
        self.slow_v = copy.deepcopy(self.v).requires_grad_(False)

    def judge(self, before_BTH: Tensor, after_BTH: Tensor) -> tuple[Tensor, Tensor]:
        """Return Q of what was said and V of where it was said, [B, T, 2] each."""
        return self.q(after_BTH), self.v(before_BTH)

    def fit(
        self,
        before_BTH: Tensor,
        after_BTH: Tensor,
        reward_BT: Tensor,
        mask_BT: Tensor,
        optimizer: torch.optim.Optimizer,
        spec: UtteranceCritic,
    ) -> float:
        """Regress on the targets of the slow copies, which follow after every step.

        Args:
            before_BTH: hidden state before the first token of every turn.
            after_BTH: hidden state before its last token.
            reward_BT: composed reward of every turn.
            mask_BT: True at real turns.
            optimizer: holds the parameters of the live heads.
            spec: passes, discount and speed of the slow copies.

        Returns:
            Mean squared error of the last pass.
        """
        weight_BT1 = mask_BT.unsqueeze(-1).to(before_BTH)
        for _ in range(spec.passes):
            with torch.no_grad():
                v_slow_BTC, q_slow_BTC = self.slow_v(before_BTH), self.slow_q(after_BTH)
                q_goal_BTC = q_target(reward_BT.to(v_slow_BTC), v_slow_BTC, mask_BT, spec.gamma)
                v_goal_BTC = v_target(q_slow_BTC, mask_BT)
            q_BTC, v_BTC = self.judge(before_BTH, after_BTH)
            error = (q_BTC - q_goal_BTC) ** 2 + (v_BTC - v_goal_BTC) ** 2
            loss = (error * weight_BT1).sum() / weight_BT1.sum().clamp(min=1) / CRITICS
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            polyak(self.slow_q.parameters(), self.q.parameters(), spec.tau)
            polyak(self.slow_v.parameters(), self.v.parameters(), spec.tau)
        optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())


def q_target(reward_BT: Tensor, v_slow_BTC: Tensor, mask_BT: Tensor, gamma: float) -> Tensor:
    """Target of every Q critic: r_t + gamma V_c(s_{t+1}), only r_t at the last turn: [B, T, C].

    Args:
        reward_BT: rewards of the turns.
        v_slow_BTC: what the slow copies of the V critics say before every turn.
        mask_BT: True at real turns.
        gamma: discount per turn; ArCHer uses 0.95.

    >>> reward_BT, v_BTC = torch.tensor([[0.0, 1.0]]), torch.tensor([[[0.25], [0.5]]])
    >>> q_target(reward_BT, v_BTC, torch.ones(1, 2).bool(), 0.5).tolist()
    [[[0.25], [1.0]]]
    """
    v_BTC = torch.where(mask_BT.unsqueeze(-1), v_slow_BTC, 0.0)
    ahead_BTC = torch.cat([v_BTC[:, 1:], torch.zeros_like(v_BTC[:, :1])], dim=1)
    target_BTC = reward_BT.unsqueeze(-1) + gamma * ahead_BTC
    return torch.where(mask_BT.unsqueeze(-1), target_BTC, 0.0)


def v_target(q_slow_BTC: Tensor, mask_BT: Tensor) -> Tensor:
    """Target of every V critic: Q_c(s_t, a') of its slow Q critic, a' sampled afresh from pi(s_t).

    The action of the trajectory is not a': it was drawn from an older policy.

    >>> v_target(torch.tensor([[[0.5], [9.0]]]), torch.tensor([[True, False]])).tolist()
    [[[0.5], [0.0]]]
    """
    return torch.where(mask_BT.unsqueeze(-1), q_slow_BTC.detach(), 0.0)


@torch.no_grad()
def polyak(slow: Iterable[Tensor], live: Iterable[Tensor], tau: float = 0.1) -> None:
    """Move the slow parameters, in place: slow <- (1 - tau) slow + tau live.

    >>> slow = torch.zeros(1)
    >>> polyak([slow], [torch.ones(1)], tau=0.25)
    >>> slow.tolist()
    [0.25]
    """
    for old, new in zip(slow, live, strict=True):
        old.lerp_(new.to(old.dtype), tau)
