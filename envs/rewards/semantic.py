"""How close a reply is in meaning to a reference text."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import DataError
from coevo.envs.core.rewards import RewardModule, Rewards, Table
from coevo.envs.rewards.words import hashed, words

Encoder = Callable[[Sequence[str]], Any]
"""N texts -> N rows of numbers, one embedding each."""


@config
class BagOfWords:
    """Embeds a text as the sum of one fixed random direction per word.

    Knows words, not meaning: word order, synonyms and negation are lost. For tests and as a
    baseline; a sentence encoder goes in its place.

    >>> BagOfWords(size=8)(["a b", "b a"]).shape
    (2, 8)
    """

    name: Literal["bag_of_words"] = "bag_of_words"
    size: Annotated[int, whole(1, 2**20)] = 512
    """Length of an embedding."""
    seed: Annotated[int, whole(0)] = 0
    """Chooses the directions."""

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        bags = [Counter(words(text)) for text in texts]
        directions = {word: self._direction(word) for word in set().union(*bags)}
        nothing = np.zeros(self.size)
        return np.array([sum((n * directions[w] for w, n in b.items()), nothing) for b in bags])

    def _direction(self, word: str) -> NDArray[np.float64]:
        code = zlib.crc32(word.encode("utf-8", "surrogatepass"))
        return np.random.default_rng([self.seed, code]).standard_normal(self.size)


@config
class CharacterNgrams:
    """Embeds a text as the hashed counts of its runs of characters, scaled to length 1.

    Knows spelling alone, in any language.

    >>> a, b, c = CharacterNgrams()(["3+4: 3 4 5 6 7", "3+4: 3 4 5 6 8", "two tens"])
    >>> bool(a @ b > 0.7), bool(a @ c < 0.2)
    (True, True)
    """

    name: Literal["character_ngrams"] = "character_ngrams"
    size: Annotated[int, whole(1, 2**20)] = 1024
    """Length of an embedding."""
    n: Annotated[int, whole(1, 32)] = 3
    """Characters of a run."""

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array([hashed(self._runs(f" {text.casefold()} "), self.size) for text in texts])

    def _runs(self, text: str) -> list[str]:
        return [text[k : k + self.n] for k in range(max(1, len(text) - self.n + 1))]


def cosines(one: Any, other: Any) -> NDArray[np.float64]:
    """Return the cosine of every pair of rows, in [-1, 1]; 0 where a row is all zeros.

    >>> cosines([[1.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 0.0]]).round(4).tolist()
    [0.7071, 0.0]
    """
    units = [_unit(np.asarray(rows, dtype=np.float64)) for rows in (one, other)]
    return np.clip((units[0] * units[1]).sum(-1), -1.0, 1.0)


@config
class Semantic(RewardModule):
    """Gives the speaker the cosine of the embeddings of its reply and of a reference text.

    Scored after the episode, so that an encoder sees every text of a batch at once. The reward lies
    in [-1, 1], but those of one task differ little: normalise it per group and apart from
    others (`compose=decoupled`). It measures likeness to the reference, not truth: with most
    encoders a negated sentence scores high, so correctness stays a reward of its own. The
    source (arXiv 2509.13081, abstract) adds it to correctness and format with weights that are
    not public.
    """

    name: Literal["semantic"] = "semantic"
    reference: str | Mapping[str, str] | None = None
    """The text that replies are compared with, for all tasks or by `Episode.task`; replies of a
    task without one get no reward."""
    encoder: BagOfWords | Encoder = field(default_factory=BagOfWords)
    """In Python also any function from N texts to N embeddings."""
    clip: bool = False
    """Whether opposite directions earn 0 instead of less."""
    per_turn = False

    @property
    def range(self) -> tuple[float, float]:
        return (0.0, 1.0) if self.clip else (-1.0, 1.0)

    def score_turn(self, episode: Episode, turn: Turn) -> Rewards:
        wanted = self._wanted(episode)
        return {} if wanted is None else {turn.agent: self.likeness([turn.text], [wanted])[0]}

    def table(self, episodes: Sequence[Episode]) -> Table:
        wanted = [self._wanted(e) for e in episodes]
        pairs = [(t.text, w) for e, w in zip(episodes, wanted, strict=True) if w for t in e.turns]
        scored = iter(self.likeness([text for text, _ in pairs], [w for _, w in pairs]))
        return [
            [{t.agent: next(scored)} if w else {} for t in e.turns]
            for e, w in zip(episodes, wanted, strict=True)
        ]

    def likeness(self, texts: Sequence[str], references: Sequence[str]) -> list[float]:
        """Return the reward of every text against its own reference."""
        every = list(dict.fromkeys([*texts, *references]))
        if not every:
            return []
        embedded = np.asarray(self.encoder(every), dtype=np.float64)
        if embedded.ndim != 2 or len(embedded) != len(every) or not np.isfinite(embedded).all():
            raise DataError(
                f"the encoder gave an array of shape {embedded.shape} for {len(every)} texts; "
                "expected one row of finite numbers for each"
            )
        at = {text: i for i, text in enumerate(every)}
        rows = [embedded[[at[text] for text in side]] for side in (texts, references)]
        found = cosines(*rows)
        return [float(c) for c in (np.maximum(found, 0.0) if self.clip else found)]

    def _wanted(self, episode: Episode) -> str | None:
        """Return the reference of an episode; None where there is none, an empty one included."""
        given = self.reference
        return (given.get(episode.task) if isinstance(given, Mapping) else given) or None


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    # Scaled by the largest entry first: squares of tiny or huge entries leave the float range.
    rows = rows / np.maximum(np.abs(rows).max(-1, keepdims=True, initial=0.0), 1e-300)
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.where(length > 0.0, length, 1.0)
