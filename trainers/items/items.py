"""Items that are compared or imitated whole: pairs of replies, demonstrations.

An item is one or several trajectories and what each was worth. Its loss reads one number per
trajectory, the sum of the log-probabilities of its tokens, so that neither the length of a reply,
nor how many turns it has, nor how often it occurs in items changes how it is computed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from coevo.trainers.items.sequences import Sequences


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

    @property
    def log_ratio_NK(self) -> Tensor:
        """Log of the ratio of policy to reference, per trajectory."""
        assert self.logp_ref_NK is not None  # the loss declares that it needs a reference
        return self.logp_NK - self.logp_ref_NK


@dataclass(frozen=True)
class Items:
    """N items of K trajectories each; in a pair the first is preferred to the second."""

    sequences: Sequences
    """Of all trajectories that items may be made of."""
    at_NK: Tensor
    """Trajectory of each place."""
    worth_NK: Tensor

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.at_NK)

    @property
    def roles(self) -> tuple[str, ...]:
        """Roles that something was written in."""
        return self.sequences.roles

    def said_as(self, roles: Collection[str]) -> Items:
        """Return what was said in some roles."""
        return self._over(self.sequences.said_as(roles))

    def written_by(self, policy: str) -> tuple[Items, Tensor]:
        """Return the items of one parameter set, and their indices."""
        own = self._kept(self.sequences.written_by(policy)[0])
        at = own.nonzero().squeeze(-1)
        return self.chosen(at.tolist()), at

    def chosen(self, items: Sequence[int]) -> Items:
        """Return some items, and no sequence that they do not need."""
        at_N = torch.as_tensor(items, dtype=torch.int64)
        at_NK = self.at_NK[at_N]
        needed_C = torch.isin(self.sequences.trajectory_C, at_NK)
        sequences = self.sequences.chosen(needed_C.nonzero().squeeze(-1))
        return Items(sequences, at_NK, self.worth_NK[at_N])

    def summed(self, value_CL: Tensor) -> Tensor:
        """Add up values of tokens over every trajectory: [C, L] -> [B]."""
        s = self.sequences
        row_C = torch.where(s.mask_CL.to(value_CL.device), value_CL, 0.0).sum(1)
        most = int(self.at_NK.max()) + 1 if len(self) else 0
        most = max(most, int(s.trajectory_C.max()) + 1 if len(s) else 0)
        return row_C.new_zeros(most).index_add(0, s.trajectory_C.to(row_C.device), row_C)

    def inputs(self, logp_B: Tensor) -> ItemInputs:
        """Return what a loss reads, from the summed log-probability of every trajectory."""
        s, ref_NK = self.sequences, None
        tokens_B = self.summed(torch.ones(s.mask_CL.shape, dtype=logp_B.dtype)).to(logp_B)
        if s.logp_ref_CL is not None:
            ref_NK = self.summed(s.logp_ref_CL).to(logp_B)[self.at_NK]
        worth_NK = self.worth_NK.to(logp_B)
        return ItemInputs(logp_B[self.at_NK], tokens_B[self.at_NK].clamp(min=1), worth_NK, ref_NK)

    def _over(self, sequences: Sequences) -> Items:
        kept = replace(self, sequences=sequences)
        return kept.chosen(kept._kept(sequences).nonzero().squeeze(-1).tolist())

    def _kept(self, sequences: Sequences) -> Tensor:
        """Return which items have all their trajectories among some sequences."""
        return torch.isin(self.at_NK, sequences.trajectory_C).all(1)
