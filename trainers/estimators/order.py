"""An arbitrary but fixed order of trajectories, from their keys and not from their rows."""

from __future__ import annotations

import torch
from torch import Tensor

_BITS = (1 << 31) - 1


def rank_in_group(id_B: Tensor, group_B: Tensor, seed: int = 0) -> Tensor:
    """Return every trajectory its place, from 0, in a scrambled order of its group.

    The order follows from identities and seed alone, so it is the same however rows are sorted
    and on every machine; another seed gives an unrelated order. Equal identities keep row order.

    >>> id_B, group_B = torch.arange(6), torch.tensor([0, 0, 0, 1, 1, 1])
    >>> sorted(rank_in_group(id_B, group_B)[:3].tolist())
    [0, 1, 2]
    >>> back = rank_in_group(id_B.flip(0), group_B.flip(0)).flip(0)
    >>> torch.equal(back, rank_in_group(id_B, group_B))
    True
    """
    order_B = id_B.argsort(stable=True)
    order_B = order_B[_scrambled(id_B[order_B], seed).argsort(stable=True)]
    order_B = order_B[group_B[order_B].argsort(stable=True)]
    sorted_B = group_B[order_B]
    rank_B = torch.arange(len(id_B), device=id_B.device)
    first_B = torch.searchsorted(sorted_B, sorted_B)
    return torch.empty_like(rank_B).scatter(0, order_B, rank_B - first_B)


def _scrambled(id_B: Tensor, seed: int) -> Tensor:
    """Mix the bits of an identity; factors of 31 bits cannot overflow int64."""
    code_B = ((id_B ^ (id_B >> 31)) & _BITS) * 0x1E3779B1 + (seed & _BITS) * 0x05EBCA6B
    for factor in (0x2C1B3C6D, 0x297A2D39):
        code_B = ((code_B ^ (code_B >> 15)) & _BITS) * factor
    return (code_B ^ (code_B >> 15)) & _BITS
