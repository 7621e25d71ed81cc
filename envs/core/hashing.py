"""Hashes: names that tell nothing, and text features as numbers without a model."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import secrets
import zlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

HASHED = 256
"""Numbers that a hashed text is spread over."""
_TOKEN = re.compile(r"\w+|[^\w\s]")
KEY = "COEVO_TASK_KEY"
"""Variable of the process with the key of `sealed`; its children take it over."""


def sealed(name: str) -> str:
    """Return a hash of a name, which does not reveal it.

    A hash alone would not do: who knows how seeds are counted tries them all. So the hash has a
    key, drawn once for a process and those that it starts; COEVO_TASK_KEY sets it, where names must
    be equal from run to run.

    >>> sealed("seed-1") == sealed("seed-1"), sealed("seed-1") == sealed("seed-2")
    (True, False)
    """
    key = os.environ.get(KEY) or os.environ.setdefault(KEY, secrets.token_hex(16))
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=_whole(key)).hexdigest()[:16]


@functools.lru_cache(maxsize=16)
def _whole(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


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


def hashed(text: str) -> NDArray[np.float64]:
    """Return hashed counts of the words of a text, each together with its place.

    >>> np.abs(hashed("a b a")).sum().item(), bool((hashed("a b") == hashed("b a")).all())
    (3.0, False)
    """
    words = enumerate(_TOKEN.findall(text))
    return feature_counts((f"{place}:{word}" for place, word in words), HASHED)
