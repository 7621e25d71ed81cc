"""What the policy loss reads: log-probabilities, advantages and masks of some rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError

CONSTANTS = ("logp_old_BL", "advantage_BL", "logp_roll_BL", "logp_ref_BL")
"""Fields that never carry a gradient."""


@dataclass(frozen=True)
class LossInputs:
    """Rows of one micro-batch, tensors [B, L]; what lies outside the mask is never read.

    Raises:
        ConfigError: The shapes differ, the mask is not bool or the turns are not int64.
    """

    logp_BL: Tensor
    """Log-probability of each token now, with gradient."""
    logp_old_BL: Tensor
    """The same at the start of the update, in the trainer's numerics."""
    advantage_BL: Tensor
    """Advantage of each token; used as a constant."""
    mask_BL: Tensor
    """True at tokens that the trained policy sampled."""
    turn_id_BL: Tensor
    """Turn of each token (int64), -1 outside."""
    logp_roll_BL: Tensor | None = None
    """Log-probability that the sampler reported."""
    logp_ref_BL: Tensor | None = None
    """Log-probability under the reference policy."""
    entropy_BL: Tensor | None = None
    """Entropy at each token, with gradient if it is regularised."""
    kl_magnet_BL: Tensor | None = None
    """Exact KL to the magnet policy at each token, with gradient."""
    surveyed: Mapping[str, Tensor] = field(default_factory=dict)
    """Option name -> what `survey` found for it over the whole mini-batch, [B, L]."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """What options keep from update to update, such as an adaptive coefficient."""

    def __post_init__(self) -> None:
        for name, tensor in self.tensors().items():
            if tensor.shape != self.logp_BL.shape:
                raise ConfigError(
                    f"{name} has shape {tuple(tensor.shape)}, but logp_BL has "
                    f"{tuple(self.logp_BL.shape)}"
                )
        if self.mask_BL.dtype != torch.bool or self.turn_id_BL.dtype != torch.int64:
            raise ConfigError(
                f"mask_BL is {self.mask_BL.dtype} and turn_id_BL is {self.turn_id_BL.dtype}; "
                "expected bool and int64"
            )

    def tensors(self) -> dict[str, Tensor]:
        """Give every tensor that is there by its name; surveyed ones as `surveyed/<option>`."""
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        found = {n: t for n, t in named.items() if isinstance(t, Tensor)}
        return found | {f"surveyed/{n}": t for n, t in self.surveyed.items()}

    def needed(self, name: str, option: str) -> Tensor:
        """Give a field that an option cannot do without.

        Raises:
            ConfigError: The field is None.
        """
        tensor: Tensor | None = getattr(self, name)
        if tensor is None:
            raise ConfigError(f"{option!r} needs {name} in the loss inputs")
        return tensor


def from_tokens(
    logp: Sequence[Sequence[float]] | Tensor,
    advantage: Sequence[float] | Tensor | None = None,
    old: Sequence[Sequence[float]] | Tensor | None = None,
    **rest: Tensor,
) -> LossInputs:
    """Build inputs without padding from plain lists, for small checks by hand.

    Args:
        logp: Log-probability of every token, [B, L].
        advantage: One advantage per row, 1 where not given.
        old: Log-probabilities at the start of the update; as now where not given.
        **rest: Other tensors of `LossInputs`; the mask is full and there is one turn by default.

    >>> x = from_tokens([[-1.0, -2.0]], advantage=[0.5])
    >>> x.advantage_BL.tolist(), x.mask_BL.tolist()
    ([[0.5, 0.5]], [[True, True]])
    """
    logp_BL = torch.as_tensor(logp)
    old_BL = logp_BL.detach() if old is None else torch.as_tensor(old)
    a_B = torch.ones(len(logp_BL)) if advantage is None else torch.as_tensor(advantage)
    mask_BL = rest.pop("mask_BL", torch.ones_like(logp_BL, dtype=torch.bool))
    turn_BL = rest.pop("turn_id_BL", torch.where(mask_BL, 0, -1))
    advantage_BL = a_B.unsqueeze(1).expand_as(logp_BL)
    return LossInputs(logp_BL, old_BL, advantage_BL, mask_BL, turn_BL, **rest)  # type: ignore[arg-type]


def blank(inputs: LossInputs) -> LossInputs:
    """Raise every float field to float32 or better and blank what lies outside the mask.

    >>> mask_BL = torch.tensor([[True, False]])
    >>> blank(from_tokens([[-1.0, float("nan")]], mask_BL=mask_BL)).logp_BL.tolist()
    [[-1.0, 0.0]]
    """
    dtype = torch.promote_types(inputs.logp_BL.dtype, torch.float32)

    def clean(name: str, tensor: Tensor) -> Tensor:
        if not tensor.is_floating_point():
            return tensor
        kept = torch.where(inputs.mask_BL, tensor.to(dtype), 0.0)
        return kept.detach() if name in CONSTANTS else kept

    named = {f.name: getattr(inputs, f.name) for f in fields(inputs)}
    changes: dict[str, Any] = {n: clean(n, t) for n, t in named.items() if isinstance(t, Tensor)}
    surveyed = {n: clean(n, t) for n, t in inputs.surveyed.items()}
    return replace(inputs, **changes | {"surveyed": surveyed})
