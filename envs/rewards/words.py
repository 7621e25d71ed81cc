"""Text as numbers without a model: words, n-grams, and hashed counts of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from coevo.envs.core.hashing import feature_counts

_WORD = re.compile(r"\w+")
_PIECE = re.compile(r"\w+|[^\w\s]")


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, punctuation dropped.

    >>> words("I BET, again.")
    ['i', 'bet', 'again']
    """
    return _WORD.findall(text.casefold())


def likeness(one: str, other: str) -> float:
    """Return the cosine of the counts of words of two texts; 0 where one has none.

    >>> likeness("open the door", "Open the DOOR!"), likeness("open", "shut")
    (1.0, 0.0)
    """
    bags = [Counter(words(text)) for text in (one, other)]
    lengths = [math.sqrt(sum(n * n for n in bag.values())) for bag in bags]
    shared = sum(n * bags[1][word] for word, n in bags[0].items())
    return round(shared / math.prod(lengths), 12) if all(lengths) else 0.0


def pieces(text: str, most: int) -> list[str]:
    """Return the last `most` words and punctuation marks of a text.

    >>> pieces("You hold: [Jack]", 3)
    ['[', 'jack', ']']
    """
    return _PIECE.findall(text.casefold())[-most:]


def n_grams(found: list[str]) -> list[str]:
    """Return the pieces themselves and all pairs of neighbours.

    >>> n_grams(["go", "north"])
    ['go', 'north', 'go north']
    """
    return [*found, *(f"{a} {b}" for a, b in pairwise(found))]


def hashed(features: Iterable[str], buckets: int) -> NDArray[np.float64]:
    """Return hashed counts of features (see `feature_counts`) scaled to length 1, or all 0.

    >>> round(float(np.linalg.norm(hashed(["a", "b", "b"], 64))), 6)
    1.0
    """
    counts = feature_counts(features, buckets)
    length = float(np.linalg.norm(counts))
    return counts / length if length > 0.0 else counts
