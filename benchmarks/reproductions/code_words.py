"""Codes of the password game as sentences, a policy that carries them out, and their variation.

Sentence   "Say apple for 1, bread for 2." Both partners have it: one says, the other reads by it.
Policy     A table with a row for every word and every number, in which that move is sure; the row
           of a prompt is what its sentence says to do, so that it plays that and learns nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
import torch

from coevo.agents.agent import Request
from coevo.agents.population import MakePolicy
from coevo.agents.table import Rows, Table, TabularPolicy
from coevo.benchmarks.reproductions.run import sized
from coevo.envs.core.config import config, real, whole
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.steps.writers import Newcomer, Written

SURE = 50.0
"""Logit of the move that a sentence names; the others have 0."""
_PAIR = re.compile(r"(\w+) for (\d+)")


def sentence(code: Sequence[str]) -> str:
    """Return the sentence of a code: the words for 1, 2 and so on.

    >>> sentence(["fox", "owl"])
    'Say fox for 1, owl for 2.'
    """
    return f"Say {', '.join(f'{word} for {n}' for n, word in enumerate(code, 1))}."


def code_of(text: str) -> list[str]:
    """Return the code that a prompt holds, empty where it holds none.

    >>> code_of("How you talk: Say fox for 1, owl for 2.")
    ['fox', 'owl']
    """
    return [word for word, _ in _PAIR.findall(text)]


class Coded(Rows):
    """A row for every word, then one for every number; the row of a prompt is what to do there."""

    def __init__(self, words: Sequence[str], numbers: int) -> None:
        super().__init__()
        self.words = list(words)
        self.moves = [len(words)] * len(words) + [numbers] * numbers

    def row(self, request: Request) -> int:
        code = code_of(request.chat[0]["content"])
        if list(request.info["legal_actions"]) == self.words:
            return self.words.index(code[request.info["number"] - 1])
        heard = request.info["heard"][-1]
        return len(self.words) + (code.index(heard) if heard in code else 0)


def partners(words: Sequence[str], numbers: int) -> MakePolicy:
    """Return what makes agents that carry codes out, and plain tables for other roles."""
    size = len(words) + numbers
    plain = sized(len(words), 2)

    def make(name: str, **given: Any) -> TabularPolicy:
        if not name.startswith("agent"):
            made = plain(name, **given)
            assert isinstance(made, TabularPolicy)
            return made
        table = Table(size, max(len(words), numbers))
        with torch.no_grad():
            for row in range(size):
                table.logits_RA[row, row if row < len(words) else row - len(words)] = SURE
        return TabularPolicy(table, Coded(words, numbers), name=name)

    return make


@config
class Recombined(Newcomer):
    """Takes every word of its code from one of its parents, or draws it; shown none, draws all."""

    words: tuple[str, ...]
    numbers: Annotated[int, whole(1)]
    name: Literal["recombined"] = "recombined"
    mutation: Annotated[float, real(0, 1)] = 0.1
    """Probability that a word is drawn anew."""

    def __call__(self, run: Any, elders: Sequence[Artifact], rng: np.random.Generator) -> Written:
        """Cross and mutate; no word stands twice in a code."""
        code: list[str] = []
        parents = [code_of(str(a.payload)) for a in elders]
        for n in range(self.numbers):
            free = [w for w in self.words if w not in code]
            taken = [p[n] for p in parents if p[n] not in code]
            drawn = not taken or rng.random() < self.mutation
            code.append(str(rng.choice(free if drawn else taken)))
        return Written(sentence(code))
