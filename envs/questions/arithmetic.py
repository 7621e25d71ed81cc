"""Built-in questions: tiny arithmetic that needs no file and no package."""

from __future__ import annotations

from math import prod
from typing import Any, Literal, get_args

from coevo.envs.core.errors import ConfigError
from coevo.envs.questions.question import Question, QuestionSource

Task = Literal["larger", "sum"]


class Digits(QuestionSource):
    """The larger of two last digits, or the last digit of a sum: one digit is the answer.

    `larger last digit of 47, 83?` has the answer 7, `last digit of 47+83?` has 0. A model of
    some 100k parameters learns the first readily and the second hardly.

    Args:
        task: `larger` or `sum`.
        low: smallest number.
        high: largest number.
    """

    name = "digits"

    def __init__(self, *, task: Task = "larger", low: int = 0, high: int = 99) -> None:
        if task not in get_args(Task):
            raise ConfigError(f"task={task!r} must be one of {', '.join(get_args(Task))}")
        self.task = task
        self.low, self.size = low, _count("digits", low, high)
        self.settings = _given(task=(task, "larger"), low=(low, 0), high=(high, 99))

    def __len__(self) -> int:
        """Count the ordered pairs of numbers."""
        return self.size**2

    def item(self, index: int) -> Question:
        """Give one pair's question; pairs are ordered by the first number."""
        a, b = (self.low + part for part in divmod(self._place(index), self.size))
        if self.task == "larger":
            text, answer = f"larger last digit of {a}, {b}?", max(a % 10, b % 10)
        else:
            text, answer = f"last digit of {a}+{b}?", (a + b) % 10
        return Question(text, str(answer), "number", f"{self.task}-{a}-{b}", self.name)


class Sums(QuestionSource):
    """a+b*c+d-e*f over whole numbers: the arithmetic of Du et al. (arXiv 2305.14325).

    Args:
        low: smallest number.
        high: largest number; they draw from 0 to 29.
    """

    name = "sums"

    def __init__(self, *, low: int = 0, high: int = 29) -> None:
        self.low, self.sizes = low, (_count("sums", low, high),) * 6
        if prod(self.sizes) >= 2**62:
            raise ConfigError(f"low={low}, high={high}: at most 1400 different numbers")
        self.settings = _given(low=(low, 0), high=(high, 29))

    def __len__(self) -> int:
        """Count the choices of six numbers."""
        return prod(self.sizes)

    def item(self, index: int) -> Question:
        """Give one choice of six numbers; the last one changes first."""
        rest = self._place(index)
        numbers: list[int] = []
        for size in self.sizes:
            rest, digit = divmod(rest, size)
            numbers.insert(0, self.low + digit)
        a, b, c, d, e, f = numbers
        text = f"{a}+{b}*{c}+{d}-{e}*{f}=?"
        name = "-".join(map(str, numbers))
        return Question(text, str(a + b * c + d - e * f), "number", name, self.name)


def _count(name: str, low: int, high: int) -> int:
    if not all(isinstance(n, int) for n in (low, high)) or not 0 <= low <= high:
        raise ConfigError(f"{name}: low={low!r}, high={high!r}: whole numbers, 0 <= low <= high")
    return high - low + 1


def _given(**settings: tuple[Any, Any]) -> dict[str, Any]:
    """Keep the settings that differ from their defaults."""
    return {name: value for name, (value, usual) in settings.items() if value != usual}
