"""ArenaRL: places in a knock-out of noisy comparisons, and what a policy learns from them."""

import re
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Annotated

import numpy as np
import torch
from scipy.stats import norm, spearmanr
from torch import Tensor, nn

from coevo.agents.population import MakePolicy
from coevo.agents.table import Table, TabularPolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect, near
from coevo.benchmarks.reproductions.run import SGD, Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import OneMove, ReadRows, Values, arms, world
from coevo.envs.core.config import config, real
from coevo.trainers.judges.question import POINTS
from coevo.trainers.judges.tournament import BRACKETS

REPLIES, DRAWS, ARMS, NOISE = 16, 300, 48, 0.3
FOUND = {
    "anchor": {0.3: 0.9345, 1.0: 0.6723},
    "single": {0.3: 0.9407, 1.0: 0.6914},
    "round_robin": {0.3: 0.9644, 1.0: 0.8657},
}
"""Bracket -> noise -> rank correlation, by studies/tournament_numpy.py."""


def agreement(bracket: str, noise: float) -> Callable[[int], Mapping[str, float]]:
    """Return what measures how well places agree with true quality, in rank correlation."""

    def measure(seed: int) -> Mapping[str, float]:
        rng = np.random.default_rng(seed)
        return {"rank": fmean(_played(bracket, noise, rng) for _ in range(DRAWS))}

    return measure


def _played(bracket: str, noise: float, rng: np.random.Generator) -> float:
    quality_N, rounds = rng.normal(size=REPLIES), BRACKETS[bracket](REPLIES)
    both = bracket != "round_robin"  # the seeding is asked in both orders, what follows in one
    pairs = next(rounds)
    while True:
        error = rng.normal(size=len(pairs)) * noise * (1.0 if both else np.sqrt(2))
        ahead = [quality_N[a] - quality_N[b] for a, b in pairs] + error
        both = False
        try:
            pairs = rounds.send(ahead)
        except StopIteration as end:
            return float(spearmanr(end.value, quality_N).statistic)


@config
class HiddenQualityConfig:
    """What the world takes."""

    quality: Values = (0.0, 1.0)
    """Of every arm, in standard deviations."""
    noise: Annotated[float, real(0)] = NOISE
    """Standard deviation of the payoff, which stands for the score of a single reply."""


class HiddenQuality(OneMove[HiddenQualityConfig]):
    """One choice among arms; the payoff is the quality with an error."""

    env_id = "coevo/hidden_quality-v0"
    config_class = HiddenQualityConfig
    about = "Choose an arm."
    payoff_range = (-10.0, 10.0)

    def deal(self, rng: np.random.Generator) -> tuple[str, Sequence[str]]:
        self.error = float(rng.normal()) * self.config.noise
        return "Choose", arms(len(self.config.quality))

    def pay(self) -> float:
        return self.config.quality[int(self.said[1:])] + self.error


raw_env, env = world(HiddenQuality, "arms of hidden quality", kind="cooperative", seats=1)


def _quality(seed: int) -> list[float]:
    return np.random.default_rng(seed).normal(size=ARMS).round(4).tolist()


class NoisyPoints(nn.Module):
    """Logits of the points of two arms that a prompt names: quality with an error, rounded."""

    def __init__(self, rows: ReadRows[tuple[int, int]], quality: Sequence[float]) -> None:
        super().__init__()
        edges = norm.ppf(np.arange(1, POINTS + 1) / (POINTS + 1), scale=1.2)
        below = norm.cdf((edges - np.array(quality)[:, None]) / NOISE)
        p_AP = np.diff(below, axis=1, prepend=0.0, append=1.0)
        self._rows, self._logp_AP = rows, torch.tensor(np.log(p_AP + 1e-12))

    def forward(self, row_N: Tensor) -> Tensor:
        one_N, other_N = torch.tensor(self._rows.seen(row_N)).T
        return (self._logp_AP[one_N, :, None] + self._logp_AP[other_N, None, :]).flatten(1)


def _makers(seed: int) -> MakePolicy:
    rows = ReadRows(_named)
    judge = NoisyPoints(rows, _quality(seed))
    return lambda name, **given: TabularPolicy(
        judge if name == "judge" else Table(), rows, name=name
    )


def _named(said: Sequence[str]) -> tuple[int, int]:
    found = re.findall(r'(?:First|Second): "a(\d+)"', said[-1])
    return (int(found[0]), int(found[1])) if found else (0, 0)


def _measure(end: Trained) -> dict[str, float]:
    quality_A = torch.tensor(_quality(end.seed), dtype=torch.float64)
    (p_A,) = [p for said, p in end.learnt().items() if said == "Choose"]
    asked = [update.get("judge/judge/questions", 0.0) for update in end.log]
    return {
        "quality": float((p_A * quality_A).sum()),
        "left": float(quality_A.max() - (p_A * quality_A).sum()),
        "asked": fmean(asked),
    }


def _arena(bracket: str) -> Arm:
    return Arm("arena_rl" if bracket == "single" else f"arena_rl:{bracket}")


CLAIM = Claim(
    property="""Places in a seeded knock-out agree with true quality nearly as well as those of
        all pairs where the judge is exact, and a policy learns from them as well as from
        scores.""",
    source="""Zhang et al. 2026, ArenaRL, arXiv 2601.06487 (a knock-out with 2 N - 2 comparisons
        is nearly as exact as all pairs; better than scores of single replies); references: our
        numpy experiment, studies/tournament_numpy.py""",
    minutes=2.0,
    on="toy",
    setting="""Agreement: 16 replies with normal quality, points with normal errors, 300 groups
        a seed; the seeding is asked in both orders, all else in one. Learning: 48 arms with
        normal quality, one table, 2 groups of 16 per update, 60 updates. `arena_rl` with a
        judge that gives 0 to 7 points to both of two arms, with errors of .3, in both orders;
        `grpo`, the control, is paid the quality with the same error.""",
    measured="""Rank correlation of places and quality; expected quality of the policy at the
        end, what it lacks to the best arm, and questions per update, of different answers only.""",
    chosen="All sizes, before anything was run.",
    limits="""The paper's judges compress the scores of single replies; here they have the same
        error as comparisons, so that the gain over scores is not shown.""",
    world=World(HiddenQuality.env_id, 60, lambda seed: {"quality": _quality(seed)}, _makers),
    changes={**SGD, "collect.episodes": 32, "collect.group_size": 16, "optim.lr": 2.0},
    arms={
        **{f"{b}_{n}": agreement(b, n) for b in FOUND for n in (0.3, 1.0)},
        "scores": Arm("grpo", {"rewards": ()}),
        **{b: _arena(b) for b in FOUND},
    },
    measure=_measure,
    expect=(
        *(
            near(f"agreement, {bracket}, noise {noise}", f"{bracket}_{noise}.rank", found, 0.03)
            for bracket, by_noise in FOUND.items()
            for noise, found in by_noise.items()
        ),
        Expect("quality, paid by scores", "scores.quality"),
        *(Expect(f"quality, {b}", f"{b}.quality") for b in FOUND),
        Expect("knock-out minus scores: quality", "single.quality - scores.quality", low=-0.05),
        Expect("knock-out: lacking to the best", "single.left"),
        *(Expect(f"questions per update, {b}", f"{b}.asked") for b in FOUND),
    ),
)
