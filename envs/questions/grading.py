"""Grades one answer by the kind of its question."""

from __future__ import annotations

from coevo.envs.questions.answers import agree
from coevo.envs.questions.mathematics import same_mathematics

MATHEMATICS = ("mathematics", "math")
"""Kinds that are compared by value, with algebra."""


def right(answer: str, gold: str, kind: str) -> bool:
    r"""Return whether an answer is right.

    >>> right("0.50", "1/2", "mathematics"), right(" Paris.", "paris", "text")
    (True, True)
    """
    return same_mathematics(answer, gold) if kind in MATHEMATICS else agree(answer, gold, kind)
