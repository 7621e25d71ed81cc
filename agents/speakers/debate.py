"""Speaks for a debater of `coevo/debate-v0`."""

from __future__ import annotations

import re
from collections import Counter

from coevo.agents.agent import Request
from coevo.agents.speakers import Speech
from coevo.agents.speakers.questions import answered, even, guesses, heard, mixed, solve

_TERSE = re.compile(r"You: (.*)\. Others: (.*)\. Reply \[")
_QUOTED = re.compile(r"^Answer \d+ \(final answer: (.*)\):$", re.MULTILINE)


def speak(request: Request, skill: float) -> Speech:
    """Give the right answer with probability `skill`; who does not know it leans on the others.

    Of the rest, a share `skill` goes to the answer that most of those shown gave, and the rest of
    that is a guess: nobody of skill 0 copies.
    """
    text = heard(request)
    options = guesses(text)
    shown = [said for said in _shown(request) if said in options]
    right = solve(text)
    if not shown or right is None:
        return answered(text, skill)
    most = Counter(shown).most_common(1)[0][0]
    rest = 1 - skill
    return mixed([(skill, {right: 1.0}), (rest * skill, {most: 1.0}), (rest * rest, even(options))])


def _shown(request: Request) -> list[str]:
    """List the answers in the last message, the debater's own first."""
    last = request.chat[-1]["content"]
    terse = _TERSE.search(last)
    return [terse[1], *terse[2].split(", ")] if terse else _QUOTED.findall(last)
