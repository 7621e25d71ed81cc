"""DERL: a policy that writes reward formulas learns from what they lead to (arXiv 2512.13399).

An episode of the outer run ends with a formula over primitives. Every distinct formula is the
reward of an inner run of its own; its policies are then validated by the true reward on held-out
tasks. That is the reward of the formula, -1 for one that cannot be read or breaks its run. One
group-relative update on all formulas of the update follows.

The outer run plays an environment in which formulas are written; what they are for is set by
`cycle.inner_run.env` and `cycle.inner_run.changes`. There the learners see the formula alone: the
payoff has weight 0. Its terms are the four of the source, g1 to g4, which the environment notes on
turns; others are set in `changes`. All inner runs of an update share their seed. Formulas are
parsed, never evaluated as programs.

`released` is what the released code does: every formula is a group of its own, so that its raw
fitness is its advantage. There formulas that fail are left out and replaced by copies of the first;
here they stay, at -1. Left out: the population variant, which starts an inner run from the best
policy before it: a formula would be paid for its predecessor's work.
"""

from coevo.envs.core.config import plain
from coevo.trainers import parts as p

CODE = "paper and released code"
FITNESS = p.AdvantageConfig(reward_weights={"payoff": 0.0})
PRIMITIVES = {key: {"name": "noted", "key": key} for key in ("g1", "g2", "g3", "g4")}
INNER = {
    "algorithm.cycle": plain(p.POLICY_GRADIENT),
    "algorithm.rewards": [{"name": "formula", "expression": "g1", "terms": PRIMITIVES}],
    "algorithm.collect.episodes": 64,
    "algorithm.advantage.reward_weights": {"payoff": 0.0},
}

ALGORITHM = p.Algorithm(
    name="derl",
    summary="reward formulas are written by a policy whose reward is an inner run's validation",
    paper="Cheng et al. 2025, DERL, arXiv 2512.13399",
    formula=r"R(F) = \text{validation score after training with } F, \text{ or } -1 \\ "
    r"A = \frac{R - \mean R}{\std R + \epsilon}",
    status="table",
    shows="the writer picks one of eight listed formulas",
    reproductions=("derl_formulas",),
    usage="--env coevo/reward_formula-v0 --model table --set "
    "cycle.inner_run.env=coevo/reward_formula-v0 'cycle.inner_run.env_options={part: answers}'",
    cycle=(
        p.Collect(),
        p.InnerRun(into="algorithm.rewards.formula.expression", changes=INNER),
        p.BuildBatch(),
        p.ComputeAdvantages(),
        p.Update(),
    ),
    collect=p.CollectConfig(episodes=8, group_size=8),
    advantage=FITNESS,
    loss=p.LossConfig(regularise=(p.Kl(kind="k3", coef=0.001),)),
    optim=p.OptimConfig(lr=1e-3, epochs=4),
    published={
        "collect.episodes": p.Published(8, CODE),
        "loss.regularise.kl.coef": p.Published(0.001, CODE),
        "optim.lr": p.Published(1e-6, CODE, "small models"),
        "optim.epochs": p.Published(4, CODE),
    },
    variants={
        "released": {
            "advantage.baseline": p.NoBaseline(),
            "advantage.normalise": p.NoNormalisation(),
        }
    },
)
