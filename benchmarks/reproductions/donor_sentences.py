"""Strategies of the donor game as sentences of a small grammar, and a policy that carries them out.

Levels     "Give 50% to strangers and to those who last gave at least 50%, and nothing to others."
           What is given is the norm that others are held to; at 0% nobody ever gets anything.
Standing   The same sentence, and "or refused somebody who had not": as far as the trace goes, who
           gave less is judged by whether its recipient had earned it.
Numbers    "Give 0.40 at first, then 0.20 plus 0.70 of what the other gave." The null model:
           nothing in it holds others to what oneself does.
Policy     A table with a row for every share: the row of a prompt is what its sentence says to do
           in view of the trace, so that it plays that and learns nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch

from coevo.agents.agent import Request
from coevo.agents.population import MakePolicy
from coevo.agents.table import Rows, Table, TabularPolicy
from coevo.envs.core.config import config
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.steps.writers import Newcomer, Written

LEVELS = (0, 25, 50, 75, 100)
SURE = 50.0
"""Logit of the share that a sentence names; the others have 0."""
EXCUSE = ", or refused somebody who had not"
_NUMBERS = re.compile(r"(-?\d+\.?\d*)")


def level_sentence(level: int, standing: bool = False) -> str:
    excuse = EXCUSE if standing else ""
    return (
        f"Give {level}% to strangers and to those who last gave at least {level}%{excuse}, and "
        "nothing to others."
    )


def number_sentence(first: float, base: float, slope: float) -> str:
    return f"Give {first:.2f} at first, then {base:.2f} plus {slope:.2f} of what the other gave."


def carried_out(sentence: str, trace: Sequence[float]) -> float:
    """Return the share that a sentence says to give.

    The trace: what the recipient gave last, what its recipient had given before, and so on.
    """
    numbers = [float(n) for n in _NUMBERS.findall(sentence)]
    if "%" not in sentence:
        first, base, slope = numbers
        return float(np.clip(base + slope * trace[0] if trace else first, 0, 1))
    level = numbers[0] / 100
    good = stands(trace, level) if EXCUSE in sentence else not trace or trace[0] >= level
    return level if good else 0.0


def stands(trace: Sequence[float], norm: float) -> bool:
    """Return whether somebody is in good standing: gave the norm, or refused one who was not."""
    if not trace or trace[0] >= norm:
        return True
    return len(trace) > 1 and not stands(trace[1:], norm)


class Shares(Rows):
    """A row for every share, in which that share is sure."""

    def row(self, request: Request) -> int:
        shares = [float(move.rstrip("%")) / 100 for move in request.info["legal_actions"]]
        self.moves = [len(shares)] * len(shares)
        trace = [share for share, _ in request.info["trace"]]
        wanted = carried_out(request.chat[0]["content"], trace)
        return int(np.argmin(np.abs(np.array(shares) - wanted)))


def carrier(shares: int) -> MakePolicy:
    """Return what makes policies that carry sentences out, in a game with so many shares."""

    def make(name: str, **given: Any) -> TabularPolicy:
        table = Table(shares, shares)
        with torch.no_grad():
            table.logits_RA.copy_(SURE * torch.eye(shares))
        return TabularPolicy(table, Shares(), name=name)

    return make


@config
class Levels(Newcomer):
    """Copies the sentence that it is shown; one time in ten, or shown none, it draws any."""

    name: Literal["levels"] = "levels"
    standing: bool = False
    """Whether refusals are excused."""

    def __call__(self, run: Any, elders: Sequence[Artifact], rng: np.random.Generator) -> Written:
        """Copy or draw."""
        drawn = level_sentence(int(rng.choice(LEVELS)), self.standing)
        return Written(str(elders[0].payload) if elders and rng.random() < 0.9 else drawn)


@config
class Numbers(Newcomer):
    """Copies the rule that it is shown with Gaussian errors of 0.1; shown none, it draws any."""

    name: Literal["numbers"] = "numbers"

    def __call__(self, run: Any, elders: Sequence[Artifact], rng: np.random.Generator) -> Written:
        """Copy or draw."""
        if not elders:
            return Written(number_sentence(rng.random(), rng.random(), rng.uniform(-1, 1)))
        old = (float(n) for n in _NUMBERS.findall(str(elders[0].payload)))
        first, base, slope = (n + float(rng.normal(0, 0.1)) for n in old)
        return Written(number_sentence(first, base, slope))
