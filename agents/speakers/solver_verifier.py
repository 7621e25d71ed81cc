"""Speaks for the solver and for the verifier of `coevo/solver_verifier-v0`."""

from __future__ import annotations

import re

from coevo.agents.agent import Request
from coevo.agents.speakers import Speech
from coevo.agents.speakers.questions import answered, even, heard, mixed, solve
from coevo.envs.questions import agree

APPROVE, REJECT = "approve", "reject"
_SAID = re.compile(r"Solver: (.*)\. Reply \[|\(final answer: (.*)\):$", re.MULTILINE)


def speak(request: Request, skill: float) -> Speech:
    """Answer rightly, or judge rightly, with probability `skill`, else at random."""
    text = heard(request)
    if request.seat.startswith("solver"):
        return answered(text, skill)
    right = solve(text)
    if right is None:
        return mixed([(1.0, even((APPROVE, REJECT)))])
    said = ["".join(groups) for groups in _SAID.findall(text)][-1:]
    good = bool(said) and agree(said[0], right, "number")
    return mixed(
        [(skill, {APPROVE if good else REJECT: 1.0}), (1 - skill, even((APPROVE, REJECT)))]
    )
