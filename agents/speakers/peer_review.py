"""Scripted solvers, evaluators and scorers for `coevo/peer_review-v0`.

A speaker of skill s knows the answer of a small sum with probability s (and guesses otherwise),
judges a solution rightly with probability (1 + sqrt(s)) / 2, as to judge is easier, and scores
with 1 or 3 likewise, a little swayed by the review, now and then with a 2, and at low skill
sometimes with a 0, which is no score. Questions that it cannot work out are answered and judged at
random.
"""

from __future__ import annotations

import math
import re

import numpy as np

from coevo.agents.agent import Request
from coevo.agents.speakers import Speech
from coevo.agents.speakers.questions import guesses, solve

_REQUEST = re.compile(
    r"(?:Solve|Review|Score): (?P<question>.*?[?])"
    r"(?: Said before: .*?)?(?: Solution: (?P<solution>.*?))?(?: Review: (?P<review>.*?))?"
    r"(?: \[answer\]| \[right\] or \[wrong\]| \[1\] wrong to \[3\] right)\Z",
    re.DOTALL,
)
_NUMBER = re.compile(r"-?\d+")
FLAWED = 0.05
"""Share of scores that are 2."""
MUMBLED = 0.12
"""Share of scores that cannot be read at skill 0; falls to 0 at skill 1."""
SWAY = 0.1
"""What the review adds to the probability of the score that agrees with it, at most."""


def speak(request: Request, skill: float) -> Speech:
    """Give what a player of this skill might say, and how likely.

    Args:
        request: a terse request of peer review.
        skill: 0 plays at random in the right form, 1 knows what is right.
    """
    found = _REQUEST.match(request.chat[-1]["content"])
    seen = found.groupdict() if found else {}
    question = seen.get("question") or ""
    truth = solve(question)
    role = request.info.get("role", "solver")
    if role == "solver":
        return _solve(truth, question, skill)
    answers = _NUMBER.findall(seen.get("solution") or "")
    right = None if truth is None else bool(answers) and answers[-1] == truth
    sure = (1 + math.sqrt(skill)) / 2
    good = 0.5 if right is None else sure if right else 1 - sure
    if role == "evaluator":
        return Speech(("[right]", "[wrong]"), np.array([good, 1 - good]))
    return _score(good, seen.get("review") or "", skill)


def _solve(truth: str | None, question: str, skill: float) -> Speech:
    """Know the answer, or guess."""
    options = tuple(dict.fromkeys((*guesses(question), *([truth] if truth else []))))
    known = np.array([float(option == truth) for option in options])
    share = skill if truth is not None else 0.0
    odds = share * known + (1 - share) / len(options)
    return Speech(tuple(f"[{option}]" for option in options), odds)


def _score(good: float, review: str, skill: float) -> Speech:
    said = review.split()[-1:]
    sway = SWAY * (1 - skill) * ((said == ["right"]) - (said == ["wrong"]))
    high = min(max(good + sway, 0.0), 1.0)
    bad = MUMBLED * (1 - skill)
    clear = 1 - bad - FLAWED
    odds = np.array([clear * (1 - high), FLAWED, clear * high, bad])
    return Speech(("[1]", "[2]", "[3]", "[0]"), odds / odds.sum())
