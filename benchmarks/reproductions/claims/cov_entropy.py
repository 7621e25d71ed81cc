"""Covariance and entropy: holding back a few tokens keeps a policy from collapsing."""

from typing import Any

import torch
from torch import Tensor

from coevo.benchmarks.reproductions.claim import Claim, Expect, near
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World, sized
from coevo.benchmarks.reproductions.tabular import REAL, generators, uniform
from coevo.benchmarks.reproductions.worlds import BANDIT, odds

CONTEXTS, ARMS, PAYING, SIZE, FRACTION = 32, 8, 2, 8, 0.05
GAIN = 0.01
"""Least entropy that either remedy must keep beyond PPO's."""


def _rewards(seed: int) -> Tensor:
    order_CA = uniform(generators([seed]), CONTEXTS, ARMS)[0].argsort(1)
    return (order_CA < PAYING).to(REAL)


def _options(seed: int) -> dict[str, Any]:
    return {"payoffs": tuple(map(tuple, _rewards(seed).tolist()))}


def _measure(end: Trained) -> dict[str, float]:
    p_CA = odds(end.learnt(), CONTEXTS, ARMS)
    entropy_C = -torch.special.xlogy(p_CA, p_CA).sum(1)
    success = float((p_CA * _rewards(end.seed)).sum(1).mean())
    return {"entropy": float(entropy_C.mean()), "success": success}


CLAIM = Claim(
    property="KL-Cov and Clip-Cov end with more entropy than PPO at almost the same success.",
    source="""Cui et al. 2025, The Entropy Mechanism, arXiv 2505.22617 (Clip-Cov, KL-Cov; code:
        github.com/PRIME-RL/Entropy-Mechanism-of-RL); figures: our numpy experiment,
        studies/covariance_numpy.py""",
    minutes=8.0,
    on="toy",
    setting="""32 contexts of 8 arms, two of which pay 1; 32 groups of 8 episodes an update, their
        contexts drawn, group-normalised advantages; a table, 400 updates of 4 epochs. `grpo` clips
        like PPO, at 0.2. Clip-Cov silences 5 % of the tokens with covariance in (1, 5) and clips at
        1; KL-Cov holds back the 5 % with the greatest covariance, coefficient 1, without a
        clip.""",
    measured="""Mean entropy over contexts, and success, the probability of the paying arms, at the
        end.""",
    chosen="""Rewards, episodes, steps and their size; the paper reports models of 7B and 32B. At lr
        1.3 PPO ends with a seventh of the uniform policy's entropy; the other two are as they
        are.""",
    note="""Clip-Cov's gain varies over seeds by half of its size, so fewer than five seeds say
        little about it""",
    world=World(BANDIT, 400, _options, lambda seed: sized(CONTEXTS, ARMS)),
    changes={
        **PLAIN,
        "collect.episodes": CONTEXTS * SIZE,
        "collect.group_size": SIZE,
        "optim.lr": 1.3,
        "optim.epochs": 4,
        "optim.minibatches": 1,
    },
    arms={
        "ppo": Arm("grpo"),
        "kl": Arm("kl_cov", {"loss.regularise.kl_cov.frac": FRACTION}),
        "clip": Arm("clip_cov", {"loss.token_masks.clip_cov.ratio": FRACTION}),
    },
    measure=_measure,
    expect=(
        near("entropy, PPO", "ppo.entropy", 0.297, 0.048),
        Expect("entropy, KL-Cov", "kl.entropy", 0.463),
        Expect("entropy, Clip-Cov", "clip.entropy", 0.339),
        Expect("entropy, KL-Cov - PPO", "kl.entropy - ppo.entropy", 0.166, low=GAIN),
        Expect("entropy, Clip-Cov - PPO", "clip.entropy - ppo.entropy", 0.043, low=GAIN),
        Expect("success, PPO", "ppo.success", 0.992, low=0.98),
        Expect("success, KL-Cov", "kl.success", 0.986, low=0.98),
        Expect("success, Clip-Cov", "clip.success", 0.991, low=0.98),
    ),
)
