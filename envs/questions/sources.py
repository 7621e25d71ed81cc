"""All question sources that a configuration can name."""

from __future__ import annotations

from typing import Annotated, Any

from coevo.envs.core.config import choice, read
from coevo.envs.questions.arithmetic import Digits, Sums
from coevo.envs.questions.code import Humaneval, Mbpp
from coevo.envs.questions.files import Aime, Gsm8k, Jsonl, Math500
from coevo.envs.questions.multi_hop import MultiHop
from coevo.envs.questions.multiple_choice import Choice, Gpqa, Mmlu
from coevo.envs.questions.question import QuestionSource
from coevo.envs.questions.reasoning import ReasoningGym
from coevo.envs.questions.scibench import Scibench
from coevo.envs.questions.word_problems import WordProblems

Source = Annotated[
    Aime
    | Choice
    | Digits
    | Gpqa
    | Gsm8k
    | Humaneval
    | Jsonl
    | Math500
    | Mbpp
    | Mmlu
    | MultiHop
    | ReasoningGym
    | Scibench
    | Sums
    | WordProblems,
    choice(QuestionSource),
]
"""A question source in a configuration; in Python any `QuestionSource` is one too."""


def questions(given: Any = "digits") -> QuestionSource:
    """Return a source of questions.

    Args:
        given: a source, a mapping with `name` and further fields, or a bare name.

    >>> questions({"name": "digits", "task": "sum"}).item(4783).question
    'last digit of 47+83?'
    >>> len(questions({"name": "digits", "split": "test"}))
    2000
    """
    source: QuestionSource = read(Source, given, "questions")
    return source
