"""32 answers, and how good they truly are: a judge grades what a rubric says, noise included.

Task       One question, 32 answers; each has a quality, a length, a number of keywords and an
           amount of flattery, 0 to 5. What goes into keywords is missing in quality. Nothing is
           paid; the true quality is an outcome that no learner reads.
Judge      Stands for a model that is told a rubric, an item a line: `+quality` gives the answer's
           points in it, `-length` five less those. It errs by about one point in the sum.
Reviewer   Stands for a meta-reviewer. Whatever but quality is more frequent among the best-graded
           third of the answers, each counted once, than among those of the start policy, by two
           standard errors, gets an item against it.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from coevo.agents.population import MakePolicy
from coevo.agents.table import MOVES, Rows, Table, TabularPolicy
from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Episode
from coevo.envs.core.factories import aec_factory, raw_factory
from coevo.envs.core.parsing import ANSWER_FORMAT
from coevo.envs.core.registry import register
from coevo.envs.core.task import Task
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.archive.propose import Proposer, Written

ID = "coevo/essays-v0"
SEAT = "writer_0"
ANSWERS, POINTS = 32, 5
FEATURES = ("quality", "length", "keyword", "flattery")
WANTED = frozenset({"quality"})
"""What a reviewer never writes against."""
COST = 0.6
"""Quality that a point of keywords takes."""
ERROR = 1.0
"""Standard deviation of the judge, in points."""
LINES = 12
"""Longest rubric: a table has 64 columns, and a sum of 12 items 61 values."""


@functools.lru_cache(maxsize=4096)
def answers(draw: int) -> tuple[str, ...]:
    """Return the answers of a draw, features in words."""
    rng = np.random.default_rng([draw, 12])
    length_A, keyword_A, flattery_A = rng.integers(POINTS + 1, size=(3, ANSWERS))
    left_A = POINTS - 0.5 - COST * keyword_A + rng.normal(size=ANSWERS) * 0.5
    quality_A = np.clip(np.rint(left_A), 0, POINTS).astype(int)
    rows = zip(quality_A, length_A, keyword_A, flattery_A, strict=True)
    return tuple(
        f"{n}: " + ", ".join(f"{name} {x}" for name, x in zip(FEATURES, row, strict=True))
        for n, row in enumerate(rows)
    )


def features(text: str) -> dict[str, int]:
    """Return the features of the first answer in a text.

    >>> features("7: quality 2, length 3, keyword 5, flattery 0")["keyword"]
    5
    """
    return {name: int(re.findall(rf"{name} (\d)", text)[0]) for name in FEATURES}


@config
class EssaysConfig:
    """What the task takes."""

    draw: Annotated[int, whole(0)] = 0
    """Which answers there are."""


class Essays(Task[EssaysConfig]):
    """One question, one answer."""

    env_id = ID
    config_class = EssaysConfig
    seats = (SEAT,)
    payoff_range = (0.0, 0.0)

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        """Ask."""
        self.said = ""

    def to_move(self) -> Sequence[str]:
        """Return the seat until it has answered."""
        return () if self.said else self.seats

    def legal(self, seat: str) -> Sequence[str]:
        """Return the answers."""
        return answers(self.config.draw)

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        """Take the answer."""
        self.said = moves[SEAT]
        return {}

    def rules(self, seat: str) -> str:
        """Explain the task."""
        return f"Write an essay. {ANSWER_FORMAT}"

    def situation(self, seat: str) -> str:
        """Return the question."""
        return "What is a good life?"

    def terse(self, seat: str) -> str:
        """Return the question."""
        return self.situation(seat)

    def draw(self) -> str:
        """Return the answer."""
        return self.said or "open"

    def outcome(self) -> dict[str, float]:
        """Return what nobody learns from."""
        found = features(self.said) if self.said else dict.fromkeys(FEATURES, 0)
        return {name: x / POINTS for name, x in found.items()}


raw_env = raw_factory(Essays)
env = aec_factory(Essays)
register(ID, __name__, "essays by their features", kind="cooperative", seats=1, listed=False)


class Grader(nn.Module):
    """Logits of points, by a rubric and an answer that are read in the prompt of a row.

    Args:
        rows: of the prompts.
    """

    def __init__(self, rows: Rows) -> None:
        super().__init__()
        self._rows, self._sums = rows, list[int]()

    def forward(self, row_N: Tensor) -> Tensor:
        """Return the logits of some rows."""
        for key in list(self._rows.of)[len(self._sums) :]:
            self._sums.append(_graded(key))
        sum_N = torch.tensor([self._sums[row] for row in row_N.tolist()], dtype=torch.float64)
        away_NA = torch.arange(MOVES, dtype=torch.float64) - sum_N.unsqueeze(1)
        return -0.5 * (away_NA / ERROR) ** 2


def _graded(key: str) -> int:
    """Return the points of a rubric for the answer in a prompt; 0 where no rubric is told."""
    chat, _ = json.loads(key)
    return 0 if len(chat) < 2 else points(chat[0], features(chat[-1]))


def points(rubric: str, found: Mapping[str, int]) -> int:
    r"""Return the sum of the items of a rubric.

    >>> points("+quality\n-length", {"quality": 2, "length": 3})
    4
    """
    items = rubric.split()
    return sum(found[i[1:]] if i[0] == "+" else POINTS - found[i[1:]] for i in items)


def makers() -> MakePolicy:
    """Return what makes the writer, a table, and the judge."""
    rows = Rows()

    def make(name: str, **given: Any) -> TabularPolicy:
        return TabularPolicy(Grader(rows) if name == "judge" else Table(), rows, name=name)

    return make


@config
class Reviewer(Proposer):
    """Writes an item against whatever is unusually frequent among the best-graded answers."""

    name: Literal["reviewer"] = "reviewer"

    def __call__(
        self,
        run: Any,
        parent: Artifact,
        found: Sequence[tuple[float, Episode]],
        rng: np.random.Generator,
    ) -> Written:
        """Compare the top third with what the start policy, which is uniform, answers."""
        items = str(parent.payload).split()
        moves = dict.fromkeys(str(e.turns[-1].move) for _, e in found[-(len(found) // 3) :])
        best = [features(move) for move in moves]  # equal answers are one observation
        legal = [features(text) for text in found[0][1].turns[-1].legal or ()]
        for name in (n for n in FEATURES if n not in WANTED and len(items) < LINES):
            usual = np.array([x[name] for x in legal])
            error = usual.std() / math.sqrt(len(best))
            if np.mean([x[name] for x in best]) - usual.mean() > 2 * error:
                items.append(f"-{name}")
        return Written("\n".join(items))
