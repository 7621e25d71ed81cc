"""How different the things are that a role says: listed moves by entropy, free text by n-grams."""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from coevo.envs.core.config import config
from coevo.envs.core.parsing import spoken
from coevo.trainers.cycle import Step, UpdateContext

BUCKETS, SIZE = 4096, 3
"""Numbers that n-grams are hashed to, and their characters."""


@config
class MeasureDiversity(Step):
    """Logs `diversity/ROLE`: how different the replies of a role are in the fresh episodes.

    Entropy of its moves in nats where moves are listed; where any text is legal, 1 - the mean
    cosine of two replies as counts of hashed character n-grams. Nothing is logged below two.
    """

    needs: ClassVar = ("episodes",)
    in_ranks: ClassVar = True
    name: Literal["measure_diversity"] = "measure_diversity"
    role: str
    """Role whose replies are compared."""

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.role,)

    def __call__(self, ctx: UpdateContext) -> None:
        episodes = ctx.episodes.episodes[: ctx.episodes.fresh]
        turns = [t for e in episodes for t in e.turns if t.role == self.role]
        if len(turns) > 1:
            said = [spoken(t.text) if t.move is None else t.move for t in turns]
            listed = any(t.legal is not None for t in turns)
            found = move_entropy(said) if listed else text_diversity(said)
            ctx.metrics[f"diversity/{self.role}"] = found


def move_entropy(moves: Sequence[str]) -> float:
    """Return the entropy of moves, in nats.

    >>> move_entropy(["a", "b"]) == math.log(2), move_entropy(["a", "a"])
    (True, 0.0)
    """
    shares = [n / len(moves) for n in Counter(moves).values()]
    return 0.0 - sum(p * math.log(p) for p in shares)


def text_diversity(texts: Sequence[str]) -> float:
    """Return 1 - the mean cosine of all pairs of texts; a text too short is unlike all others.

    >>> text_diversity(["tell me", "Tell me"]), text_diversity(["abcd", "wxyz"])
    (0.0, 1.0)
    """
    total, same = np.zeros(BUCKETS), 0.0
    for text in texts:
        vector = _counts(text)
        total += vector
        same += float(vector @ vector)
    pairs = len(texts) * (len(texts) - 1)
    return round(1.0 - (float(total @ total) - same) / pairs, 12)


def _counts(text: str) -> np.ndarray:
    """Return the counts of hashed n-grams, of length 1 or 0."""
    folded = " ".join(text.casefold().split())
    grams = [folded[i : i + SIZE].encode() for i in range(len(folded) - SIZE + 1)]
    found = np.bincount([zlib.crc32(g) % BUCKETS for g in grams], minlength=BUCKETS)
    size = float(np.linalg.norm(found))
    return found / size if size else found.astype(float)
