"""SSL: successes and failures are graded by tiers of quality (arXiv 2601.22491).

R = C + alpha S, C in {0, 1} the outcome, S in [0, 1] the tier: how near a click was, which share of
a puzzle is solved. A failure never earns as much as a success; a batch in which one does is an
error.

Inferred: read on pages about the paper; tier edges and alpha are not public. Needs a task that
pays C as `payoff` and S as `progress`: a game does neither, so name others, such as
`--set "advantage.compose=tiered(outcome=solved, tier=share)"`. The inner algorithm is GRPO.
"""

from coevo.trainers.algorithm import Algorithm, OptimSpec, SamplerSpec
from coevo.trainers.estimators import AdvantageSpec, LossSpec, option

ALGORITHM = Algorithm(
    name="ssl",
    summary="GRPO on tiered rewards: a success plus a graded share of quality",
    paper="Wu et al. 2026, Sweet Spot Learning, arXiv 2601.22491",
    formula="R = C + alpha S with max R(failure) < min R(success); A as in GRPO",
    status="inferred",
    sampler=SamplerSpec(episodes=512, group_size=8),
    advantage=AdvantageSpec(
        compose=option("tiered", outcome="payoff", tier="progress", alpha=0.5),
        credit=option("outcome"),
        center=option("group"),
        scale=option("group_std"),
        eps=1e-6,
    ),
    loss=LossSpec(
        kind=option("ppo_clip", eps_lo=0.2, eps_hi=0.2), aggregate=option("seq_mean_token_mean")
    ),
    optim=OptimSpec(lr=1e-3),
)
