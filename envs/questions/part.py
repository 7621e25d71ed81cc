"""A fixed fifth of a source is held out: learn from one part, measure on the other."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from coevo.envs.core.errors import ConfigError
from coevo.envs.questions.question import Question, QuestionSource

PartName = Literal["train", "test"]
MOST = 1_000_000
"""Questions of a source that can be parted; larger sources hardly repeat themselves."""


class Part(QuestionSource):
    """The training four fifths or the test fifth of another source, dealt once and for all.

    Args:
        whole: the source.
        part: `train` or `test`.
    """

    def __init__(self, whole: QuestionSource, part: PartName) -> None:
        if part not in get_args(PartName):
            raise ConfigError(f"part={part!r} must be one of {', '.join(get_args(PartName))}")
        count = len(whole)
        if not 5 <= count <= MOST:
            raise ConfigError(f"part={part!r}: {whole.name} has {count} questions, not 5 to {MOST}")
        self.whole, self.name = whole, whole.name
        self.settings = {**whole.settings, "part": part}
        shuffled = np.random.default_rng(0).permutation(count)  # the same for everybody, for ever
        tested = count // 5
        self.places = np.sort(shuffled[:tested] if part == "test" else shuffled[tested:])

    def __len__(self) -> int:
        """Count the questions of this part."""
        return len(self.places)

    def item(self, index: int) -> Question:
        """Give one question of this part."""
        return self.whole.item(int(self.places[self._place(index)]))

    def grade(self, question: Question, answer: str | None) -> float:
        """Grade as the whole source does."""
        return self.whole.grade(question, answer)
