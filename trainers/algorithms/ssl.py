"""SSL: successes and failures are graded by tiers of quality (arXiv 2601.22491).

R = C + alpha S, C in {0, 1} the outcome, S in [0, 1] the tier: how near a click was, which share of
a puzzle is solved. A failure never earns as much as a success; a batch in which one does is an
error.

Inferred: read on pages about the paper; tier edges and alpha are not public. Needs a task that
pays C as `payoff` and S as `progress`: a game does neither, so name others, such as
`--set "advantage.compose={name: tiered, outcome: solved, tier: share}"`. The inner algorithm is
GRPO.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="ssl",
    summary="GRPO on tiered rewards: a success plus a graded share of quality",
    paper="Wu et al. 2026, Sweet Spot Learning, arXiv 2601.22491",
    formula=r"R = C + \alpha S, \quad \max R(\text{failure}) < \min R(\text{success})",
    status="toy",
    shows="no gain from tiers in a table",
    reproductions=("ssl_tiers",),
    usage="--env coevo/search_reader-v0 --env-option f1=1 --set advantage.compose.tier=f1",
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(compose=p.Tiered(outcome="payoff", tier="progress", alpha=0.5)),
    optim=p.OptimConfig(lr=1e-3),
)
