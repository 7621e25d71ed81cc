"""The one segment reduction under every centre and scale: mean and deviation per group."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError


class GroupStats(NamedTuple):
    """Statistics of an entry's group, written back to every entry (shapes as the input)."""

    mean: Tensor
    """Weighted mean of the group; 0 where the group has no weight."""
    std: Tensor
    """Standard deviation; exactly 0 where the group is constant or too small for the ddof."""
    total: Tensor
    """Sum of the weights of the group."""
    constant: Tensor
    """True where all entries of the group with weight are equal (so also for a group of one)."""


def wide(tensor: Tensor) -> Tensor:
    """Convert to the precision of statistics: float64, or float32 where the device lacks it.

    >>> wide(torch.tensor([1.0], dtype=torch.bfloat16)).dtype
    torch.float64
    """
    return tensor.to(torch.float32 if tensor.device.type == "mps" else torch.float64)


def combined(*columns: Tensor) -> Tensor:
    """Number the combinations of several keys of one shape: equal ones get equal numbers.

    >>> combined(torch.tensor([7, 7, 9]), torch.tensor([0, 1, 1])).tolist()
    [0, 1, 2]
    """
    index = torch.zeros_like(columns[0])
    for column in columns:  # `unique` over the rows of a table is 20 times slower
        _, code = column.unique(return_inverse=True)
        most = int(code.max()) + 1 if code.numel() else 1
        _, index = (index * most + code).unique(return_inverse=True)
    return index


def group_stats(y: Tensor, key: Tensor, weight: Tensor, ddof: int = 1) -> GroupStats:
    """Compute mean, deviation and count per group: sum_i w_i y_i / W, W = sum_i w_i.

    The variance is sum_i w_i (y_i - mean)^2 / (W - ddof), so a weight counts repetitions.

    Args:
        y: Values, any shape.
        key: Group of every value (int64): the same shape, or [B] where all of a row share one.
        weight: How often every value counts, the same shape; 0 hides it, whatever it holds.
        ddof: Degrees of freedom taken off the count.

    Raises:
        ConfigError: The shapes differ.

    >>> stats = group_stats(torch.tensor([1.0, 0.0, 5.0]), torch.tensor([0, 0, 1]), torch.ones(3))
    >>> stats.mean.tolist(), stats.std.round(decimals=4).tolist()
    ([0.5, 0.5, 5.0], [0.7071, 0.7071, 0.0])
    """
    if y.shape != weight.shape or key.shape not in (y.shape, y.shape[:1]):
        raise ConfigError(
            f"y, key and weight have shapes {tuple(y.shape)}, {tuple(key.shape)} and "
            f"{tuple(weight.shape)}; they must agree, or the key have one entry per row"
        )
    index_N, groups = _numbered(key)
    # what shares one entry of the key is summed first: N = B rows, or all entries
    shape_NM = (len(index_N), y.numel() // max(len(index_N), 1))
    weight_NM = wide(weight).reshape(shape_NM)
    seen_NM = weight_NM > 0
    y_NM = torch.where(seen_NM, wide(y).reshape(shape_NM), 0.0)
    zeros_K = y_NM.new_zeros(groups)
    count_K = zeros_K.index_add(0, index_N, weight_NM.sum(1))
    total_K = zeros_K.index_add(0, index_N, (weight_NM * y_NM).sum(1))
    mean_K = total_K / count_K.where(count_K > 0, 1.0)
    # extremes tell a constant group: its variance may be a rounding residue that eps magnifies
    low_K, high_K = _extremes(y_NM, index_N, seen_NM, groups)
    square_NM = (y_NM - mean_K[index_N].unsqueeze(1)).square_().mul_(weight_NM)
    square_K = zeros_K.index_add(0, index_N, square_NM.sum(1))
    constant_K = high_K <= low_K
    defined_K = (count_K > ddof) & ~constant_K
    variance_K = square_K / (count_K - ddof).where(defined_K, 1.0)
    std_K = torch.where(defined_K, variance_K.sqrt(), 0.0)
    parts = (mean_K, std_K, count_K, constant_K)
    return GroupStats(
        *(part[index_N].unsqueeze(1).expand(shape_NM).reshape(y.shape) for part in parts)
    )


def extremes(y: Tensor, key: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
    """Return the lowest and highest kept value of every group, in the shape of its key.

    A group that keeps nothing has inf and -inf.

    Args:
        y: Values, any shape.
        key: Group of every value (int64): the same shape, or [B] where all of a row share one.
        keep: True where a value takes part, the shape of y.

    >>> y_BT, keep_BT = torch.tensor([[1.0, 9.0], [3.0, 2.0]]), torch.tensor([[1, 0], [1, 1]]) > 0
    >>> low_B, high_B = extremes(y_BT, torch.zeros(2).long(), keep_BT)
    >>> low_B.tolist(), high_B.tolist()
    ([1.0, 1.0], [3.0, 3.0])
    """
    index_N, groups = _numbered(key)
    shape_NM = (len(index_N), y.numel() // max(len(index_N), 1))
    low_K, high_K = _extremes(y.reshape(shape_NM), index_N, keep.reshape(shape_NM), groups)
    return low_K[index_N].reshape(key.shape), high_K[index_N].reshape(key.shape)


def _numbered(key: Tensor) -> tuple[Tensor, int]:
    _, index_N = key.reshape(-1).unique(return_inverse=True)
    return index_N, int(index_N.max()) + 1 if index_N.numel() else 0


def _extremes(y_NM: Tensor, index_N: Tensor, keep_NM: Tensor, groups: int) -> tuple[Tensor, Tensor]:
    low_K, high_K = y_NM.new_full((groups,), torch.inf), y_NM.new_full((groups,), -torch.inf)
    if y_NM.shape[1] == 0:
        return low_K, high_K
    low_N = torch.where(keep_NM, y_NM, torch.inf).amin(1)
    high_N = torch.where(keep_NM, y_NM, -torch.inf).amax(1)
    return (
        low_K.scatter_reduce(0, index_N, low_N, "amin"),
        high_K.scatter_reduce(0, index_N, high_N, "amax"),
    )
