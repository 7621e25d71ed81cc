"""Text features as numbers without a model."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def feature_counts(features: Iterable[str], buckets: int) -> NDArray[np.float64]:
    """Return counts of features in buckets chosen, and signed, by a hash.

    Feature hashing (Weinberger et al., 2009) with CRC-32, the same on every machine. Two features
    that share a bucket are not distinguished; the signs keep such collisions from adding up.

    >>> float(np.abs(feature_counts(["a", "b", "b"], 64)).sum())
    3.0
    """
    codes = np.array([zlib.crc32(f.encode("utf-8", "surrogatepass")) for f in features], np.int64)
    counts = np.zeros(buckets)
    np.add.at(counts, (codes >> 1) % buckets, np.where(codes & 1, 1.0, -1.0))
    return counts
