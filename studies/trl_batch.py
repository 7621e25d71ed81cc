"""What `trl_crosscheck` compares: one recorded batch, and the form of a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from coevo.trainers.losses import ItemLoss

VOCABULARY, END = 13, 12
"""Token ids; `END` closes a reply."""


@dataclass(frozen=True)
class Batch:
    """Replies of several groups with everything that a loss reads, off policy."""

    tokens_BL: Tensor
    """Sampled ids; all but one row end with `END`, 0 is padding."""
    length_B: Tensor
    """Tokens of every reply."""
    logits_BLV: Tensor
    """Of the current policy; the gradient is taken with respect to them."""
    logp_old_CL: Tensor
    """Log-probabilities at the start of the update."""
    logp_ref_CL: Tensor
    """Under the reference."""
    logp_behaviour_CL: Tensor
    """As the sampler reported them."""
    rewards: Mapping[str, Tensor]
    """Component -> [B]. `outcome` decides, one group of it is all equal; `style` is a second one;
    `flat` is `outcome` with 0.9, which float32 cannot hold, in the place of that group."""
    group_size: int
    """Rows of a group, which follow one another."""
    max_length: int
    """Greatest length that was allowed; no reply reaches it."""

    @property
    def mask_CL(self) -> Tensor:
        """True at tokens, False at padding."""
        return torch.arange(self.tokens_BL.shape[1]) < self.length_B.unsqueeze(1)

    @property
    def own_BL(self) -> Tensor:
        """False at every third token, which a case with `holes` takes for somebody else's."""
        return self.mask_CL & (torch.arange(self.tokens_BL.shape[1]) % 3 != 2)

    @property
    def logp_CL(self) -> Tensor:
        """Log-probabilities of the tokens under the current policy."""
        log_BLV = self.logits_BLV.log_softmax(-1)
        return log_BLV.gather(2, self.tokens_BL.unsqueeze(2)).squeeze(2)

    def arrays(self) -> dict[str, Any]:
        """Name everything as `trl_side` reads it."""
        named = {
            "tokens": self.tokens_BL,
            "lengths": self.length_B,
            "now": self.logits_BLV,
            "own": self.own_BL.long(),
            "logp_now": self.logp_CL,
            "logp_old": self.logp_old_CL,
            "logp_ref": self.logp_ref_CL,
            "logp_behaviour": self.logp_behaviour_CL,
        }
        named |= {f"reward_{name}": reward_B for name, reward_B in self.rewards.items()}
        numbers = {"group_size": self.group_size, "max_length": self.max_length, "end": END}
        return {name: tensor.numpy() for name, tensor in named.items()} | numbers


def make_batch(
    seed: int, groups: int = 4, group_size: int = 6, max_length: int = 16, wide: bool = False
) -> Batch:
    """Draw a batch in which clips bite on both sides.

    Args:
        seed: of every draw.
        groups: prompts.
        group_size: replies to each.
        max_length: length allowed; replies have 2 to `max_length - 2` tokens.
        wide: float64 in the place of float32.
    """
    noise = torch.Generator().manual_seed(seed)
    rows, longest = groups * group_size, max_length - 2
    length_B = torch.randint(2, longest + 1, (rows,), generator=noise)
    length_B[-1] = longest
    tokens_BL = torch.randint(1, END, (rows, longest), generator=noise)
    at_L = torch.arange(longest)
    tokens_BL[at_L == length_B.unsqueeze(1) - 1] = END
    tokens_BL[rows // 2, length_B[rows // 2] - 1] = 1  # one reply was cut off
    tokens_BL[at_L >= length_B.unsqueeze(1)] = 0

    def near(logp_CL: Tensor, spread: float) -> Tensor:
        return logp_CL + spread * torch.randn(logp_CL.shape, generator=noise, dtype=logp_CL.dtype)

    dtype = torch.float64 if wide else torch.float32
    logits_BLV = torch.randn(rows, longest, VOCABULARY, generator=noise, dtype=dtype)
    now_BL = logits_BLV.log_softmax(-1).gather(2, tokens_BL.unsqueeze(2)).squeeze(2)
    old_BL = near(now_BL, 0.4)
    outcome_B = torch.randint(0, 3, (rows,), generator=noise).to(dtype) / 2
    outcome_B[:2] = torch.tensor([0.0, 1.0])
    flat_B = outcome_B.clone()
    equal = slice(group_size, 2 * group_size)
    outcome_B[equal], flat_B[equal] = 1.0, 0.9
    style_B = torch.rand(rows, generator=noise).to(dtype)
    return Batch(
        tokens_BL,
        length_B,
        logits_BLV,
        old_BL,
        near(now_BL, 0.6),
        near(old_BL, 0.2),
        {"outcome": outcome_B, "style": style_B, "flat": flat_B},
        group_size,
        max_length,
    )


@dataclass(frozen=True, kw_only=True)
class Case:
    """One setting of TRL, the record of ours that means the same, and what makes them equal."""

    name: str
    """Row of the table."""
    trl: Mapping[str, Any]
    """Arguments of TRL's config."""
    trainer: Literal["GRPOTrainer", "RLOOTrainer", "DPOTrainer", "CPOTrainer"] = "GRPOTrainer"
    """Class of TRL; the latter two compare every row with the one after it, which lost."""
    record: str
    """Algorithm of ours, or loss."""
    pairs: tuple[ItemLoss, ...] = ()
    """Losses of pairs and demonstrations that ask for the same as `trl`, in the record's place."""
    pairs_same: tuple[ItemLoss, ...] = ()
    """Losses that take over what TRL does differently; empty where nothing is."""
    asked: Mapping[str, Any] = field(default_factory=dict)
    """Changes of the record that ask for the same algorithm as `trl`."""
    same: Mapping[str, Any] = field(default_factory=dict)
    """Further changes that take over what TRL does differently."""
    value: Mapping[str, Any] = field(default_factory=dict)
    """Further changes for the number of the loss alone, where value and gradient part."""
    counts: Literal["ours", "raw", "rows", "each"] = "ours"
    """Denominators in `same`: ours; with rejected tokens; with rows that have no token; or those
    of each micro-batch, averaged."""
    why: str = ""
    """Reason of the difference between `asked` and TRL; empty where there is none."""
    open: bool = False
    """No option of ours does what TRL does: the difference stays."""
    rewards: tuple[str, ...] = ("outcome",)
    """Components of the batch."""
    micro_batches: int = 1
    """Parts that the batch is cut into."""
    windows: int = 1
    """Optimiser steps that they are shared out among; the first one is compared."""
    silent_cut: bool = False
    """The reply that was cut off leaves the mask."""
    holes: bool = False
    """Some tokens inside replies are not the policy's: the output of a tool, another player."""
    fresh: bool = False
    """On policy: the old log-probabilities are the current ones."""

    def asked_of_trl(self) -> dict[str, Any]:
        """Return what `trl_side` needs to know."""
        names = ("name", "trainer", "micro_batches", "windows", "holes", "fresh")
        plain = {name: getattr(self, name) for name in names}
        return plain | {"config": dict(self.trl), "rewards": list(self.rewards)}
