"""Several rewards: normalised apart (GDPO) they keep what their sum (GRPO) collapses."""

import torch

from coevo.benchmarks.reproductions.claim import Claim, Expect, Once, near
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World, sized
from coevo.benchmarks.reproductions.tabular import credited
from coevo.benchmarks.reproductions.worlds import BANDIT, odds
from coevo.envs.rewards import Noted
from coevo.trainers import components as c

CONTEXTS, SIZE = 16, 8
SUM = {"advantage.compose": c.WeightedSum()}
APART = {"advantage.compose": c.Decoupled()}
CLOSE = 0.01
"""How far GDPO may be behind at equal scales."""


def _pairs(seed: int) -> dict[str, float]:
    """Return the advantage of the better answer in either group of two."""
    rewards = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    given = {"components": ("format", "accuracy"), "group": torch.tensor([0, 0, 1, 1])}
    found: dict[str, float] = {}
    for name, spec in (("grpo", {}), ("gdpo", {"compose": c.Decoupled()})):
        one, both = credited(spec, rewards, **given)[1::2, 0].tolist()
        found |= {f"{name}_one": one, f"{name}_both": both}
    return found


def _scaled(scale: float) -> dict[str, tuple[tuple[float, ...], ...]]:
    return {"payoffs": ((0.0, scale, scale),) * CONTEXTS}


def _measure(end: Trained) -> dict[str, float]:
    return {"both": float(odds(end.learnt(), CONTEXTS, 3)[:, 2].mean())}


CLAIM = Claim(
    property="""Rewards normalised apart keep an answer that earns two of them above one that earns
        one, and keep a small reward from being drowned by a large one.""",
    source="""Liu et al. 2026, GDPO, arXiv 2601.05242 (rewards normalised one by one, then summed;
        the collapse of different rewards to one advantage); references are exact, derived here""",
    minutes=4.0,
    on="toy",
    setting="""Vectors: groups of two answers with rewards (format, accuracy): {(0,0), (1,0)} and
        {(0,0), (1,1)}. Bandit: three arms that pay (1,0), (0,s) and (1,s); 16 contexts, drawn for
        16 groups of 8 episodes an update; `gdpo` and the same with the sum of the rewards, on a
        table: 200 plain gradient steps at lr 0.1 from the uniform policy. Both advantages end with
        unit variance over the batch, so that step sizes are comparable.""",
    theory="""GRPO on the sum gives both groups the same advantage, GDPO before its batch
        normalisation twice as much to the second: over two answers that differ by d the deviation
        is d / 2^(1/2), so that the better one gets (d / 2) / (d / 2^(1/2)) = 2^(-1/2).""",
    measured="""Advantages of the better answers, and P(both rewards) at the end. At equal scales (s
        = 1) GDPO is not ahead: 0.003 behind GRPO. Where the scales differ (s = 0.1) the sum hides
        the small reward and GDPO is clearly ahead.""",
    chosen="""The bandit with its scales, and the bounds on it; the paper reports tool calls and
        sums.""",
    note=f"""at equal scales GDPO is not ahead of GRPO; GDPO is only held to be no more than
        {CLOSE:g} behind""",
    world=World(
        BANDIT, 200, {"notes": {"beside": (1.0, 0.0, 1.0)}}, lambda seed: sized(CONTEXTS, 3)
    ),
    changes={
        **PLAIN,
        "rewards": (Noted(key="beside"),),
        "collect.episodes": CONTEXTS * SIZE,
        "collect.group_size": SIZE,
        "optim.lr": 0.1,
    },
    arms={
        "pairs": Once(_pairs),
        "sum": Arm("gdpo", SUM, _scaled(1.0)),
        "apart": Arm("gdpo", APART, _scaled(1.0)),
        "sum_small": Arm("gdpo", SUM, _scaled(0.1)),
        "apart_small": Arm("gdpo", APART, _scaled(0.1)),
    },
    measure=_measure,
    expect=(
        near("GRPO, (1,0) against (0,0)", "pairs.grpo_one", 2**-0.5, 5e-5),
        near("GRPO, (1,1) against (0,0)", "pairs.grpo_both", 2**-0.5, 5e-5),
        near("GDPO, (1,0) against (0,0)", "pairs.gdpo_one", 2**-0.5, 5e-5),
        near("GDPO, (1,1) against (0,0)", "pairs.gdpo_both", 2**0.5, 5e-5),
        Expect("P(both), scales 1 and 1, GRPO", "sum.both"),
        Expect("P(both), scales 1 and 1, GDPO - GRPO", "apart.both - sum.both", low=-CLOSE),
        Expect("P(both), scales 1 and 0.1, GRPO", "sum_small.both"),
        Expect(
            "P(both), scales 1 and 0.1, GDPO - GRPO",
            "apart_small.both - sum_small.both",
            low=0.05,
        ),
    ),
)
