"""Adaptive normalisation (BNPO): the Beta density that makes the gradient's variance smallest."""

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np
import torch
from torch import Tensor

from coevo.benchmarks.reproductions.claim import Claim, Once, near
from coevo.benchmarks.reproductions.tabular import REAL, credited
from coevo.trainers import components as c

PROMPTS, GRPO_PROMPTS, ANSWERS = 100_000, 1000, 16
SHARE = 0.02
"""How far a value may be from the exact one, as a share of it."""
EXACT = {
    (2.4375, 4.0625): (0.2031, 0.1542, 0.1219),
    (1.0, 5.0): (0.1190, 0.1542, 0.0561),
    (4.0, 12.0): (0.1765, 0.1542, 0.0512),
}
"""(a, b) -> exact values of REINFORCE, GRPO and BNPO."""
FIRST = next(iter(EXACT))
PLAIN, BNPO = {"normalise": c.NoNormalisation()}, {"normalise": c.BetaPdf()}


def _rates(a: float, b: float, seed: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).beta(a, b, size=PROMPTS))


def _values(a: float, b: float) -> Callable[[int], dict[str, float]]:
    def measure(seed: int) -> dict[str, float]:
        p_P = _rates(a, b, seed)
        plain, bnpo = (
            float((p_P * (1 - p_P) * _inverse_density(spec, p_P) ** 2).mean())
            for spec in (PLAIN, BNPO)
        )
        return {"REINFORCE": plain, "GRPO": _grpo(p_P[:GRPO_PROMPTS]), "BNPO": bnpo}

    return measure


def _inverse_density(spec: dict[str, Any], p_P: Tensor) -> Tensor:
    """Read 1 / f(p) off the advantages of answers with rewards p + d and p - d."""
    d_P = torch.minimum(p_P, 1 - p_P) / 2
    reward_P2 = torch.stack([p_P + d_P, p_P - d_P], dim=1)
    prompt_P2 = torch.arange(len(p_P)).unsqueeze(1).expand_as(reward_P2)
    a_BT = credited(spec, reward_P2.reshape(-1), group=prompt_P2.reshape(-1))
    return a_BT[::2, 0] / d_P


def _grpo(p_P: Tensor) -> float:
    """Return GRPO's mean square in the unit of f = Beta(1.5, 1.5)."""
    right_P = (p_P * ANSWERS).round().clamp(1, ANSWERS - 1)
    reward_PG = (torch.arange(ANSWERS) < right_P.unsqueeze(1)).to(REAL)
    prompt_PG = torch.arange(len(p_P)).unsqueeze(1).expand_as(reward_PG)
    exact = {"ddof": 0, "eps": 0.0}
    a_BT = credited(exact, reward_PG.reshape(-1), group=prompt_PG.reshape(-1))
    return float(a_BT.square().mean()) * (pi / 8) ** 2


def _shape(seed: int) -> dict[str, float]:
    """Fit log f(p) = (alpha - 1) log p + (beta - 1) log(1 - p) + constant."""
    p_P = _rates(*FIRST, seed)
    inside_P = p_P[(p_P > 0.01) & (p_P < 0.99)]
    log_f_P = -_inverse_density(BNPO, p_P)[(p_P > 0.01) & (p_P < 0.99)].log()
    features = torch.stack([inside_P.log(), (1 - inside_P).log(), torch.ones_like(inside_P)], 1)
    found = torch.linalg.lstsq(features, log_f_P.unsqueeze(1)).solution
    return {"alpha": float(found[0]) + 1, "beta": float(found[1]) + 1}


def _grid(seed: int) -> dict[str, float]:
    """Minimise B(a + 3 - 2 alpha, b + 3 - 2 beta) B(alpha, beta)^2 where the first is defined."""
    (a, b), shape = FIRST, 1 + 0.0125 * torch.arange(200, dtype=REAL)
    alpha, beta = torch.meshgrid(shape, shape, indexing="ij")
    first, second = a + 3 - 2 * alpha, b + 3 - 2 * beta
    value = _log_beta(first, second) + 2 * _log_beta(alpha, beta)
    at = int(torch.where((first > 0) & (second > 0), value, torch.inf).argmin())
    return {"alpha": float(alpha.flatten()[at]), "beta": float(beta.flatten()[at])}


def _log_beta(x: Tensor, y: Tensor) -> Tensor:
    return torch.lgamma(x) + torch.lgamma(y) - torch.lgamma(x + y)


CLAIM = Claim(
    property="""The Beta density that BNPO fits to success rates gives the smallest mean square of
        the advantage, below a plain centre and below the group's deviation.""",
    source="""Xiao et al. 2025, BNPO, arXiv 2506.02864 (theorem on the variance-optimal alpha and
        beta); closed forms derived and evaluated in studies/bnpo_numpy.py""",
    minutes=0.1,
    on="formula",
    setting="""Success rates p ~ Beta(a, b) of 100 000 prompts. An advantage (R - p) / f(p) has mean
        square E[p (1 - p) / f(p)^2]: REINFORCE has f = 1, GRPO f = Beta(1.5, 1.5), which is the
        deviation up to a factor, BNPO the density that it fits to the batch.""",
    theory="""Exact values of REINFORCE, GRPO and BNPO: B(a + 1, b + 1) / B(a, b); (pi / 8)^2; and
        B(a + 3 - 2 alpha, b + 3 - 2 beta) B(alpha, beta)^2 / B(a, b) at alpha = 1 + a / 3 and beta
        = 1 + b / 3.""",
    measured="""That value, through the library's advantages. f is a factor that only depends on p,
        so two answers per prompt with rewards p + d and p - d show it: A = ±d / f(p). GRPO needs
        rewards of 0 and 1: 16 answers per prompt, 1000 prompts, with at least one of either kind,
        and the factor pi / 8 between its deviation and the density. The shape of BNPO's f is read
        off the advantages, log f being linear in it, and held beside the minimum of the exact value
        on a grid of step 0.0125.""",
    chosen="Sizes, and the share that values may be off.",
    note=f"values are drawn, and held to {SHARE:.0%} of the exact ones",
    arms={
        **{f"{a:g}, {b:g}": _values(a, b) for a, b in EXACT},
        "grid": Once(_grid),
        "fitted": _shape,
    },
    expect=(
        *(
            near(f"p ~ Beta({a:g}, {b:g}): {name}", f"{a:g}, {b:g}.{name}", value, SHARE * value)
            for (a, b), exact in EXACT.items()
            for name, value in zip(("REINFORCE", "GRPO", "BNPO"), exact, strict=True)
        ),
        near("grid minimum, alpha", "grid.alpha", 1.8125, 1e-6),
        near("grid minimum, beta", "grid.beta", 2.35, 1e-6),
        near("alpha that BNPO fits", "fitted.alpha", 1.8125, 0.03),
        near("beta that BNPO fits", "fitted.beta", 2.3542, 0.03),
    ),
)
