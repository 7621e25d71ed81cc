"""Every task of reasoning-gym by name, each graded by its own verifier."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Literal

from coevo.envs.core.config import config, plain, whole
from coevo.envs.core.errors import ConfigError, missing_extra, unknown
from coevo.envs.questions.answers import LONGEST, as_number
from coevo.envs.questions.question import Question, SplitSource


@config
class ReasoningGym(SplitSource):
    """Generated questions of one task; some verifiers give part of the credit.

    The verifiers are reasoning-gym's and read what agents write with SymPy at times, so this is
    no place for text that means harm.
    """

    name: Literal["reasoning_gym"] = "reasoning_gym"
    task: str
    """Name in reasoning-gym, such as `leg_counting`."""
    size: Annotated[int, whole(1)] = 500
    """Number of questions."""
    seed: Annotated[int, whole(0)] = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the task, such as `min_value`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        len(self)  # arguments that the task refuses fail before anything starts

    def __reduce__(self) -> tuple[Any, ...]:
        """Make it again from its fields: the data of some tasks cannot be pickled."""
        return _again, (plain(self),)

    @functools.cached_property
    def _data(self) -> Any:
        if importlib.util.find_spec("reasoning_gym") is None:
            raise missing_extra("reasoning-gym", "questions")
        from reasoning_gym.factory import DATASETS, create_dataset  # slow to import

        if self.task not in DATASETS:
            raise unknown("reasoning-gym task", self.task, DATASETS)
        try:
            return create_dataset(self.task, size=self.size, seed=self.seed, **self.settings)
        except (TypeError, ValueError, AssertionError) as error:
            raise ConfigError(f"reasoning-gym task {self.task!r}: {error}") from None

    @property
    def _count(self) -> int:
        return int(self._data.size)

    def _at(self, place: int) -> Question:
        """Return a question, the same at every call."""
        entry = self._data[place]
        answer = "" if entry["answer"] is None else str(entry["answer"])
        kind = "text" if as_number(answer) is None else "number"
        return Question(str(entry["question"]).strip(), answer, kind, str(place), self.name)

    def grade(self, question: Question, answer: str | None) -> float:
        """Return the score of the task's verifier; what makes it fail is wrong."""
        entry = self._data[int(question.id)]
        try:
            score = float(self._data.score_answer(answer and answer[:LONGEST], entry))
        except Exception:  # verifiers raise all sorts of errors on what they did not expect
            return 0.0
        return min(max(score, 0.0), 1.0)


def _again(fields: dict[str, Any]) -> ReasoningGym:
    return ReasoningGym(**fields)
