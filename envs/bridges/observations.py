"""Words for observations that were made for networks: numbers, arrays, mappings of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

FEW = 24
"""Entries of a vector that are all written; of a longer one those that are not 0."""


def described(value: Any) -> str:
    r"""Return an observation in words; an entry `action_mask` is left out.

    >>> described({"observation": np.eye(3, dtype=int), "action_mask": [1, 0]})
    '1 0 0\n0 1 0\n0 0 1'
    >>> described((np.int64(3), "north")), described({"x": 1, "y": 2.5})
    ('3, north', 'x: 1\ny: 2.5')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        seen = {key: described(part) for key, part in value.items() if key != "action_mask"}
        if seen.keys() == {"observation"}:
            return seen["observation"]
        return "\n".join(f"{key}:{_beside(text)}" for key, text in seen.items())
    if isinstance(value, tuple | list):
        return ", ".join(map(described, value))
    return _array(np.asarray(value))


def _beside(text: str) -> str:
    return f"\n{text}" if "\n" in text else f" {text}"


def _array(array: NDArray[Any]) -> str:
    array = np.squeeze(array)
    if array.dtype == bool:
        array = array.astype(int)
    if array.ndim == 0:
        return number(array.item())
    if array.ndim == 1:
        return _vector(array)
    if array.ndim == 2:
        return "\n".join(" ".join(map(number, row)) for row in array.tolist())
    if array.ndim == 3:
        return _planes(array)
    return f"{' x '.join(map(str, array.shape))} numbers: {_vector(array.ravel())}"


def number(value: Any) -> str:
    """Return a number as short as its four leading digits allow, anything else as it is.

    >>> number(2.0), number(0.123456), number(None)
    ('2', '0.1235', 'None')
    """
    return f"{value:.4g}" if isinstance(value, int | float) else str(value)


def _vector(vector: NDArray[Any]) -> str:
    if len(vector) <= FEW:
        return " ".join(map(number, vector.tolist()))
    set_ = [f"{i}={number(vector[i].item())}" for i in np.flatnonzero(vector)]
    return f"{' '.join(set_) or 'nothing'} (all others of {len(vector)} are 0)"


def _planes(array: NDArray[Any]) -> str:
    """Return one grid of plane numbers where no cell is on two planes, else a grid per plane."""
    counts = (array != 0).sum(axis=2)
    if set(np.unique(array)) <= {0, 1} and counts.max() <= 1:
        cells = np.where(counts == 1, array.argmax(axis=2).astype(str), ".")
        return "\n".join(map(" ".join, cells.tolist()))
    parts = []
    for k in range(array.shape[2]):
        plane = array[..., k]
        if (plane == plane.flat[0]).all():
            parts += [f"plane {k}: all {number(plane.flat[0].item())}"] if plane.any() else []
        else:
            parts.append(f"plane {k}:\n{_array(plane)}")
    return "\n".join(parts) or "all 0"
