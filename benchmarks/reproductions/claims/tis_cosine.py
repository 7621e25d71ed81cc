"""Sampler and trainer that disagree: truncated importance sampling turns the gradient back."""

from typing import Any

import torch
from torch import Tensor

from coevo.benchmarks.reproductions.claim import Claim, Expect, near
from coevo.benchmarks.reproductions.tabular import SoftmaxTable, generators, moves, normal
from coevo.trainers import components as c

DRAWS, ARMS = 200, 8
PLAIN: dict[str, Any] = {"surrogate": c.PolicyGradient()}
LOSSES: dict[str, dict[str, Any]] = {
    "none": PLAIN,
    "tis": {**PLAIN, "is_correction": c.TokenTis(cap=2.0)},
    "exact": {"surrogate": c.PpoClip(eps_lo=1.0, eps_hi=1e6), "anchor": "behaviour"},
}


def _cosines(seed: int) -> dict[str, float]:
    sources = generators([seed])
    logits_CA, noise_CA, reward_CA = (normal(sources, DRAWS, ARMS)[0] for _ in range(3))
    policy, sampler = SoftmaxTable(logits_CA), SoftmaxTable(logits_CA + 0.5 * noise_CA)

    def gradient_CA(loss: dict[str, Any], sampler: SoftmaxTable) -> Tensor:
        """Return the expected gradient when the sampler plays: a row per arm, with its weight."""
        odds_CA = sampler.probabilities_CA()
        advantage_CA = reward_CA - (odds_CA * reward_CA).sum(1, keepdim=True)
        played = moves(*torch.meshgrid(torch.arange(DRAWS), torch.arange(ARMS), indexing="ij"))
        weighted_CL = (odds_CA * advantage_CA).reshape(-1, 1)
        behaviour_BL = sampler.logp_CA().detach().reshape(-1, 1)
        return policy.gradient_CA(loss, played, weighted_CL, 1, behaviour_BL=behaviour_BL)

    true_CA = gradient_CA(PLAIN, policy)
    found = {name: gradient_CA(loss, sampler) for name, loss in LOSSES.items()}
    return {name: float(torch.cosine_similarity(g, true_CA).mean()) for name, g in found.items()}


CLAIM = Claim(
    property="""Truncated importance weights bring the gradient of a sampler that differs from the
        trainer closer to the true policy gradient.""",
    source="""Yao et al. 2025, Your Efficient RL Framework Secretly Brings You Off-Policy RL
        Training, https://fengyao.notion.site/off-policy-rl (truncated importance sampling);
        figures: our numpy experiment, studies/tis_numpy.py""",
    minutes=0.01,
    on="formula",
    setting="""8 arms, trainer logits ~ N(0, 1), sampler logits = trainer's + N(0, 0.5), rewards ~
        N(0, 1); 200 draws per seed. The advantage is the reward minus its mean under the sampler,
        which is what a large group of samples estimates.""",
    measured="Cosine between the expected gradient of the loss and the true policy gradient.",
    chosen="The distributions; the source gives a formula, min(pi / mu, C), and no such figure.",
    arms={"cosine": _cosines},
    expect=(
        near("cosine, uncorrected", "cosine.none", 0.954, 0.014),
        near("cosine, token_tis(cap=2)", "cosine.tis", 0.998, 0.002),
        Expect("gain by token_tis", "cosine.tis - cosine.none", 0.044, low=0.02),
        Expect("cosine, ratio to the sampler, unclipped", "cosine.exact", 1.0, low=1 - 1e-6),
    ),
)
