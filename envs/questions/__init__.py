"""Where questions come from, and who knows the answers."""

from coevo.envs.questions.answers import agree, final_answer, normalised
from coevo.envs.questions.question import Question, QuestionSource
from coevo.envs.questions.sources import SOURCES, questions

__all__ = [
    "SOURCES",
    "Question",
    "QuestionSource",
    "agree",
    "final_answer",
    "normalised",
    "questions",
]
