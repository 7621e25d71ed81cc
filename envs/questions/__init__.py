"""Where questions come from, and who knows the answers."""

from coevo.envs.questions.answers import agree, final_answer, normalised
from coevo.envs.questions.question import Question, QuestionSource
from coevo.envs.questions.sources import Source, questions

__all__ = [
    "Question",
    "QuestionSource",
    "Source",
    "agree",
    "final_answer",
    "normalised",
    "questions",
]
