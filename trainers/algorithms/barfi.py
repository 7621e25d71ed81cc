"""BARFI: reward weights are tuned until what is learnt by them is what was wanted (2310.19007).

Designers add rewards that are to help: for readable replies, for progress. Added as they are, they
may be learnt in the place of the task. An outer loop therefore weighs every component: two inner
runs on both sides of a weight are trained from the start model and validated by the payoff alone,
and the weight moves along the difference. An auxiliary reward that misleads ends with a negative
weight, one that helps with a large one. The run learns by the weights of the moment.

The abstract was read. The source differentiates through the inner optimisation by an implicit
gradient and learns a discount as well; finite differences of whole runs are the honest form where
what is learnt is a language model, and cost two inner runs for a component. `fixed` is the control:
the plain sum of all rewards.
"""

from coevo.envs.core.config import plain
from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="barfi",
    summary="reward weights follow the validation of inner runs, by finite differences",
    paper="Gupta et al. 2023, BARFI, arXiv 2310.19007",
    formula=r"w_k \leftarrow w_k + \eta \frac{J(\theta^*(w + \delta e_k)) - J(\theta^*(w - \delta "
    r"e_k))}{2 \delta}, \quad \theta^*(w) = \argmax_\theta \E \sum_k w_k R_k",
    status="toy",
    shows="a bandit with a misleading and a helpful second reward",
    reproductions=("barfi_weights",),
    cycle=(
        p.TuneRewards(
            components=("payoff", "format"), changes={"algorithm.cycle": plain(p.POLICY_GRADIENT)}
        ),
        *p.POLICY_GRADIENT,
    ),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=128),
    advantage=p.AdvantageConfig(baseline=p.BatchMean(), normalise=p.NoNormalisation()),
    loss=p.LossConfig(surrogate=p.PolicyGradient(), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=1e-3),
    variants={"fixed": {"cycle": p.POLICY_GRADIENT}},
)
