"""A choice in context whose payoffs are a matrix of low rank: what few singular values can learn.

Task     In context c (one of 32) the move a (one of 32) pays T[c, a] / max |T|, T = U diag(t) V' of
         rank 8. Two of the t are negative.
Policy   A table W of the same shape, whose logits are 32 W[c]. It starts at U0 diag(s0) V0' with s0
         near 0.3, in a subspace near the right one (noise of 0.05 an entry), or in a random one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor, nn

from coevo.agents.population import MakePolicy
from coevo.agents.table import Rows, TabularPolicy
from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import aec_factory, raw_factory
from coevo.envs.core.parsing import ANSWER_FORMAT
from coevo.envs.core.registry import register
from coevo.envs.core.task import Task

ID = "coevo/spectrum-v0"
SEAT = "player_0"
SIZE, RANK, SHARP = 32, 8, 32.0


@config
class SpectrumConfig:
    """What the task takes."""

    matrix: Annotated[int, whole(0)] = 0
    """Seed of the matrix."""


class Spectrum(Task[SpectrumConfig]):
    """One context, one move."""

    env_id = ID
    config_class = SpectrumConfig
    seats = (SEAT,)
    payoff_range = (-1.0, 1.0)

    def __init__(self, config: SpectrumConfig) -> None:
        super().__init__(config)
        self._payoffs = payoffs(config.matrix)

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        """Draw the context."""
        self.context, self.over = int(rng.integers(SIZE)), False
        self.task_id = str(self.context)

    def to_move(self) -> Sequence[str]:
        """Return the seat until it has moved."""
        return () if self.over else self.seats

    def legal(self, seat: str) -> Sequence[str]:
        """Return all moves."""
        return MOVES

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        """Pay the move."""
        self.over = True
        return {SEAT: float(self._payoffs[self.context, int(moves[SEAT][1:])])}

    def rules(self, seat: str) -> str:
        """Explain the task."""
        return f"Choose a move for the context. {ANSWER_FORMAT}"

    def situation(self, seat: str) -> str:
        """Return the context."""
        return f"Context {self.context}"

    def terse(self, seat: str) -> str:
        """Return the context."""
        return self.situation(seat)

    def draw(self) -> str:
        """Return the context."""
        return self.situation(SEAT)


MOVES = tuple(f"a{i}" for i in range(SIZE))
raw_env = raw_factory(Spectrum)
env = aec_factory(Spectrum)
register(ID, __name__, "payoffs of low rank", kind="cooperative", seats=1, listed=False)


def basis(rng: np.random.Generator, near: np.ndarray | None = None) -> np.ndarray:
    """Return orthonormal columns, [SIZE, RANK]; near others, or anywhere."""
    noise = rng.normal(size=(SIZE, RANK))
    found: np.ndarray = np.linalg.qr(noise if near is None else near + 0.05 * noise)[0]
    # QR may flip columns, which would flip what their singular values mean.
    return found if near is None else found * np.sign((found * near).sum(0))


def target(matrix: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return U, t and V of the matrix behind the payoffs."""
    rng = np.random.default_rng([matrix, 17])
    u, v = basis(rng), basis(rng)
    t = np.linspace(1.0, 0.3, RANK)
    t[rng.choice(RANK, 2, replace=False)] *= -1
    return u, t, v


def payoffs(matrix: int) -> np.ndarray:
    """Return the payoff of every move in every context."""
    u, t, v = target(matrix)
    full: np.ndarray = u * t @ v.T
    return full / np.abs(full).max()


class Known(Rows):
    """Prompts and their rows, one table for all copies of a model."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Known:
        return self


class LowRank(nn.Module):
    """Logits of moves by context.

    Args:
        start: of the matrix.
        rows: which row of the policy has which prompt.
    """

    def __init__(self, start: np.ndarray, rows: Rows) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.tensor(start))
        self._rows, self._context = rows, list[int]()

    def forward(self, row_N: Tensor) -> Tensor:
        """Return the logits of some rows."""
        for key in list(self._rows.of)[len(self._context) :]:
            self._context.append(int(json.loads(key)[0][-1].split()[1]))
        return SHARP * self.matrix[torch.tensor([self._context[r] for r in row_N.tolist()])]


def maker(matrix: int, *, wrong: bool) -> MakePolicy:
    """Return what makes the policy.

    Args:
        matrix: seed of the payoffs.
        wrong: whether it starts in a random subspace.
    """
    rng = np.random.default_rng([matrix, 18])
    u, _, v = target(matrix)
    left, right = (basis(rng, None if wrong else near) for near in (u, v))
    # All a little different: equal singular values have no vectors of their own.
    start = left * np.linspace(0.35, 0.25, RANK) @ right.T

    def make(name: str, **given: Any) -> TabularPolicy:
        rows = Known()
        return TabularPolicy(LowRank(start, rows), rows, name=name)

    return make


def score(model: LowRank, matrix: int) -> float:
    """Return the expected payoff, 0 for uniform play and 1 for the best."""
    paid_CA = torch.tensor(payoffs(matrix))
    p_CA = (SHARP * model.matrix.detach()).softmax(-1)
    even, best = paid_CA.mean(), paid_CA.max(1).values.mean()
    return float(((p_CA * paid_CA).sum(1).mean() - even) / (best - even))
