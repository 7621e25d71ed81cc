"""Sums and small stories in sentences, from one digit on, for small language models."""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Annotated, Literal, NamedTuple

import numpy as np

from coevo.envs.core.config import config, real
from coevo.envs.core.errors import ConfigError
from coevo.envs.questions.question import Question, SplitSource


class _Level(NamedTuple):
    """Questions of one difficulty; a difference is taken from the sum of the two numbers."""

    operation: Literal["plus", "minus", "times", "twice"]
    first: range
    second: range
    third: range = range(1)


_ONE, _TWO = range(2, 10), range(10, 100)
LEVELS = (
    _Level("plus", _ONE, _ONE),
    _Level("minus", _ONE, _ONE),
    _Level("plus", _TWO, _ONE),
    _Level("times", _ONE, _ONE),
    _Level("plus", _TWO, _TWO),
    _Level("minus", _TWO, _TWO),
    _Level("twice", _ONE, _ONE, _TWO),
)
"""From one-digit sums (difficulty 0) to two steps, a * b + c (difficulty 1), in even steps."""
DIFFICULTIES = [number / (len(LEVELS) - 1) for number in range(len(LEVELS))]
_ENDS = [0, *accumulate(len(x.first) * len(x.second) * len(x.third) for x in LEVELS)]
"""The place of the first question of every level, and the number of all."""

_SUMS = {
    "plus": ("What is {a} plus {b}?", "{a} + {b} = ?"),
    "minus": ("What is {a} minus {b}?", "{a} - {b} = ?"),
    "times": ("What is {a} times {b}?", "{a} * {b} = ?"),
    "twice": ("What is {a} times {b}, plus {c}?", "{a} * {b} + {c} = ?"),
}
_STORIES = {
    "plus": (
        "{name} has {a} {things} and gets {b} more. How many {things} does {name} have now?",
        "There are {a} {things} in a box. {name} puts {b} more into it. How many {things} are in "
        "the box now?",
        "{name} buys {a} {things} today and {b} tomorrow. How many {things} is that in all?",
    ),
    "minus": (
        "{name} has {a} {things} and gives {b} away. How many {things} does {name} have left?",
        "There are {a} {things} in a box. {name} takes {b} out. How many {things} are left?",
        "{name} needs {a} {things} and has {b}. How many {things} are missing?",
    ),
    "times": (
        "{name} has {a} bags with {b} {things} in each. How many {things} does {name} have?",
        "{name} buys {a} {things} every day for {b} days. How many {things} is that?",
        "There are {a} rows of {b} {things}. How many {things} are there?",
    ),
    "twice": (
        "{name} has {a} bags with {b} {things} in each, and {c} more {things}. How many {things} "
        "does {name} have?",
        "{name} buys {a} {things} every day for {b} days, and then {c} more. How many {things} is "
        "that?",
    ),
}
_NAMES = ("Ann", "Ben", "Maria", "Omar", "Lena", "Tom", "Mei")
_THINGS = ("apples", "books", "coins", "cups", "eggs", "pens", "shells", "stamps", "toys")


@config
class WordProblems(SplitSource):
    """Questions such as `What is 4 plus 3?` and `Ann has 4 eggs and gets 3 more. ...`.

    Every choice of numbers has one wording, so no numbers of `test` are in `train`. An episode
    draws a level first and then one of its questions; `options={"difficulty": 0.5}` of a reset
    draws from the level that is nearest.
    """

    name: Literal["word_problems"] = "word_problems"
    task: Literal["sums", "stories", "mixed"] = "mixed"
    """`sums` asks for a number, `stories` tells what the numbers are; `mixed` has both."""
    easiest: Annotated[float, real(0, 1)] = 0.0
    """Lowest difficulty: 0 is a sum of two one-digit numbers."""
    hardest: Annotated[float, real(0, 1)] = 1.0
    """Highest difficulty: 1 is a product plus a two-digit number."""

    def __post_init__(self) -> None:
        if not self._levels:
            raise ConfigError(
                f"easiest={self.easiest}, hardest={self.hardest}: no level lies between; there "
                f"are {', '.join(f'{level:.2f}' for level in DIFFICULTIES)}"
            )
        super().__post_init__()

    @functools.cached_property
    def _levels(self) -> list[int]:
        """Return the numbers of the levels that are asked."""
        low, high = self.easiest - 0.01, self.hardest + 0.01  # .17 means 1/6
        return [n for n, level in enumerate(DIFFICULTIES) if low <= level <= high]

    @property
    def _count(self) -> int:
        return _ENDS[-1]

    @functools.cached_property
    def _places(self) -> Sequence[int]:
        kept = super()._places
        low, high = _ENDS[self._levels[0]], _ENDS[self._levels[-1] + 1]
        return kept[bisect_left(kept, low) : bisect_left(kept, high)]

    @property
    def difficulties(self) -> Sequence[float]:
        return [DIFFICULTIES[n] for n in self._levels]

    def draw(self, rng: np.random.Generator, difficulty: float | None = None) -> int:
        if difficulty is None:
            return self._in_level(int(rng.choice(self._levels)), rng)
        return self._in_level(
            min(self._levels, key=lambda n: abs(DIFFICULTIES[n] - difficulty)), rng
        )

    def near(self, index: int, rng: np.random.Generator) -> int:
        """Return the place of a question of the same level."""
        return self._in_level(_level_of(self._places[index]), rng)

    def _in_level(self, number: int, rng: np.random.Generator) -> int:
        low, high = (bisect_left(self._places, _ENDS[n]) for n in (number, number + 1))
        return int(rng.integers(low, high))

    def _at(self, place: int) -> Question:
        number = _level_of(place)
        level = LEVELS[number]
        first, rest = divmod(place - _ENDS[number], len(level.second) * len(level.third))
        second, third = divmod(rest, len(level.third))
        a, b, c = level.first[first], level.second[second], level.third[third]
        if level.operation == "minus":
            a += b
        answer = {"plus": a + b, "minus": a - b, "times": a * b, "twice": a * b + c}
        turn = first + second + third
        words = {
            "name": _NAMES[(turn + 2 * first) % len(_NAMES)],
            "things": _THINGS[(turn + second) % len(_THINGS)],
        }
        sentence, short = (
            text.format(a=a, b=b, c=c, **words) for text in self._worded(level.operation, turn)
        )
        return Question(
            short,
            str(answer[level.operation]),
            "number",
            "-".join(map(str, (level.operation, a, b, c)[: 4 if c else 3])),
            self.name,
            sentence,
            difficulty=DIFFICULTIES[number],
            solution=_worked(level.operation, a, b, c),
            ours=True,
        )

    def _worded(self, operation: str, turn: int) -> tuple[str, str]:
        """Return the sentence of a question and what terse prompts ask."""
        stories = _STORIES[operation]
        if self.task == "sums" or (self.task == "mixed" and turn % 2 == 0):
            return _SUMS[operation]
        story = stories[(turn // 2) % len(stories)]
        return story, story


def _level_of(place: int) -> int:
    return bisect_right(_ENDS, place) - 1


def _worked(operation: str, a: int, b: int, c: int) -> str:
    """Return the steps of a question, the answer last.

    >>> _worked("twice", 2, 3, 4)
    '2 times 3 is 6. 6 plus 4 is 10. [10]'
    """
    if operation == "twice":
        return f"{a} times {b} is {a * b}. {a * b} plus {c} is {a * b + c}. [{a * b + c}]"
    answer = {"plus": a + b, "minus": a - b, "times": a * b}[operation]
    return f"{a} {operation} {b} is {answer}. [{answer}]"
