"""Self-RedTeam: one model attacks and defends, and learns from both sides (arXiv 2506.07468).

An attacker rewords a request, harmful or benign, so that a defender is misled; the defender grants
what is harmless and refuses the rest. Both are one parameter set. REINFORCE++: rewards whitened
over all tokens of the batch, both roles together; the KL from the start model is taken off the
reward token by token; and in every update a loss of imitation on good replies to benign requests,
against a model that refuses everything.

Play it on `coevo/redteam-v0`, whose options hold the rest: `zero_sum` (the game of the theory),
`think=none` (no hidden thoughts), `level=free`, and `apart`, which makes every part of the payoff a
component to weigh. Requests of one's own need judges: add the three modules `guard`, and
demonstrations of one's own, `cycle.demonstrate.recorded=FILE`.

Logged: `outcome/attack_success` and `outcome/over_refusal`, both also by form of the request, such
as `outcome/attack_success/cipher`; `diversity/attacker`; `invalid/guard_*`, verdicts that could not
be had, whose episodes are left out. Success on forms that the attacker was not trained on is that
of `coevo evaluate` with `--env-option cloaks=[...]`.

Variants: `defender_only` and `attacker_only`, whose other side keeps the start weights; `two_sets`,
a parameter set for each role; `no_demonstrations`. Ours: the weight 0.1 of imitation, which the
paper does not give, and the expert of the environment, where it has one, as the demonstrator. One
mean for both roles gives each a constant in its advantages: that adds noise and no bias.
"""

from coevo.trainers import parts as p

CODE = "released code (mickelliu/selfplay-redteaming)"
PLAY: tuple[p.AnyStep, ...] = (
    p.Collect(),
    p.BuildBatch(),
    p.ComputeAdvantages(),
    p.MeasureDiversity(role="attacker"),
)

ALGORITHM = p.Algorithm(
    name="self_redteam",
    summary="one model as attacker and defender, REINFORCE++, imitation of benign replies",
    paper="Liu et al. 2025, Self-RedTeam, arXiv 2506.07468",
    formula=r"L = L_{\text{REINFORCE++}} - \lambda \log \pi(y | x), \quad x \text{ benign}",
    status="table",
    shows="an attacker that learns which listed form to use; nothing is written in free text",
    reproductions=("redteam_coevolution", "redteam_smollm2"),
    usage="--env coevo/redteam-v0",
    cycle=(
        p.Demonstrate(by="expert:1", noted={"kind": "benign"}),
        p.BuildBatch(),
        p.MakeItems(to=p.Replies(most=32, above=1.0)),
        *PLAY,
        p.Update(losses=(p.Policy(), p.Sft(weight=0.1))),
        p.FitRewards(),
    ),
    collect=p.CollectConfig(episodes=128),
    advantage=p.AdvantageConfig(
        credit=p.ToGo(gamma=1.0, level="token"),
        baseline=p.BatchMean(),
        normalise=p.TokenStd(),
        kl_in_reward=0.01,
    ),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=3e-4, minibatches=4),
    published={
        "collect.episodes": p.Published(128, CODE),
        "optim.minibatches": p.Published("4 (32 of 128)", CODE),
        "advantage.kl_in_reward": p.Published(0.01, CODE),
        "optim.lr": p.Published(5e-7, CODE, p.SMALL),
    },
    variants={
        "defender_only": {"population": p.ByRole(frozen=("attacker",))},
        "attacker_only": {"population": p.ByRole(frozen=("defender",))},
        "two_sets": {"population": p.ByRole()},
        "no_demonstrations": {"cycle": (*PLAY, p.Update(), p.FitRewards())},
    },
)
