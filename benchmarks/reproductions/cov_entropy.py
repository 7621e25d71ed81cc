"""Covariance and entropy: holding back a few tokens keeps a policy from collapsing.

Setting   32 contexts of 8 arms, two of which pay 1; 8 episodes per context and step,
          group-normalised advantages, 400 steps of 4 epochs. PPO clips at 0.2; Clip-Cov silences 5
          % of the tokens with covariance in (1, 5) and clips at 1; KL-Cov holds back the 5 % with
          the greatest covariance, coefficient 1, without a clip.
Measured  Mean entropy over contexts, and success, the probability of the paying arms, at the end.
Chosen    Rewards, episodes, steps and their size; the paper reports models of 7B and 32B. At lr 1.3
          PPO ends with a seventh of the uniform policy's entropy; the other two are as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, gaps, near
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
    ClipCov,
    KlCov,
    LossConfig,
    PpoClip,
    Unclipped,
    advantages,
    count,
)

CONTEXTS, ARMS, PAYING, SIZE = 32, 8, 2, 8
STEPS, EPOCHS, FRACTION, LR = 400, 4, 0.05, 1.3
WIDE = PpoClip(eps_lo=1.0, eps_hi=1.0)
PPO = LossConfig(surrogate=PpoClip())
KL_COV = LossConfig(surrogate=Unclipped(), regularise=(KlCov(coef=1.0, frac=FRACTION),))
CLIP_COV = LossConfig(surrogate=WIDE, token_masks=(ClipCov(ratio=FRACTION, lb=1.0, ub=5.0),))
GAIN = 0.01
"""Least entropy that either remedy must keep beyond PPO's."""


def run(seeds: Sequence[int]) -> Outcome:
    """Learn with the three losses on the same problems."""
    ppo, kl, clip = ([_learn(spec, s) for s in seeds] for spec in (PPO, KL_COV, CLIP_COV))
    return Outcome(
        (
            near("entropy, PPO", _column(ppo, 0), 0.297, 0.048),
            Row("entropy, KL-Cov", _column(kl, 0), 0.463),
            Row("entropy, Clip-Cov", _column(clip, 0), 0.339),
            Row("entropy, KL-Cov - PPO", gaps(_column(kl, 0), _column(ppo, 0)), 0.166, low=GAIN),
            Row(
                "entropy, Clip-Cov - PPO", gaps(_column(clip, 0), _column(ppo, 0)), 0.043, low=GAIN
            ),
            Row("success, PPO", _column(ppo, 1), 0.992, low=0.98),
            Row("success, KL-Cov", _column(kl, 1), 0.986, low=0.98),
            Row("success, Clip-Cov", _column(clip, 1), 0.991, low=0.98),
        ),
        note="Clip-Cov's gain varies as much over seeds as it is large, so fewer than five seeds "
        "say little about it",
    )


def _learn(spec: LossConfig, seed: int) -> tuple[float, float]:
    """Train one policy and give its entropy and its success."""
    (source,) = generators([seed])
    reward_CA = _rewards(source)
    policy = SoftmaxTable(torch.zeros(CONTEXTS, ARMS))
    context_CG = torch.arange(CONTEXTS).unsqueeze(1).expand(CONTEXTS, SIZE)
    for _ in range(STEPS):
        arm_CG = policy.draw(uniform([source], CONTEXTS, SIZE)[0])
        batch = episodes(reward_CA.gather(1, arm_CG).reshape(-1), group=context_CG.reshape(-1))
        played = moves(context_CG, arm_CG)
        policy.update(
            spec,
            played,
            advantages(AdvantageConfig(), batch).advantage_BS,
            count(played.mask_CL, 1),
            lr=LR,
            epochs=EPOCHS,
            generator=source,
        )
    success_C = (policy.probabilities_CA() * reward_CA).sum(1)
    return float(policy.entropy_C().mean()), float(success_C.mean())


def _rewards(source: torch.Generator) -> Tensor:
    """Choose the paying arms of every context."""
    order_CA = uniform([source], CONTEXTS, ARMS)[0].argsort(1)
    return (order_CA < PAYING).to(REAL)


def _column(found: Sequence[tuple[float, float]], k: int) -> tuple[float, ...]:
    return tuple(pair[k] for pair in found)


REPRODUCTION = Reproduction(
    name="cov_entropy",
    property="KL-Cov and Clip-Cov end with more entropy than PPO at almost the same success.",
    source="Cui et al. 2025, The Entropy Mechanism, arXiv 2505.22617 (Clip-Cov, KL-Cov; code: "
    "github.com/PRIME-RL/Entropy-Mechanism-of-RL); figures: our numpy experiment, "
    "benchmarks/studies/covariance_numpy.py",
    minutes=1.2,
    run=run,
    on="alone",
)
