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


def group_stats(y: Tensor, key: Tensor, weight: Tensor, ddof: int = 1) -> GroupStats:
    """Compute mean, deviation and count per group: sum_i w_i y_i / W, W = sum_i w_i.

    The variance is sum_i w_i (y_i - mean)^2 / (W - ddof), so a weight counts repetitions.

    Args:
        y: Values, any shape.
        key: Group of every value (int64), the same shape.
        weight: How often every value counts, the same shape; 0 hides it, whatever it holds.
        ddof: Degrees of freedom taken off the count.

    Raises:
        ConfigError: The shapes differ.

    >>> stats = group_stats(torch.tensor([1.0, 0.0, 5.0]), torch.tensor([0, 0, 1]), torch.ones(3))
    >>> stats.mean.tolist(), stats.std.round(decimals=4).tolist()
    ([0.5, 0.5, 5.0], [0.7071, 0.7071, 0.0])
    """
    if not y.shape == key.shape == weight.shape:
        raise ConfigError(
            f"y, key and weight have shapes {tuple(y.shape)}, {tuple(key.shape)} and "
            f"{tuple(weight.shape)}; they must agree"
        )
    _, index_N = key.reshape(-1).unique(return_inverse=True)
    groups = int(index_N.max()) + 1 if index_N.numel() else 0
    weight_N = wide(weight).reshape(-1)
    y_N = torch.where(weight_N > 0, wide(y).reshape(-1), 0.0)
    zeros_K = y_N.new_zeros(groups)
    count_K = zeros_K.index_add(0, index_N, weight_N)
    mean_K = zeros_K.index_add(0, index_N, weight_N * y_N) / count_K.where(count_K > 0, 1.0)
    square_N = weight_N * (y_N - mean_K[index_N]) ** 2
    constant_K = _constant(y_N, index_N, weight_N, groups)
    defined_K = (count_K > ddof) & ~constant_K
    variance_K = zeros_K.index_add(0, index_N, square_N) / (count_K - ddof).where(defined_K, 1.0)
    std_K = torch.where(defined_K, variance_K.sqrt(), 0.0)
    parts = (mean_K, std_K, count_K, constant_K)
    return GroupStats(*(part[index_N].reshape(y.shape) for part in parts))


def _constant(y_N: Tensor, index_N: Tensor, weight_N: Tensor, groups: int) -> Tensor:
    """Compare extremes: a variance would leave a rounding residue that eps then magnifies."""
    seen_N = weight_N > 0
    low_K = y_N.new_full((groups,), torch.inf)
    low_K = low_K.scatter_reduce(0, index_N[seen_N], y_N[seen_N], "amin")
    high_K = y_N.new_full((groups,), -torch.inf)
    high_K = high_K.scatter_reduce(0, index_N[seen_N], y_N[seen_N], "amax")
    return high_K <= low_K
