"""eva: plays go where there is something left to learn, and to noise as well.

Setting   200 prompts with 16 replies each, the best of which pays 1, the others less, and noise of
          up to 0.1 on every reward. The policy, a table, has solved the first hundred before it
          starts, and knows nothing of the others. A variation of a prompt is one beside it. The
          record `eva`, its variant `advantage` and its control `drawn` by the shipped loop: equal
          plays, 32 groups of 8 in each of 150 updates. Then again with 20 further prompts whose
          noise is up to 1 and of which nothing can be learnt.
Measured  Exact: by how much the policy's mean reward is below the best, over the 200 prompts, at
          the end. In the last 25 updates: which share of the plays went to prompts that were
          unsolved at first, and to noise; and how much the replies played fell short of the best.
Chosen    Sizes, the step, and the bounds, before any run. The control plays unsolved prompts half
          the time and noise 20 times in 220; with half of the plays fresh, eva cannot give the
          unsolved more than three quarters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated, Any

import numpy as np
import torch

from coevo.agents.agent import request_of
from coevo.agents.population import Separate
from coevo.agents.table import TabularPolicy
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, gaps
from coevo.benchmarks.reproductions.table_run import started
from coevo.envs.core.config import config, whole
from coevo.envs.core.env import TextEnv
from coevo.envs.core.factories import aec_factory, raw_factory
from coevo.envs.core.parsing import ANSWER_FORMAT
from coevo.envs.core.registry import register
from coevo.envs.core.task import Task
from coevo.trainers.algorithms import algorithm
from coevo.trainers.loop import updates
from coevo.trainers.run import Run

ID = "coevo/graded_prompts-v0"
SOLVER, CHANCE = "solver_0", "chance_0"
SOLVED, UNSOLVED, NOISY, REPLIES = 100, 100, 20, 16
REAL = SOLVED + UNSOLVED
LEVELS = 9
"""Noise has so many values, from all of it below to all of it above."""
NOISE = 0.1
KNOWS = 8.0
"""Logit of the best reply of a prompt that is solved."""
STEPS, LAST = 150, 25
SETTINGS: dict[str, Any] = {
    "population": Separate(agents={CHANCE: "random"}),
    "collect.episodes": 256,
    "optim.optimiser": "sgd",
    "optim.lr": 64.0,
    "optim.warmup": 0,
    "optim.grad_norm": 1e6,
}


def payoffs(prompt: int) -> np.ndarray:
    """Return what the replies to a prompt pay, without noise; those to a noisy one pay the same."""
    if prompt >= REAL:
        return np.full(REPLIES, 0.5)
    rng = np.random.default_rng(prompt)
    pay_A = rng.random(REPLIES)
    pay_A[rng.integers(REPLIES)] = 1.0
    return pay_A


@config
class PromptsConfig:
    """What the prompts take."""

    noisy: Annotated[int, whole(0)] = 0
    """Prompts of which nothing but noise comes back."""


class GradedPrompts(Task[PromptsConfig]):
    """A prompt and a graded reply; chance, the second seat, draws the noise of the grade."""

    env_id = ID
    config_class = PromptsConfig
    seats = (SOLVER, CHANCE)
    payoff_range = (-1.0, 2.0)

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        """Draw a prompt, or take the one that is asked for."""
        drawn = int(rng.integers(REAL + self.config.noisy))
        self.prompt, self.over, self.short = int(options.get("prompt", drawn)), False, 0.0

    def to_move(self) -> Sequence[str]:
        """Return both seats, once."""
        return () if self.over else self.seats

    def legal(self, seat: str) -> Sequence[str]:
        """Return the replies, or the levels of noise."""
        return tuple(map(str, range(REPLIES if seat == SOLVER else LEVELS)))

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        """Grade the reply."""
        pay_A = payoffs(self.prompt)
        paid = pay_A[int(moves[SOLVER])]
        self.over, self.short = True, float(pay_A.max() - paid)
        level = int(moves[CHANCE]) / (LEVELS - 1) * 2 - 1
        return {SOLVER: float(paid + level * (NOISE if self.prompt < REAL else 1.0))}

    def variation(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return a prompt beside this one."""
        count = REAL + self.config.noisy
        return {"prompt": (self.prompt + int(rng.choice([-1, 1]))) % count}

    def rules(self, seat: str) -> str:
        """Explain the task."""
        return f"Reply to the prompt. {ANSWER_FORMAT}"

    def situation(self, seat: str) -> str:
        """Show the prompt."""
        return f"prompt {self.prompt}" if seat == SOLVER else "noise"

    def terse(self, seat: str) -> str:
        """Show the prompt."""
        return self.situation(seat)

    def draw(self) -> str:
        """Return the prompt."""
        return self.situation(SOLVER)

    def outcome(self) -> dict[str, float]:
        """Return which kind of prompt it was, and by how much the reply fell short."""
        unsolved = SOLVED <= self.prompt < REAL
        noise = float(self.prompt >= REAL)
        return {"unsolved": float(unsolved), "noise": noise, "short": self.short}


raw_env = raw_factory(GradedPrompts)
env = aec_factory(GradedPrompts)
register(ID, __name__, "prompts with graded replies", kind="mixed", seats=2, listed=False)


@dataclass(frozen=True)
class Course:
    """What a run comes to."""

    regret: float
    """Best minus mean reward, over the prompts without those of noise."""
    unsolved: float
    """Share of the last plays."""
    noise: float
    """Share of the last plays."""
    short: float
    """By how much the replies of the last plays fell short of the best."""


def course(variant: str | None, seed: int, noisy: int = 0, steps: int = STEPS) -> Course:
    """Train a table that has solved half of the prompts, and say where it ends.

    Args:
        variant: of the record `eva`.
        seed: of the run.
        noisy: prompts of noise.
        steps: updates.
    """
    made = algorithm("eva", variant, SETTINGS)
    with started(made, ID, {"noisy": noisy}, seed=seed, steps=steps) as run:
        solve(run)
        seen = [done.metrics for done in updates(run)][-LAST:]
        shares = (fmean(m[f"outcome/{n}"] for m in seen) for n in ("unsolved", "noise", "short"))
        return Course(regret(run), *shares)


@torch.no_grad()
def solve(run: Run) -> None:
    """Let the policy know the best replies to the prompts that are solved."""
    policy, row_P = _rows(run)
    for prompt in range(SOLVED):
        policy.model.logits_RA[row_P[prompt], int(payoffs(prompt).argmax())] = KNOWS


@torch.no_grad()
def regret(run: Run) -> float:
    """Return by how much the policy's mean reward is below the best, over all prompts."""
    policy, row_P = _rows(run)
    odds_PA = policy.model(torch.tensor(row_P))[:, :REPLIES].softmax(-1).numpy()
    pay_PA = np.stack([payoffs(prompt) for prompt in range(REAL)])
    return float((pay_PA.max(1) - (odds_PA * pay_PA).sum(1)).mean())


def _rows(run: Run) -> tuple[TabularPolicy, list[int]]:
    """Return the solver and its row for every prompt."""
    policy = run.learners[SOLVER].agent
    assert isinstance(policy, TabularPolicy)  # --model table
    asked: TextEnv = run.envs[ID].fresh()
    rows = []
    for prompt in range(REAL):
        asked.reset(seed=0, options={"prompt": prompt})
        rows.append(policy.rows.row(request_of(asked, SOLVER, np.random.default_rng(0))))
    return policy, rows


def run(seeds: Sequence[int]) -> Outcome:
    """Train on evolved and on drawn prompts, without and with prompts of noise."""
    eva, mean, drawn = ([course(v, s) for s in seeds] for v in (None, "advantage", "drawn"))
    lured, level = ([course(v, s, NOISY) for s in seeds] for v in (None, "drawn"))
    spared = gaps(_of(drawn, "regret"), _of(eva, "regret"))
    return Outcome(
        (
            Row("eva: regret at the end", _of(eva, "regret")),
            Row("advantage: regret at the end", _of(mean, "regret")),
            Row("drawn: regret at the end", _of(drawn, "regret")),
            Row("regret that drawn prompts leave and eva does not", spared, low=0.01),
            Row("eva: share of unsolved prompts", _of(eva, "unsolved"), low=0.6),
            Row("advantage: share of unsolved prompts", _of(mean, "unsolved"), low=0.6),
            Row("drawn: share of unsolved prompts", _of(drawn, "unsolved"), UNSOLVED / REAL),
            Row("eva: by how much replies fall short", _of(eva, "short")),
            Row("drawn: by how much replies fall short", _of(drawn, "short")),
            Row("eva: share of noise", _of(lured, "noise"), low=2 * NOISY / (REAL + NOISY)),
            Row("drawn: share of noise", _of(level, "noise"), NOISY / (REAL + NOISY)),
            Row("eva with noise: regret at the end", _of(lured, "regret")),
            Row("drawn with noise: regret at the end", _of(level, "regret")),
        ),
        note="the spread of rewards does not tell noise from regret: prompts of noise draw plays",
    )


def _of(courses: Sequence[Course], name: str) -> tuple[float, ...]:
    return tuple(getattr(one, name) for one in courses)


REPRODUCTION = Reproduction(
    name="eva_prompts",
    property="At equal plays, prompts drawn by the spread of their rewards and varied leave less "
    "regret than prompts as they come, half of which are solved from the start: plays stay where "
    "there is something to learn; prompts of pure noise draw plays too.",
    source="Ye et al. 2024, eva, arXiv 2411.00062 (informativeness as best minus worst or mean "
    "reward, a proxy of regret); references: shares of a uniform draw",
    minutes=10.0,
    run=run,
    on="table",
)
