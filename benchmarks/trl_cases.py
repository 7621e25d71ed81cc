"""What `trl_crosscheck` compares: one recorded batch, and settings of TRL beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

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
    logp_old_BL: Tensor
    """Log-probabilities at the start of the update."""
    logp_ref_BL: Tensor
    """Under the reference."""
    logp_roll_BL: Tensor
    """As the sampler reported them."""
    rewards: Mapping[str, Tensor]
    """Component -> [B]. `outcome` decides, one group of it is all equal; `style` is a second one;
    `flat` is `outcome` with 0.9, which float32 cannot hold, in the place of that group."""
    group_size: int
    """Rows of a group, which follow one another."""
    max_length: int
    """Greatest length that was allowed; no reply reaches it."""

    @property
    def mask_BL(self) -> Tensor:
        """True at tokens, False at padding."""
        return torch.arange(self.tokens_BL.shape[1]) < self.length_B.unsqueeze(1)

    def arrays(self) -> dict[str, Any]:
        """Name everything as `trl_side` reads it."""
        named = {
            "tokens": self.tokens_BL,
            "lengths": self.length_B,
            "now": self.logits_BLV,
            "logp_old": self.logp_old_BL,
            "logp_ref": self.logp_ref_BL,
            "logp_roll": self.logp_roll_BL,
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

    def near(logp_BL: Tensor, spread: float) -> Tensor:
        return logp_BL + spread * torch.randn(logp_BL.shape, generator=noise, dtype=logp_BL.dtype)

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
    trainer: Literal["GRPOTrainer", "RLOOTrainer"] = "GRPOTrainer"
    """Class of TRL."""
    record: str
    """Algorithm of ours."""
    asked: Mapping[str, Any] = field(default_factory=dict)
    """Changes of the record that ask for the same algorithm as `trl`."""
    same: Mapping[str, Any] = field(default_factory=dict)
    """Further changes that take over what TRL does differently."""
    value: Mapping[str, Any] = field(default_factory=dict)
    """Further changes for the number of the loss alone, where value and gradient part."""
    counts: Literal["ours", "raw", "rows", "each"] = "ours"
    """Denominators in `same`: ours; with rejected tokens; with rows that have no token; or those
    of each micro-batch, averaged."""
    kl_inside: bool = False
    """In `same`: the KL term is aggregated like the policy loss."""
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

    def asked_of_trl(self) -> dict[str, Any]:
        """Give what `trl_side` needs to know."""
        names = ("name", "trainer", "micro_batches", "windows")
        plain = {name: getattr(self, name) for name in names}
        return plain | {"config": dict(self.trl), "rewards": list(self.rewards)}


EPS = {"advantage.eps": 1e-4}
EPS_WHY = "TRL adds 1e-4 to the deviation, the record 1e-6"
VLLM = {"use_vllm": True, "loss_type": "dapo", "epsilon_high": 0.28, "delta": 10.0}
K3 = {"beta": 0.04, "use_bias_correction_kl": False}
CLIP = "ppo_clip(eps_lo=0.2, eps_hi=0.2)"

LOSSES = (
    Case(name="grpo", record="grpo", trl={"loss_type": "grpo"}, same=EPS, why=EPS_WHY),
    Case(
        name="grpo, std of the batch",
        record="grpo",
        trl={"loss_type": "grpo", "scale_rewards": "batch"},
        asked={"advantage.scale": "batch_std"},
        same=EPS,
        why=EPS_WHY,
    ),
    Case(
        name="grpo, two rewards",
        record="grpo",
        trl={"loss_type": "grpo"},
        rewards=("outcome", "style"),
        same=EPS,
        why=EPS_WHY,
    ),
    Case(name="dr_grpo", record="dr_grpo", trl={"loss_type": "dr_grpo", "scale_rewards": "none"}),
    Case(
        name="dapo",
        record="dapo",
        trl={"loss_type": "dapo", "epsilon_high": 0.28, "delta": 10.0},
        same=EPS,
        why=EPS_WHY,
    ),
    Case(
        name="two-sided clip, delta 1.5",
        record="dr_grpo",
        trl={"loss_type": "dr_grpo", "scale_rewards": "none", "delta": 1.5},
        asked={"loss.kind": "dual_clip(eps_lo=0.2, eps_hi=0.2, c=1.5)"},
    ),
    Case(
        name="gspo",
        record="gspo",
        trl={
            "loss_type": "grpo",
            "importance_sampling_level": "sequence",
            "epsilon": 3e-4,
            "epsilon_high": 4e-4,
        },
        same=EPS,
        why=EPS_WHY,
    ),
    Case(
        name="gspo, clip 0.2",
        record="gspo",
        trl={"loss_type": "grpo", "importance_sampling_level": "sequence", "scale_rewards": "none"},
        asked={"advantage.scale": "none", "loss.kind": CLIP},
    ),
    Case(
        name="luspo",
        record="gspo",
        trl={
            "loss_type": "luspo",
            "importance_sampling_level": "sequence",
            "scale_rewards": "none",
        },
        asked={
            "advantage.scale": "none",
            "loss.kind": CLIP,
            "loss.aggregate": "seq_mean_token_sum",
        },
    ),
    Case(
        name="bnpo: token mean of each micro-batch, one of them",
        record="dr_grpo",
        trl={"loss_type": "bnpo", "scale_rewards": "none"},
        asked={"loss.aggregate": "token_mean"},
    ),
    Case(
        name="cispo",
        record="cispo",
        trl={"loss_type": "cispo", "epsilon_high": 1.5, "scale_rewards": "none"},
        asked={"advantage.scale": "none", "loss.kind": "cispo(form=cap, cap=1.5)"},
    ),
    Case(name="sapo", record="sapo", trl={"loss_type": "sapo"}, same=EPS, why=EPS_WHY),
    Case(
        name="gdpo",
        record="gdpo",
        trl={"loss_type": "dapo", "multi_objective_aggregation": "normalize_then_sum"},
        rewards=("outcome", "style"),
    ),
)

TERMS = (
    Case(
        name="dapo, KL 0.04 (k3)",
        record="dr_grpo",
        trl={"loss_type": "dapo", "scale_rewards": "none", **K3},
        asked={"loss.aggregate": "token_mean", "loss.regularise": "kl(kind=k3, coef=0.04)"},
    ),
    Case(
        name="dapo, KL 0.04 as TRL has it by default",
        record="dr_grpo",
        trl={"loss_type": "dapo", "scale_rewards": "none", "beta": 0.04},
        asked={
            "loss.aggregate": "token_mean",
            "loss.regularise": "kl(kind=k2grad_k3value, coef=0.04, importance=true)",
        },
    ),
    Case(
        name="grpo, KL 0.04 (k3)",
        record="grpo",
        trl={"loss_type": "grpo", **K3},
        asked={"loss.regularise": "kl(kind=k3, coef=0.04)", **EPS},
        kl_inside=True,
        why="TRL aggregates the KL like the policy loss, ours is a token mean",
    ),
    Case(
        name="dr_grpo, KL 0.04 (k3)",
        record="dr_grpo",
        trl={"loss_type": "dr_grpo", "scale_rewards": "none", **K3},
        asked={"loss.regularise": "kl(kind=k3, coef=0.04)"},
        kl_inside=True,
        why="TRL aggregates the KL like the policy loss, ours is a token mean",
    ),
    Case(
        name="dr_grpo, entropy bonus 0.01",
        record="dr_grpo",
        trl={"loss_type": "dr_grpo", "scale_rewards": "none", "entropy_coef": 0.01},
        asked={"loss.regularise": "entropy(coef=0.01)"},
    ),
    Case(
        name="dr_grpo, top fifth by entropy",
        record="dr_grpo",
        trl={"loss_type": "dr_grpo", "scale_rewards": "none", "top_entropy_quantile": 0.2},
        asked={"loss.gates": "entropy_quantile(keep=0.2)"},
    ),
    Case(
        name="dr_grpo, off-policy rows silenced",
        record="dr_grpo",
        trl={"loss_type": "dr_grpo", "scale_rewards": "none", "off_policy_mask_threshold": 0.02},
        asked={"loss.gates": "offpolicy(delta=0.02)"},
    ),
    Case(
        name="dapo, token TIS 1.2",
        record="dapo",
        trl={
            **VLLM,
            "vllm_importance_sampling_mode": "token_truncate",
            "vllm_importance_sampling_clip_max": 1.2,
        },
        asked={"loss.correct": "token_tis(cap=1.2)", **EPS},
    ),
    Case(
        name="dapo, row TIS 1.2",
        record="dapo",
        trl={
            **VLLM,
            "vllm_importance_sampling_mode": "sequence_truncate",
            "vllm_importance_sampling_clip_max": 1.2,
        },
        asked={"loss.correct": "seq_tis(cap=1.2)", **EPS},
    ),
    Case(
        name="dapo, token mask 0.8 to 1.2",
        record="dapo",
        trl={
            **VLLM,
            "vllm_importance_sampling_mode": "token_mask",
            "vllm_importance_sampling_clip_min": 0.8,
            "vllm_importance_sampling_clip_max": 1.2,
        },
        asked={"loss.correct": "token_mis(lo=0.8, hi=1.2)", **EPS},
        counts="raw",
        why="rejected tokens stay in TRL's denominator and leave ours",
    ),
    Case(
        name="dapo, row mask 1.5",
        record="dapo",
        trl={
            **VLLM,
            "vllm_importance_sampling_mode": "sequence_mask",
            "vllm_importance_sampling_clip_max": 1.5,
        },
        asked={"loss.correct": "seq_mis(hi=1.5)", **EPS},
        counts="raw",
        why="rejected tokens stay in TRL's denominator and leave ours",
    ),
)

CUTS = (
    Case(
        name="grpo, 3 micro-batches",
        record="grpo",
        trl={"loss_type": "grpo"},
        asked=EPS,
        micro_batches=3,
    ),
    Case(
        name="dr_grpo, 3 micro-batches",
        record="dr_grpo",
        trl={"loss_type": "dr_grpo", "scale_rewards": "none"},
        micro_batches=3,
    ),
    Case(
        name="dapo, 3 micro-batches",
        record="dapo",
        trl={"loss_type": "dapo", "epsilon_high": 0.28, "delta": 10.0},
        asked=EPS,
        micro_batches=3,
    ),
    Case(
        name="dapo, first of 3 steps on one generation",
        record="dapo",
        trl={"loss_type": "dapo", "epsilon_high": 0.28, "delta": 10.0},
        asked=EPS,
        micro_batches=3,
        windows=3,
    ),
    Case(
        name="bnpo, 3 micro-batches",
        record="dr_grpo",
        trl={"loss_type": "bnpo", "scale_rewards": "none"},
        asked={"loss.aggregate": "token_mean"},
        micro_batches=3,
        counts="each",
        why="TRL averages the token means of the micro-batches: the loss depends on the cut",
    ),
    Case(
        name="grpo, cut-off replies masked",
        record="grpo",
        trl={"loss_type": "grpo", "mask_truncated_completions": True},
        asked=EPS,
        silent_cut=True,
        counts="rows",
        why="a row without tokens counts in TRL's mean over rows and not in ours",
    ),
    Case(
        name="grpo, a group of equal rewards 0.9",
        record="grpo",
        trl={"loss_type": "grpo"},
        asked=EPS,
        rewards=("flat",),
        open=True,
        why="in float32 the mean of six 0.9 is not 0.9, and TRL divides the residue by 1e-4; ours "
        "gives such a group exactly 0",
    ),
)

RLOO = (
    Case(
        name="rloo, ratio of the row clipped",
        record="rloo",
        trainer="RLOOTrainer",
        trl={"beta": 0.0},
        asked={"loss.ratio_level": "seq_prod", "loss.kind": CLIP},
        value={"loss.aggregate": "seq_mean_token_mean"},
        why="gradient equal; ours counts the value of a row once per token",
    ),
    Case(
        name="rloo, KL 0.05 in the reward",
        record="rloo",
        trainer="RLOOTrainer",
        trl={"beta": 0.05},
        asked={
            "advantage.kl_in_reward": 0.05,
            "loss.ratio_level": "seq_prod",
            "loss.kind": CLIP,
        },
        value={"loss.aggregate": "seq_mean_token_mean"},
        why="gradient equal; ours counts the value of a row once per token",
    ),
)

CASES = (*LOSSES, *RLOO, *TERMS, *CUTS)
