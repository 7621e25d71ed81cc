"""Whether a text says a word: as it is, inflected, in another word, spelled out or disguised."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from coevo.envs.core.parsing import skeleton

PART = 4
"""Letters of a word from which on it is looked for inside of longer ones: `snow` in `snowman`."""
LONGEST = 12
"""Letters of a word that is looked for among letters that stand alone."""
_DISGUISES = [str.maketrans("013457@$", f"o{one}eastas") for one in "il"]
"""What digits and signs stand for; a 1 may be one of two letters."""
_SUFFIXES = ("", "s", "es", "ed", "ing", "er", "ers", "or", "est", "y", "ly", "en", "ness", "less")
_ENDINGS = (("ies", "y"), ("ied", "y"), ("ier", "y"), ("iest", "y"), ("ily", "y"), ("ves", "f"))
_IRREGULAR = {
    "drank": "drink", "drunk": "drink", "grew": "grow", "grown": "grow", "bought": "buy",
    "froze": "freeze", "men": "man", "women": "woman", "feet": "foot", "mice": "mouse",
    "geese": "goose", "children": "child", "icy": "ice", "ran": "run",
}  # fmt: skip
"""Forms that no rule gives, of words that are forbidden somewhere."""
_LETTERS = re.compile(r"(?<![^\W_])(?:[^\W_](?:[\W_]+|\Z)){3,}")


def said(text: str, words: Iterable[str]) -> list[str]:
    """Return which words a text says, in any form.

    >>> said("Snowmen are made of i-c-e!", ["snow", "ice", "cold"])
    ['snow', 'ice']
    """
    found = set(_tokens(text))
    return [word for word in words if any(is_form(token, word) for token in found)]


def is_form(token: str, word: str) -> bool:
    """Return whether a token is a form of a word: inflected, backwards, or with it inside.

    >>> [is_form(t, "bake") for t in ("baking", "bakers", "ekab", "back")]
    [True, True, True, False]
    >>> is_form("seasons", "sea"), is_form("stopped", "stop"), is_form("flies", "fly")
    (False, True, True)
    """
    if token[::-1] == word or (len(word) >= PART and word in token):
        return True
    return word in _stems(token) or _IRREGULAR.get(token) == word


def _stems(token: str) -> Iterator[str]:
    """Return what a token may be a form of."""
    for suffix in _SUFFIXES:
        stem = token.removesuffix(suffix) if suffix else token
        if len(stem) + len(suffix) == len(token) and len(stem) >= 2:
            yield stem
            yield stem + "e"
            if suffix and stem[-1] == stem[-2]:
                yield stem[:-1]
    for ending, of in _ENDINGS:
        if token.endswith(ending):
            yield token.removesuffix(ending) + of


def _tokens(text: str) -> Iterator[str]:
    """Return the words of a text, and what its letters, parts and digits may spell."""
    plain = skeleton(text)
    for letters in {plain, *(plain.translate(table) for table in _DISGUISES)}:
        words = re.findall(r"[^\W_]+", letters)
        yield from words
        yield from (a + b for a, b in pairwise(words))
        yield from (re.sub(r"[\W_]", "", chunk) for chunk in letters.split())
        for run in _LETTERS.finditer(letters):
            spelled = re.sub(r"[\W_]", "", run[0])
            starts = range(len(spelled) - 1)
            yield from (spelled[i:j] for i in starts for j in range(i + 2, i + LONGEST + 1))
