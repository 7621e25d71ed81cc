"""Invented names: syllables, no existing word or name, splits that never meet.

Names of the `train` split and of the `test` split differ whatever the seed, so entities of worlds
for training and for measuring are never shared.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from typing import Literal

import numpy as np

from coevo.envs.core.errors import ConfigError

Split = Literal["all", "train", "test"]

_CONSONANTS = "bdfgklmnprstvz"
_VOWELS = "aeiou"
_LAST_VOWELS = "aiou"
"""Without e, on which too many known words end."""
_ENDINGS = ("", "n", "r", "s", "l", "m")

_KNOWN_FILE = resources.files("coevo.envs.search").joinpath("known_names.txt")
KNOWN = frozenset(_KNOWN_FILE.read_text(encoding="utf-8").split())
"""Words and names that syllables happen to spell; none of them is given to an entity."""


def split_of(name: str) -> str:
    """Return the split that a name belongs to, by its letters alone.

    >>> split_of("Dalu") != split_of("Daluk")
    True
    """
    return "train" if sum(map(ord, name.casefold())) % 2 == 0 else "test"


def short_names(rng: np.random.Generator, count: int, split: Split = "all") -> list[str]:
    """Draw different names of two open syllables: `Dalu`."""
    if count > 1500:
        raise ConfigError(f"{count} short names: there are 1500 at most; take compact=False")
    return _draw(count, split, lambda: _word(rng, 2, ("",)))


def long_names(
    rng: np.random.Generator, count: int, split: Split = "all", shared: int = 1, pairs: float = 0.5
) -> list[str]:
    """Draw different names of one or two words of four letters or more: `Dalumen Rosk`.

    Args:
        rng: randomness.
        count: how many.
        split: `train`, `test` or `all`.
        shared: names in which one word may occur; 1 shares none.
        pairs: share of names of two words.
    """
    used: dict[str, int] = {}

    def words() -> str | None:
        wanted = 2 if rng.random() < pairs else 1
        fresh = [_word(rng, int(rng.integers(2, 4)), _ENDINGS) for _ in range(wanted)]
        if shared > 1 and used and rng.random() < 0.5:
            fresh[0] = list(used)[int(rng.integers(len(used)))]
        if len(set(fresh)) < wanted or any(used.get(w, 0) >= shared for w in fresh):
            return None
        return " ".join(fresh)

    def keep(name: str) -> None:
        for word in name.split():
            used[word] = used.get(word, 0) + 1

    return _draw(count, split, words, keep)


def _draw(
    count: int,
    split: Split,
    propose: Callable[[], str | None],
    keep: Callable[[str], None] = lambda name: None,
) -> list[str]:
    """Take proposals until there are enough; refuse what is known, taken or of the other split."""
    names: dict[str, None] = {}
    for _ in range(1000 + 200 * count):
        if len(names) == count:
            break
        name = propose()
        if name is None or name in names or KNOWN & set(name.casefold().split()):
            continue
        if any(len(word) < 4 for word in name.split()) or split not in ("all", split_of(name)):
            continue
        names[name] = None
        keep(name)
    if len(names) < count:
        raise ConfigError(f"no {count} different names to be had; ask for fewer entities")
    return list(names)


def _word(rng: np.random.Generator, syllables: int, endings: tuple[str, ...]) -> str:
    spelled = ""
    for i in range(syllables):
        vowels = _VOWELS if i < syllables - 1 else _LAST_VOWELS
        consonant = _CONSONANTS[int(rng.integers(len(_CONSONANTS)))]
        spelled += consonant + vowels[int(rng.integers(len(vowels)))]
    return (spelled + endings[int(rng.integers(len(endings)))]).capitalize()
