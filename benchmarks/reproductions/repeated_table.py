"""Two tabular players of a registered game in rounds: how they learn, and what they earn exactly.

A table of the shipped loop sees of a terse prompt what its `RoundGame` says: of the last round, and
where there are roles of the own one; not which round it is. The same game is a Markov chain over
what both remember, so that nothing of what a policy earns has to be drawn.

Shapes   2 seats, T rounds, C contexts, A arms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from coevo.agents.population import MakePolicy
from coevo.benchmarks.reproductions.run import Trained, World, sized
from coevo.benchmarks.reproductions.tabular import REAL

PER_PLAY = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class RoundGame:
    """A game of two seats in rounds that remembers the last round."""

    env: str
    options: Mapping[str, Any]
    shown: re.Pattern[str]
    """Finds what a table sees of a prompt: its groups."""
    seen: Sequence[str]
    """The groups of every context, by number."""
    memories: int
    """What a seat may remember of the last round, numbered; 0 is the start."""
    arms: int
    rounds: int
    roles: int
    """1: the seats are equal. 2: each round one has role 1 and the other 0, by chance."""
    pay: PER_PLAY
    """Roles and arms [..., 2] -> payoffs [..., 2]."""
    remember: PER_PLAY
    """Roles and arms [..., 2] -> what either seat remembers, [..., 2]."""

    @property
    def contexts(self) -> int:
        return self.roles * self.memories

    def sees(self, prompt: str) -> str:
        found = self.shown.search(prompt)
        return " ".join(filter(None, found.groups())) if found else prompt

    def context(self, role: Tensor, memory: Tensor) -> Tensor:
        return role * self.memories + memory

    def world(self, steps: int) -> World:
        def maker(seed: int) -> MakePolicy:
            return sized(self.contexts, self.arms, sees=self.sees)

        return World(self.env, steps, self.options, maker)

    def learnt(self, end: Trained) -> Tensor:
        """Return the probabilities of the table, [C, A]; a context that never came is uniform."""
        found, even_A = end.learnt(), torch.full((self.arms,), 1 / self.arms, dtype=REAL)
        return torch.stack([found.get(seen, even_A) for seen in self.seen])


def roles(game: RoundGame, first: Tensor) -> Tensor:
    """Return both seats their roles, from that of the first."""
    return torch.stack([first, game.roles - 1 - first], dim=-1)


def expected_returns(
    game: RoundGame, first: Tensor, second: Tensor, gamma: float = 1.0
) -> tuple[float, float]:
    """Compute both seats' expected returns, sum_t gamma^t r_t, without drawing anything.

    The distribution over what both remember is carried from round to round. Probabilities are [C,
    A], or [T, C, A] if they change over rounds.
    """
    sizes = (game.memories, game.memories, game.roles, game.arms, game.arms)
    cells = torch.cartesian_prod(*(torch.arange(size) for size in sizes))
    memory_N2, arm_N2, role_N2 = cells[:, :2], cells[:, 3:], roles(game, cells[:, 2])
    context_N2 = game.context(role_N2, memory_N2)
    paid_N2, then_N2 = game.pay(role_N2, arm_N2), game.remember(role_N2, arm_N2)
    now_N, next_N = (m[:, 0] * game.memories + m[:, 1] for m in (memory_N2, then_N2))
    odds = [
        p.to(REAL).expand(game.rounds, -1, -1)[:, context_N2[:, i], arm_N2[:, i]]
        for i, p in enumerate((first, second))
    ]
    state_K, total_2 = torch.zeros(game.memories**2, dtype=REAL), torch.zeros(2, dtype=REAL)
    state_K[0] = 1.0
    for t, odds_N in enumerate(odds[0] * odds[1] / game.roles):
        weight_N = state_K[now_N] * odds_N
        total_2 += gamma**t * (weight_N.unsqueeze(1) * paid_N2).sum(0)
        state_K = torch.zeros_like(state_K).index_add(0, next_N, weight_N)
    return float(total_2[0]), float(total_2[1])
