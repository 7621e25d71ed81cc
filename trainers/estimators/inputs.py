"""What the policy loss reads: log-probabilities, advantages and masks of some rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError

CONSTANTS = ("logp_old_CL", "advantage_CL", "logp_behaviour_CL", "logp_ref_CL")
"""Fields that never carry a gradient."""


@dataclass(frozen=True)
class LossInputs:
    """Rows of one micro-batch, tensors [C, L]; what lies outside the mask is never read.

    Raises:
        ConfigError: The shapes differ, the mask is not bool or the turns are not int64.
    """

    logp_CL: Tensor
    """Log-probability of each token now, with gradient."""
    logp_old_CL: Tensor
    """The same at the start of the update, in the trainer's numerics."""
    advantage_CL: Tensor
    """Advantage of each token; used as a constant."""
    mask_CL: Tensor
    """True at tokens that the trained policy sampled."""
    turn_id_CL: Tensor
    """Turn of each token (int64), -1 outside."""
    logp_behaviour_CL: Tensor | None = None
    """Log-probability that the sampler reported."""
    logp_ref_CL: Tensor | None = None
    """Log-probability under the reference policy."""
    entropy_CL: Tensor | None = None
    """Entropy at each token, with gradient if it is regularised."""
    kl_magnet_CL: Tensor | None = None
    """Exact KL to the magnet policy at each token, with gradient."""
    statistics: Mapping[str, Tensor] = field(default_factory=dict)
    """Option name -> what `survey` found for it over the whole mini-batch, [C, L]."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """What options keep from update to update, such as an adaptive coefficient."""

    def __post_init__(self) -> None:
        for name, tensor in self.tensors().items():
            if tensor.shape != self.logp_CL.shape:
                raise ConfigError(
                    f"{name} has shape {tuple(tensor.shape)}, but logp_CL has "
                    f"{tuple(self.logp_CL.shape)}"
                )
        if self.mask_CL.dtype != torch.bool or self.turn_id_CL.dtype != torch.int64:
            raise ConfigError(
                f"mask_CL is {self.mask_CL.dtype} and turn_id_CL is {self.turn_id_CL.dtype}; "
                "expected bool and int64"
            )

    def tensors(self) -> dict[str, Tensor]:
        """Return every tensor that is there by its name; statistics as `statistics/<option>`."""
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        found = {n: t for n, t in named.items() if isinstance(t, Tensor)}
        return found | {f"statistics/{n}": t for n, t in self.statistics.items()}

    def needed(self, name: str, option: str) -> Tensor:
        """Return a field that an option cannot do without.

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
        logp: Log-probability of every token, [C, L].
        advantage: One advantage per row, 1 where not given.
        old: Log-probabilities at the start of the update; as now where not given.
        **rest: Other tensors of `LossInputs`; the mask is full and there is one turn by default.

    >>> x = from_tokens([[-1.0, -2.0]], advantage=[0.5])
    >>> x.advantage_CL.tolist(), x.mask_CL.tolist()
    ([[0.5, 0.5]], [[True, True]])
    """
    logp_CL = torch.as_tensor(logp)
    old_CL = logp_CL.detach() if old is None else torch.as_tensor(old)
    a_C = torch.ones(len(logp_CL)) if advantage is None else torch.as_tensor(advantage)
    mask_CL = rest.pop("mask_CL", torch.ones_like(logp_CL, dtype=torch.bool))
    turn_CL = rest.pop("turn_id_CL", torch.where(mask_CL, 0, -1))
    advantage_CL = a_C.unsqueeze(1).expand_as(logp_CL)
    return LossInputs(logp_CL, old_CL, advantage_CL, mask_CL, turn_CL, **rest)  # type: ignore[arg-type]


def blank(inputs: LossInputs) -> LossInputs:
    """Raise every float field to float32 or better and blank what lies outside the mask.

    >>> mask_CL = torch.tensor([[True, False]])
    >>> blank(from_tokens([[-1.0, float("nan")]], mask_CL=mask_CL)).logp_CL.tolist()
    [[-1.0, 0.0]]
    """
    dtype = torch.promote_types(inputs.logp_CL.dtype, torch.float32)

    def clean(name: str, tensor: Tensor) -> Tensor:
        if not tensor.is_floating_point():
            return tensor
        kept = torch.where(inputs.mask_CL, tensor.to(dtype), 0.0)
        return kept.detach() if name in CONSTANTS else kept

    named = {f.name: getattr(inputs, f.name) for f in fields(inputs)}
    changes: dict[str, Any] = {n: clean(n, t) for n, t in named.items() if isinstance(t, Tensor)}
    statistics = {n: clean(n, t) for n, t in inputs.statistics.items()}
    return replace(inputs, **changes | {"statistics": statistics})
