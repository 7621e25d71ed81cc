"""Checks that every estimator makes before it computes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coevo.envs.core.errors import ConfigError

Array = NDArray[np.float64]


def finite(name: str, values: ArrayLike, ndim: int | None = None) -> Array:
    """Return values as floats; refuse nothing at all, NaN, infinities and another rank."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as err:
        raise ConfigError(f"{name} must be a regular table of numbers: {err}") from err
    if array.size == 0:
        raise ConfigError(f"{name} is empty")
    if ndim is not None and array.ndim != ndim:
        raise ConfigError(f"{name} has shape {array.shape}; expected {ndim} axes")
    if not np.isfinite(array).all():
        raise ConfigError(f"{name} holds {int((~np.isfinite(array)).sum())} NaN or infinite values")
    return array


def square(name: str, values: ArrayLike) -> Array:
    """Return a finite matrix [..., K, K]."""
    array = finite(name, values)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise ConfigError(f"{name} has shape {array.shape}; expected a square matrix")
    return array


def share(name: str, value: float) -> float:
    if not 0 < value < 1:
        raise ConfigError(f"{name}={value} must lie strictly between 0 and 1")
    return value


def count(name: str, value: int, least: int = 1) -> int:
    if value != int(value) or value < least:
        raise ConfigError(f"{name}={value} must be a whole number of at least {least}")
    return int(value)
