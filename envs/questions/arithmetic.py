"""Built-in questions: tiny arithmetic that needs no file and no package."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.questions.question import Question, SplitSource


@config
class _Numbers(SplitSource):
    """Questions about whole numbers from `low` to `high`."""

    low: Annotated[int, whole(0)] = 0
    high: Annotated[int, whole(0)] = 99

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ConfigError(f"{self.name}: low={self.low} must be at most high={self.high}")
        super().__post_init__()

    numbers: ClassVar[int]
    """How many numbers a question has."""

    @property
    def _size(self) -> int:
        return self.high - self.low + 1

    @property
    def _count(self) -> int:
        return self._size**self.numbers

    def near(self, index: int, rng: np.random.Generator) -> int:
        """Return the place of a question of which one number is one larger or smaller.

        Of a split, the place as many questions further on.
        """
        step = self._size ** int(rng.integers(self.numbers))
        return (index + step * int(rng.choice([-1, 1]))) % len(self)


@config
class Digits(_Numbers):
    """The larger of two last digits, or the last digit of a sum: one digit is the answer.

    `larger last digit of 47, 83?` has the answer 7, `last digit of 47+83?` has 0. Full
    prompts ask in a sentence. A model of some 100k parameters learns the first readily and the
    second hardly.
    """

    name: Literal["digits"] = "digits"
    task: Literal["larger", "sum"] = "larger"
    numbers: ClassVar = 2

    def _at(self, place: int) -> Question:
        """Return one pair's question; pairs are ordered by the first number."""
        a, b = (self.low + part for part in divmod(place, self._size))
        if self.task == "larger":
            text, answer = f"larger last digit of {a}, {b}?", max(a % 10, b % 10)
            sentence = f"Which is larger: the last digit of {a} or the last digit of {b}?"
            others = (
                (
                    f"of {b}, {a}: larger last digit?",
                    f"Of {b} and {a}, which last digit is larger?",
                ),
                (
                    f"max of last digits, {a} {b}?",
                    f"Take the last digits of {a} and {b}. The larger?",
                ),
                (f"{b}, {a}: last digits, larger?", f"{b} and {a} end in digits. Which is larger?"),
            )
        else:
            text, answer = f"last digit of {a}+{b}?", (a + b) % 10
            sentence = f"What is the last digit of {a} + {b}?"
            others = (
                (f"{b}+{a} ends in?", f"In which digit does the sum of {b} and {a} end?"),
                (f"{a} plus {b}, last digit?", f"Add {a} and {b}. What is the last digit?"),
                (f"last of {b} plus {a}?", f"{b} plus {a} is a number. What is its last digit?"),
            )
        name = f"{self.task}-{a}-{b}"
        digits = tuple("0123456789")
        return Question(
            *(text, str(answer), "number", name, self.name, sentence),
            paraphrases=others,
            choices=digits,
            ours=True,
        )


@config
class Sums(_Numbers):
    """a+b*c+d-e*f over whole numbers, 0 to 29: the arithmetic of Du et al. (arXiv 2305.14325)."""

    name: Literal["sums"] = "sums"
    high: Annotated[int, whole(0)] = 29
    numbers: ClassVar = 6

    def __post_init__(self) -> None:
        if self._count >= 2**62:
            raise ConfigError(f"low={self.low}, high={self.high}: at most 1400 different numbers")
        super().__post_init__()

    def _at(self, place: int) -> Question:
        """Return one choice of six numbers; the last one changes first."""
        numbers: list[int] = []
        for _ in range(6):
            place, digit = divmod(place, self._size)
            numbers.insert(0, self.low + digit)
        a, b, c, d, e, f = numbers
        text = f"{a}+{b}*{c}+{d}-{e}*{f}=?"
        name = "-".join(map(str, numbers))
        sentence = f"What is {a} + {b} * {c} + {d} - {e} * {f}?"
        answer = str(a + b * c + d - e * f)
        return Question(text, answer, "number", name, self.name, sentence, ours=True)
