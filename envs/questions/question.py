"""A question with its gold answer, and what every source of questions offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from coevo.envs.core.errors import ConfigError
from coevo.envs.questions.grading import right


@dataclass(frozen=True, slots=True)
class Question:
    """One question. Nobody who plays ever sees more of it than the text and the kind."""

    question: str
    """What is asked, in words."""
    answer: str
    """The gold answer, as its source spells it."""
    kind: str = "text"
    """`number` and `mathematics` are compared by value, the latter with algebra; `choice` by its
    letter; answers of any other kind as text."""
    id: str = ""
    """Name of the question within its source; says nothing about the answer."""
    source: str = ""
    """Name of the source."""


class QuestionSource:
    """Base of every source; subclasses give `__len__` and `item`, and may grade in their own way.

    A source never changes: environments and their forks share it.
    """

    name: str = ""
    """Key of `SOURCES`."""
    settings: Mapping[str, Any] = {}  # replaced by every source, never changed
    """Arguments that make this source again, JSON-able; those at their defaults are left out."""

    @property
    def spec(self) -> str | dict[str, Any]:
        """What `questions` reads to make this source again; JSON-able."""
        return {"name": self.name, **self.settings} if self.settings else self.name

    def __len__(self) -> int:
        """Count the questions."""
        raise NotImplementedError  # abstract

    def item(self, index: int) -> Question:
        """Give question number `index`, the same at every call."""
        raise NotImplementedError  # abstract

    def draw(self, rng: np.random.Generator) -> Question:
        """Give a question, each with the same probability."""
        return self.item(int(rng.integers(len(self))))

    def grade(self, question: Question, answer: str | None) -> float:
        """Compare a final answer (see `final_answer`) with the gold one.

        Args:
            question: one of this source.
            answer: None where none was given.

        Returns:
            0..1; the gold answer itself gives 1.
        """
        return float(answer is not None and right(answer, question.answer, question.kind))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Share the source: a copy of an environment needs no copy of a data set."""
        return self

    def _place(self, index: int) -> int:
        """Check an index."""
        if not 0 <= index < len(self):
            raise ConfigError(f"{self.name} has questions 0..{len(self) - 1}, asked for {index}")
        return index
