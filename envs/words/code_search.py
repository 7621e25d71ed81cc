"""The fewest guesses at a secret code, exactly: optimal decision trees over what is left.

Codes are all arrangements of some letters without repetition; the answer to a guess is how many
letters are in their place and how many in another. For a set S of codes that are left, the fewest
guesses summed over S are

    T(S) = |S| + min over guesses g of the sum over answers but "found" of T(S after the answer)

with T of one code 1. Renaming letters and places maps every code to every other and changes no
answer, so a setter that draws evenly leaves the breaker no more than T / |codes| on average, and a
breaker that renames at random needs no more against any setter: T / |codes| is the value of the
game in guesses.
"""

from __future__ import annotations

import itertools
import string
from functools import lru_cache
from typing import NamedTuple

MOST_SETS = 100_000
"""Sets of codes whose fewest guesses are remembered; then they are found anew."""


class Answer(NamedTuple):
    """The answer to a guess."""

    bulls: int
    """Letters in their place."""
    cows: int
    """Letters of the code that are in another place."""


def answered(guess: str, code: str) -> Answer:
    """Return the answer to a guess at a code.

    >>> answered("ABC", "ACD")
    Answer(bulls=1, cows=1)
    """
    bulls = sum(map(str.__eq__, guess, code))
    return Answer(bulls, len(set(guess) & set(code)) - bulls)


class CodeSearch:
    """All codes of a length over some letters, and the best guesses at them."""

    def __init__(self, letters: int, length: int) -> None:
        alphabet = string.ascii_uppercase[:letters]
        self.codes = tuple(map("".join, itertools.permutations(alphabet, length)))
        self.all = (1 << len(self.codes)) - 1
        self._found = Answer(length, 0)
        self._parts = [self._split(guess) for guess in self.codes]
        self._totals: dict[int, int] = {}

    def _split(self, guess: str) -> list[int]:
        """Return the codes of each answer but "found", as bits."""
        parts: dict[Answer, int] = {}
        for i, code in enumerate(self.codes):
            answer = answered(guess, code)
            parts[answer] = parts.get(answer, 0) | 1 << i
        del parts[self._found]
        return list(parts.values())

    def left(self, answers: list[tuple[str, Answer]]) -> int:
        """Return the codes that agree with all answers, as bits."""
        return sum(
            1 << i
            for i, code in enumerate(self.codes)
            if all(answered(guess, code) == answer for guess, answer in answers)
        )

    def total(self, left: int) -> int:
        """Return T: the fewest guesses, summed over the codes that are left."""
        if left & (left - 1) == 0:
            return int(left != 0)
        if left not in self._totals:
            found = min(self._after(left, least=True).values())
            if len(self._totals) >= MOST_SETS:
                self._totals.clear()
            self._totals[left] = found
        return self._totals[left]

    def best(self, left: int) -> list[str]:
        """Return the guesses of the fewest further guesses; all codes where all are left."""
        if left == self.all:
            return list(self.codes)
        if left & (left - 1) == 0:
            return [self.codes[left.bit_length() - 1]]
        totals = self._after(left, least=False)
        fewest = min(totals.values())
        return [self.codes[guess] for guess, total in totals.items() if total == fewest]

    def _after(self, left: int, least: bool) -> dict[int, int]:
        """Return guess -> T with it; with `least` only those that may be the fewest.

        A set of n codes needs 2 n - 1 guesses at least: the first code one, all others two.
        """
        guesses = range(1) if left == self.all else range(len(self.codes))
        found: dict[int, int] = {}
        bounds = {guess: self._bound(left, guess) for guess in guesses}
        for guess in sorted(guesses, key=bounds.__getitem__):
            if found and bounds[guess] > min(found.values()) - int(least):
                break
            parts = [left & part for part in self._parts[guess] if left & part]
            if left not in parts:  # else it excludes nothing
                found[guess] = left.bit_count() + sum(map(self.total, parts))
        return found

    def _bound(self, left: int, guess: int) -> int:
        sizes = [(left & part).bit_count() for part in self._parts[guess]]
        return left.bit_count() + sum(2 * size - 1 for size in sizes if size)


@lru_cache(maxsize=8)
def code_search(letters: int, length: int) -> CodeSearch:
    """Return the search over codes of a length, with what it has found out so far.

    >>> search = code_search(4, 3)
    >>> len(search.codes)
    24
    """
    return CodeSearch(letters, length)
