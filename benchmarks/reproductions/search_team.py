"""A team of three tables: a router decides whether to search, a searcher asks, an answerer answers.

Tasks     One in ten is hard. An easy one needs no search: it is answered from one table entry. A
          hard one is a guess among the answers, unless the right one of the queries was asked;
          then it is answered from an entry of its own.
Start     The router searches in half of the hard tasks and seldom in easy ones, so the searcher
          acts mostly where the reward is unusual; the answerer mostly knows what to say to easy
          ones, and what a good document says.
Update    Every agent takes a step on the mean over its own replies; the reward, 1 for a right
          answer, is that of all replies of the episode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from coevo.benchmarks.reproductions.tabular import (
    REAL,
    SoftmaxTable,
    episodes,
    generators,
    moves,
    uniform,
)
from coevo.trainers.estimators import (
    AdvantageConfig,
    Denominators,
    LossConfig,
    advantages,
    policy_loss,
)

ROUTER, SEARCHER, ANSWERER = range(3)
NAMES = ("router", "searcher", "answerer")
EASY, HARD = 0, 1
SEARCH = 1
"""Arm of the router."""
WITHOUT, FOUND, MISSED = 1, 2, 3
"""What the answerer may know of a hard task; of an easy one it knows enough."""


@dataclass(frozen=True)
class Setting:
    """Sizes of the task, and how fast tables move."""

    tasks: int = 16
    rollouts: int = 8
    hard: float = 0.1
    queries: int = 8
    answers: int = 4
    lr: float = 2.0
    easy_search: float = 0.05
    """P(search) in an easy task at the start; 0.5 in a hard one."""
    knows: float = 0.9
    """P(right answer) to an easy task at the start."""
    reads: float = 0.3
    """P(right answer) given the good document at the start."""


@dataclass
class Played:
    """One update of all seeds: who replied to what, and what it was paid."""

    context_B: Tensor
    arm_B: Tensor
    agent_B: Tensor
    seed_B: Tensor
    group_B: Tensor
    reward_B: Tensor
    play_B: Tensor


@dataclass
class Traces:
    """What every update leaves behind, per seed."""

    norm_UKN: list[Tensor] = field(default_factory=list)
    """Norm of every agent's gradient [seeds, agents]."""
    success_UN: list[Tensor] = field(default_factory=list)
    share_UKN: list[Tensor] = field(default_factory=list)
    """Share of every agent in the replies."""
    search_UN: list[Tensor] = field(default_factory=list)
    """P(search | hard)."""


class SearchTeam:
    """The three tables of every seed, and how they play and learn."""

    def __init__(self, seeds: Sequence[int], setting: Setting) -> None:
        self.sources, self.size, self.setting = generators(seeds), len(seeds), setting
        s = setting
        router = torch.zeros(self.size, 2, 2, dtype=REAL)
        router[:, EASY, SEARCH] = _logit(s.easy_search)
        answerer = torch.zeros(self.size, 4, s.answers, dtype=REAL)
        for context, odds in ((EASY, s.knows), (FOUND, s.reads)):
            answerer[:, context, 0] = _logit(odds) + torch.tensor(s.answers - 1.0).log()
        tables = (router, torch.zeros(self.size, 2, s.queries, dtype=REAL), answerer)
        self.width = [t.shape[1] for t in tables]
        self.tables = [SoftmaxTable(t.reshape(-1, t.shape[-1])) for t in tables]

    def play(self) -> Played:
        """Play all rollouts of one update."""
        s, n = self.setting, self.size
        hard_ST = (uniform(self.sources, s.tasks) < s.hard).long()
        kind = hard_ST.unsqueeze(-1).expand(n, s.tasks, s.rollouts).reshape(n, -1)
        count = kind.shape[1]
        seed = torch.arange(n).unsqueeze(1).expand(n, count)
        route = self._draw(ROUTER, seed, kind)
        query = self._draw(SEARCHER, seed, kind)
        called = route == SEARCH
        known = torch.where(called & (query == 0), FOUND, torch.where(called, MISSED, WITHOUT))
        state = torch.where(kind == HARD, known, EASY)
        answer = self._draw(ANSWERER, seed, state)
        guess = (uniform(self.sources, count) * s.answers).long()
        target = torch.where((state == EASY) | (state == FOUND), 0, guess)
        reward = (answer == target).to(REAL)
        group = seed * s.tasks + torch.arange(count) // s.rollouts
        play = seed * count + torch.arange(count)
        every = torch.ones_like(called)
        parts = [
            (context, arm, torch.full_like(arm, agent), seed, group, reward, play, mask)
            for agent, context, arm, mask in (
                (ROUTER, kind, route, every),
                (SEARCHER, kind, query, called),
                (ANSWERER, state, answer, every),
            )
        ]
        *columns, keep = (torch.cat([p[i].reshape(-1) for p in parts]) for i in range(8))
        return Played(*(column[keep] for column in columns))

    def _draw(self, agent: int, seed: Tensor, context: Tensor) -> Tensor:
        chosen = self.tables[agent].probabilities_CA()[seed * self.width[agent] + context]
        below = uniform(self.sources, context.shape[1]).unsqueeze(-1) > chosen.cumsum(-1)
        return below.sum(-1).clamp(max=chosen.shape[-1] - 1)

    def update(self, advantage: AdvantageConfig, loss: LossConfig, traces: Traces) -> None:
        """Play, credit, and let every agent step; note what there is to note."""
        played, n = self.play(), self.size
        batch = episodes(
            played.reward_B,
            group=played.group_B,
            seat=played.agent_B,
            game=played.seed_B,
            agent=played.seed_B * len(NAMES) + played.agent_B,
            play=played.play_B,
        )
        a_B = advantages(advantage, batch).advantage_BS[:, 0]
        norms, shares = [], []
        for agent, table in enumerate(self.tables):
            mine = played.agent_B == agent
            seed_B = played.seed_B[mine]
            count_N = torch.bincount(seed_B, minlength=n).to(REAL)
            rows = moves(seed_B * self.width[agent] + played.context_B[mine], played.arm_B[mine])
            # a mean over the agent's replies of its seed: losses are linear in the advantage
            inputs = table.inputs(rows, (a_B[mine] / count_N[seed_B]).unsqueeze(1))
            step_CA = table.gradient_CA(policy_loss(loss, inputs, Denominators(1, 1, 1)).loss)
            norms.append(step_CA.reshape(n, -1).norm(dim=1))
            shares.append(count_N)
            with torch.no_grad():
                table.logits_CA += self.setting.lr * step_CA
        total_N = torch.stack(shares).sum(0)
        first = played.agent_B == ROUTER
        traces.norm_UKN.append(torch.stack(norms, 1))
        traces.share_UKN.append(torch.stack(shares, 1) / total_N.unsqueeze(1))
        traces.success_UN.append(played.reward_B[first].reshape(n, -1).mean(1))
        odds_CA = self.tables[ROUTER].probabilities_CA().reshape(n, 2, 2)
        traces.search_UN.append(odds_CA[:, HARD, SEARCH])


def _logit(odds: float) -> Tensor:
    return torch.tensor(odds, dtype=REAL).logit()
