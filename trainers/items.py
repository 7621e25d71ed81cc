"""Items that are learnt from whole: pairs of replies, demonstrations, failures.

An item is one or several trajectories and what each was worth. Its loss reads one or two numbers
per trajectory: the sum of the log-probabilities of its tokens, and of what the loss makes of each,
so that neither the length of a reply, nor how many turns it has, nor how often it occurs in items
changes how it is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from coevo.trainers.batch import Batch

OfTokens = Callable[[Tensor, Tensor | None], Tensor | None]
"""Log-probabilities of tokens, [C, L], and those under the reference -> what each costs."""


@dataclass(frozen=True)
class ItemInputs:
    """What the loss of N items reads of their K trajectories each."""

    logp_NK: Tensor
    """Sum of the log-probabilities of all tokens, in nats."""
    tokens_NK: Tensor
    """Number of tokens, at least 1."""
    worth_NK: Tensor
    """What each was worth, such as a reward or the probability that it is preferred."""
    logp_ref_NK: Tensor | None = None
    """The sum under the reference policy."""
    cost_NK: Tensor | None = None
    """Sum of what the loss says that each token costs by itself."""

    @property
    def reward_NK(self) -> Tensor:
        """What the reward head gives: it stands in the place of the log-probability."""
        return self.logp_NK

    @property
    def log_ratio_NK(self) -> Tensor:
        """Log of the ratio of policy to reference, per trajectory."""
        assert self.logp_ref_NK is not None  # the loss declares that it needs a reference
        return self.logp_NK - self.logp_ref_NK

    @property
    def token_cost_NK(self) -> Tensor:
        """Sum of the costs of the tokens, per trajectory."""
        assert self.cost_NK is not None  # the loss gives a cost of each
        return self.cost_NK


@dataclass(frozen=True)
class Items:
    """N items of K trajectories each; in a pair the first is preferred to the second."""

    batch: Batch
    """All trajectories that items may be made of."""
    at_NK: Tensor
    """Trajectory of each place."""
    worth_NK: Tensor

    def __len__(self) -> int:
        return len(self.at_NK)

    @property
    def roles(self) -> tuple[str, ...]:
        """Roles that something was written in."""
        return self.batch.roles

    def said_as(self, roles: Collection[str]) -> Items:
        """Return what was said in some roles."""
        return self._over(self.batch.said_as(roles))

    def written_by(self, policy: str) -> tuple[Items, Tensor]:
        """Return the items of one parameter set, and their indices."""
        own = self._kept(self.batch.written_by(policy)[0])
        at = own.nonzero().squeeze(-1)
        return self.chosen(at.tolist()), at

    def chosen(self, items: Sequence[int]) -> Items:
        """Return some items, and no context that they do not need."""
        at_N = torch.as_tensor(items, dtype=torch.int64)
        at_NK = self.at_NK[at_N]
        needed_C = torch.isin(self.batch.trajectory_C, at_NK)
        batch = self.batch.chosen(needed_C.nonzero().squeeze(-1))
        return Items(batch, at_NK, self.worth_NK[at_N])

    def summed(self, value_CL: Tensor) -> Tensor:
        """Add up values of tokens over every trajectory: [C, L] -> [B]."""
        s = self.batch
        row_C = torch.where(s.mask_CL.to(value_CL.device), value_CL, 0.0).sum(1)
        most = int(self.at_NK.max()) + 1 if len(self) else 0
        most = max(most, int(s.trajectory_C.max()) + 1 if len(s) else 0)
        return row_C.new_zeros(most).index_add(0, s.trajectory_C.to(row_C.device), row_C)

    def inputs(self, logp_CL: Tensor, of_tokens: OfTokens | None = None) -> ItemInputs:
        """Return what a loss reads.

        Args:
            logp_CL: log-probability of every token.
            of_tokens: gives the cost of every token by itself, from its log-probability and that
                under the reference; what it gives at padding does not count.
        """
        s, cost_CL = self.batch, None
        ref_CL = None if s.logp_ref_CL is None else s.logp_ref_CL.to(logp_CL)
        if of_tokens is not None:
            cost_CL = of_tokens(logp_CL, ref_CL)
        counted_CL = torch.ones_like(logp_CL)
        return ItemInputs(
            self.summed(logp_CL)[self.at_NK],
            self.summed(counted_CL)[self.at_NK].clamp(min=1),
            self.worth_NK.to(logp_CL),
            None if ref_CL is None else self.summed(ref_CL)[self.at_NK],
            None if cost_CL is None else self.summed(cost_CL)[self.at_NK],
        )

    def _over(self, batch: Batch) -> Items:
        kept = replace(self, batch=batch)
        return kept.chosen(kept._kept(batch).nonzero().squeeze(-1).tolist())

    def _kept(self, batch: Batch) -> Tensor:
        """Return which items have all their trajectories among some contexts."""
        return torch.isin(self.at_NK, batch.trajectory_C).all(1)


# ---- What items are made of ------------------------------------------------------------------

Units = tuple[Batch, list[float], list[list[int]]]
"""What items are made of: a batch, the worth of each trajectory, and which may be compared."""


def turns(batch: Batch, weights: Mapping[str, float]) -> Units:
    """Return single turns as trajectories of their own, each worth its reward."""
    alone, of_U2 = batch.by_turn()
    worth_U = _weighted(batch, weights).sum(2)[of_U2[:, 0], of_U2[:, 1]]
    return alone, worth_U.tolist(), [[u] for u in range(len(of_U2))]


def worths(batch: Batch, weights: Mapping[str, float]) -> list[float]:
    """Return the sum of the rewards of every trajectory, components weighted."""
    worth: list[float] = _weighted(batch, weights).sum((1, 2)).tolist()
    return worth


def _weighted(batch: Batch, weights: Mapping[str, float]) -> Tensor:
    """Return the weighted reward of every turn, [B, T, K]."""
    weight_K = batch.reward_BTK.new_tensor([weights.get(c, 1.0) for c in batch.components])
    return batch.reward_BTK * weight_K


def groups(batch: Batch) -> Iterator[list[int]]:
    """Return the trajectories with tokens that may be compared, task by task."""
    learns = set(batch.trajectory_C.tolist())
    found: dict[tuple[int, ...], list[int]] = {}
    names = [batch.keys[k].tolist() for k in ("group", "seat", "policy")]
    for b, key in enumerate(zip(*names, strict=True)):
        if b in learns:
            found.setdefault(key, []).append(b)
    yield from found.values()
