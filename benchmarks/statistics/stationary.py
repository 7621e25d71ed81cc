"""Stationary distribution of a Markov chain whose probabilities span hundreds of orders.

Eigenvector routines fail where transitions underflow. The elimination of Grassmann, Taksar and
Heyman (1985) only adds, multiplies and divides positive numbers, hence loses no digits; done on
logarithms it needs no smallest float either.
"""

from __future__ import annotations

import numpy as np

from coevo.benchmarks.statistics.arrays import Array
from coevo.envs.core.errors import ConfigError


def stationary(log_rates: Array) -> Array:
    """Give pi with pi P = pi from the logarithms of P: [..., n, n] -> [..., n].

    Only transitions between different states are read; -inf is impossible. From the last state to
    the first, a state is removed by sending what enters it to where it leaves.

    >>> stationary(np.log([[0.9, 0.1], [0.3, 0.7]])).round(6).tolist()
    [0.75, 0.25]
    """
    logs = np.array(log_rates, dtype=float)
    size = logs.shape[-1]
    for k in range(size - 1, 0, -1):
        leave = _log_sum(logs[..., k, :k])
        if not np.isfinite(leave).all():
            raise ConfigError(
                f"states 0 to {k - 1} cannot be reached from state {k}: more than one part of "
                "the chain is closed, and the stationary distribution is not unique"
            )
        logs[..., :k, k] -= leave[..., None]
        through = logs[..., :k, k, None] + logs[..., k, None, :k]
        logs[..., :k, :k] = np.logaddexp(logs[..., :k, :k], through)
    weights = np.zeros(logs.shape[:-1])
    for k in range(1, size):
        weights[..., k] = _log_sum(weights[..., :k] + logs[..., :k, k])
    return np.exp(weights - _log_sum(weights)[..., None])


def _log_sum(logs: Array) -> Array:
    most = logs.max(-1)
    shift = np.where(np.isfinite(most), most, 0.0)
    with np.errstate(divide="ignore"):  # the logarithm of 0 is what is wanted
        return np.asarray(shift + np.log(np.exp(logs - shift[..., None]).sum(-1)))
