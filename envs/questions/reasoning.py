"""Every task of reasoning-gym by name, each graded by its own verifier."""

from __future__ import annotations

import importlib.util
from typing import Any

from coevo.envs.core.errors import ConfigError, missing_extra, unknown
from coevo.envs.questions.answers import LONGEST, as_number
from coevo.envs.questions.question import Question, QuestionSource


class ReasoningGym(QuestionSource):
    """Generated questions of one task; some verifiers give part of the credit.

    The verifiers are reasoning-gym's and read what agents write with SymPy at times, so this is
    no place for text that means harm.

    Args:
        task: name in reasoning-gym, such as `leg_counting`.
        size: number of questions.
        seed: of the questions.
        **params: of the task, such as `min_value`.
    """

    name = "reasoning-gym"

    def __init__(self, *, task: str, size: int = 500, seed: int = 0, **params: Any) -> None:
        if importlib.util.find_spec("reasoning_gym") is None:
            raise missing_extra("reasoning-gym", "questions")
        from reasoning_gym.factory import DATASETS, create_dataset  # slow to import

        if task not in DATASETS:
            raise unknown("reasoning-gym task", task, DATASETS)
        try:
            self._data = create_dataset(task, size=size, seed=seed, **params)
        except (TypeError, ValueError, AssertionError) as error:
            raise ConfigError(f"reasoning-gym task {task!r}: {error}") from None
        given = {"size": (size, 500), "seed": (seed, 0)}
        changed = {name: value for name, (value, usual) in given.items() if value != usual}
        self.settings = {"task": task} | changed | params

    def __reduce__(self) -> tuple[Any, ...]:
        """Make it again from its settings: the data of some tasks cannot be pickled."""
        return _again, (dict(self.settings),)

    def __len__(self) -> int:
        """Count the questions."""
        return int(self._data.size)

    def item(self, index: int) -> Question:
        """Generate a question, the same at every call."""
        entry = self._data[self._place(index)]
        answer = "" if entry["answer"] is None else str(entry["answer"])
        kind = "text" if as_number(answer) is None else "number"
        return Question(str(entry["question"]).strip(), answer, kind, str(index), self.name)

    def grade(self, question: Question, answer: str | None) -> float:
        """Ask the task's verifier; what makes it fail is wrong."""
        entry = self._data[int(question.id)]
        try:
            score = float(self._data.score_answer(answer and answer[:LONGEST], entry))
        except Exception:  # verifiers raise all sorts of errors on what they did not expect
            return 0.0
        return min(max(score, 0.0), 1.0)


def _again(settings: dict[str, Any]) -> ReasoningGym:
    return ReasoningGym(**settings)
