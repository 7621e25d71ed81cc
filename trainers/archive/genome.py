"""Genomes: which numbers of a model an evolution strategy moves, as one vector."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
import torch
from torch import Tensor, nn

from coevo.envs.core.config import choice, config
from coevo.envs.core.errors import ConfigError

SMALL = 1e-8
"""Singular values below this share of the largest are nothing but rounding."""


@config
class Entries:
    """Every trained number of the model."""

    name: Literal["entries"] = "entries"

    def begin(self, model: nn.Module) -> dict[str, Tensor]:
        """Return what is fixed beside the genome, and the genome as `genome_D`."""
        trained = [p.detach().double().flatten() for p in model.parameters() if p.requires_grad]
        return {"genome_D": torch.cat(trained)}

    @torch.no_grad()
    def write(self, model: nn.Module, genome_D: Tensor, fixed: Mapping[str, Tensor]) -> None:
        at = 0
        for parameter in model.parameters():
            if parameter.requires_grad:
                part_P = genome_D[at : at + parameter.numel()]
                parameter.copy_(part_P.reshape(parameter.shape))
                at += parameter.numel()


@config
class SingularValues:
    """The singular values of every change that adapters make; the singular vectors stay.

    Of a model without adapters, those of every trained matrix. A change B A = U diag(s) V is held
    as B = U diag(s) and A = V; s may take any sign.
    """

    name: Literal["singular_values"] = "singular_values"

    def begin(self, model: nn.Module) -> dict[str, Tensor]:
        """Return the singular vectors, and the singular values of all matrices as `genome_D`.

        Raises:
            ConfigError: all of them are 0, so that there is nothing to scale.
        """
        fixed: dict[str, Tensor] = {}
        values = []
        for name, (left, right) in _factors(model).items():
            u_OR, s_R, v_RI = _decomposed(left, right)
            fixed |= {f"{name}.u_OR": u_OR, f"{name}.v_RI": v_RI}
            values.append(s_R)
        if not values or not any(bool(s_R.any()) for s_R in values):
            raise ConfigError(
                "there are no singular values to evolve: the adapters change nothing yet, or there "
                "are none. Let them learn first (--set cycle.sample_generation.after=20)"
            )
        return {**fixed, "genome_D": torch.cat(values)}

    @torch.no_grad()
    def write(self, model: nn.Module, genome_D: Tensor, fixed: Mapping[str, Tensor]) -> None:
        at = 0
        for name, (left, right) in _factors(model).items():
            u_OR, v_RI = fixed[f"{name}.u_OR"], fixed[f"{name}.v_RI"]
            s_R = genome_D[at : at + u_OR.shape[1]]
            at += len(s_R)
            if right is None:
                left.copy_(u_OR * s_R @ v_RI)
            else:
                left.copy_(u_OR * s_R)
                right.copy_(v_RI)


def _factors(model: nn.Module) -> dict[str, tuple[nn.Parameter, nn.Parameter | None]]:
    adapters = dict(_adapters(model))
    if adapters:
        return dict(adapters)
    trained = ((n, p) for n, p in model.named_parameters() if p.requires_grad and p.ndim == 2)
    return {name: (p, None) for name, p in trained}


def _adapters(model: nn.Module) -> Iterator[tuple[str, tuple[nn.Parameter, nn.Parameter | None]]]:
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    for name, parameter in named.items():
        if ".lora_B." in name:
            yield name, (parameter, named[name.replace(".lora_B.", ".lora_A.")])


def _decomposed(left: Tensor, right: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Return U, s and V of a product of factors, without multiplying them, or of one matrix."""
    if right is None:
        u_OR, s_R, v_RI = torch.linalg.svd(left.detach().double().cpu(), full_matrices=False)
        kept = s_R > SMALL * s_R.max()
        return u_OR[:, kept], s_R[kept], v_RI[kept]
    q_OR, left_RR = torch.linalg.qr(left.detach().double().cpu())
    p_IR, right_RR = torch.linalg.qr(right.detach().double().cpu().T)
    u_RR, s_R, v_RR = torch.linalg.svd(left_RR @ right_RR.T)
    return q_OR @ u_RR, s_R, v_RR @ p_IR.T


def grown(start_D: Tensor, seeds: Sequence[tuple[int, float]]) -> Tensor:
    """Return the genome that a list of (seed, sigma) stands for: start + sum sigma noise(seed).

    As in Such et al. 2017 (Deep GA, arXiv 1712.06567). The noise comes from a counter-based
    generator that the seed keys, so that equal lists give equal bits.

    >>> grown(torch.zeros(1), [(7, 0.0)])
    tensor([0.], dtype=torch.float64)
    """
    found_D = start_D.double().clone()
    for seed, sigma in seeds:
        draw = np.random.Generator(np.random.Philox(key=seed))
        found_D += sigma * torch.from_numpy(draw.standard_normal(len(found_D)))
    return found_D


Genome = Annotated[SingularValues | Entries, choice()]
