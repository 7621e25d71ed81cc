"""Text as numbers without a model: words, n-grams, and hashed counts of them."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"\w+")
_PIECE = re.compile(r"\w+|[^\w\s]")


def words(text: str) -> list[str]:
    """Split a text into words in lower case, punctuation dropped.

    >>> words("I BET, again.")
    ['i', 'bet', 'again']
    """
    return _WORD.findall(text.casefold())


def pieces(text: str, most: int) -> list[str]:
    """Split a text into words and punctuation marks, the last `most` of them.

    >>> pieces("You hold: [Jack]", 3)
    ['[', 'jack', ']']
    """
    return _PIECE.findall(text.casefold())[-most:]


def n_grams(found: list[str]) -> list[str]:
    """Give the pieces themselves and all pairs of neighbours.

    >>> n_grams(["go", "north"])
    ['go', 'north', 'go north']
    """
    return [*found, *(f"{a} {b}" for a, b in pairwise(found))]


def hashed(features: Iterable[str], buckets: int) -> NDArray[np.float64]:
    """Count features in buckets chosen, and signed, by a hash; the result has length 1, or 0.

    The hash is the same on every machine. Two features that share a bucket are told apart by
    nothing; the signs keep such accidents from adding up.

    >>> round(float(np.linalg.norm(hashed(["a", "b", "b"], 64))), 6)
    1.0
    """
    codes = np.array([zlib.crc32(f.encode("utf-8", "surrogatepass")) for f in features], np.int64)
    signs = np.where(codes & 1, 1.0, -1.0)
    counts = np.zeros(buckets)
    np.add.at(counts, (codes >> 1) % buckets, signs)
    length = float(np.linalg.norm(counts))
    return counts / length if length > 0.0 else counts
