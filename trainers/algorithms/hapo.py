"""HAPO: tokens are treated by how uncertain the policy was at them (arXiv 2509.16591).

(1) Group mean and deviation count every policy token once, ddof 0. (2) h in [-1, 1] places a
token's log-entropy against the 0.8 quantile of the mini-batch. (3) The clip is widened downwards
for certain tokens (h <= 0) and upwards for uncertain ones. (4) The advantage becomes A (1 + h) for
uncertain tokens that move and certain ones that rest, where to rest is to stay within half of the
token's own bounds (starriver030515/HAPO@7671dde). (5) Groups in which |A| reaches 5, because a
short play stands against long ones, get GRPO's advantage.

Not copied from the released code: it divides a negative h by a negative minimum, so that h >= 0
for every token and the branch of certain tokens never runs.

Left out: the sampling temperature that follows h, since the sampler knows no entropies of the
last batch.
"""

from coevo.trainers import parts as p

CODE = "released code"

ALGORITHM = p.Algorithm(
    name="hapo",
    summary="GRPO over tokens whose clip and advantage follow their entropy",
    paper="Liu et al. 2025, HAPO, arXiv 2509.16591",
    formula=r"A_t = \frac{R - \mean_g R}{\std_g R} \quad \text{with statistics over tokens} \\ "
    r"A_t \leftarrow A_t (1 + h_t) \text{ for uncertain tokens that move and certain tokens that "
    r"rest} \\ \epsilon_{\lo,t} = \epsilon_\lo (1 - \min(h_t, 0)), \quad \epsilon_{\hi,t} = "
    r"\epsilon_\hi (1 + \max(h_t, 0))",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(transform=(p.GrpoFallback(bound=5.0),), weights="token", ddof=0),
    loss=p.LossConfig(
        surrogate=p.Hapo(eps_lo=0.2, eps_hi=0.2, c=10.0, share=0.8), aggregate=p.TokenMean()
    ),
    optim=p.OptimConfig(lr=1e-3, minibatches=2),
    published={
        "optim.lr": p.Published(1e-6, CODE, p.SMALL),
        "optim.minibatches": p.Published("16 (512 prompts by 32)", CODE, p.CHEAP),
        "collect.group_size": p.Published(16, CODE, p.CHEAP),
    },
)
