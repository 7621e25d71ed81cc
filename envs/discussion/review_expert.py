"""How an expert solves and judges in a peer review.

At skill s it judges rightly with probability (1 + sqrt(s)) / 2, as to judge is easier than to
solve, and scores with 1 or 3 likewise, a little swayed by the review, now and then with a 2. What
it cannot work out it judges at random.
"""

from __future__ import annotations

import math

import numpy as np

from coevo.envs.core.task import Replies
from coevo.envs.discussion.question_env import guesses, known, spelled
from coevo.envs.questions import Question

FLAWED = 0.05
"""Share of scores that are 2."""
SWAY = 0.1
"""What the review adds to the probability of the score that agrees with it, at most."""


def solutions(question: Question, skill: float) -> Replies:
    """Return the right answer with probability `skill`, else any of the guesses."""
    truth = known(question)
    options = tuple(dict.fromkeys((*guesses(question), *([truth] if truth else []))))
    share = skill if truth else 0.0
    chances = [share * (option == truth) + (1 - share) / len(options) for option in options]
    return Replies(tuple(map(spelled, options)), np.array(chances))


def verdicts(right: bool | None, skill: float) -> Replies:
    """Return verdicts on a solution."""
    good = _believed(right, skill)
    return Replies(("[right]", "[wrong]"), np.array([good, 1 - good]))


def scores(right: bool | None, review: str | None, skill: float) -> Replies:
    """Return scores of a solution."""
    sway = SWAY * (1 - skill) * ((review == "right") - (review == "wrong"))
    high = min(max(_believed(right, skill) + sway, 0.0), 1.0)
    clear = 1 - FLAWED
    return Replies(("[1]", "[2]", "[3]"), np.array([clear * (1 - high), FLAWED, clear * high]))


def _believed(right: bool | None, skill: float) -> float:
    """Return with what probability a solution is taken for right."""
    sure = (1 + math.sqrt(skill)) / 2
    return 0.5 if right is None else sure if right else 1 - sure
