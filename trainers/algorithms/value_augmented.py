"""Value-augmented sampling: a critic of a policy that never moves; play follows both (2405.06639).

The policy plays and stays as it is; a critic learns from its plays, by TD(lambda), what each token
leads to. Afterwards `value_augmented:RUN`, as an agent, weighs the twenty likeliest tokens of the
policy by exp(beta u), u the critic's value of what follows minus the mean over the twenty:

    coevo train value_augmented --model starter --env coevo/kuhn_poker-v0 --out runs/values
    coevo evaluate --agent value_augmented:10:runs/values --env coevo/kuhn_poker-v0

The critic is the value of the policy, not of what is played with it: a large beta is one step of
greedy improvement. It knows only what the policy tries: train it on a policy that varies, and
restrict replies (`sampling.guided=choice`), or it may prefer tokens that were never sampled. Left
out: a network of its own for the critic, here a linear head on the last hidden state of the policy,
and several critics that are weighed together.
"""

from coevo.trainers import parts as p

CODE = "released code (idanshen/Value-Augmented-Sampling)"

ALGORITHM = p.Algorithm(
    name="value_augmented",
    summary="the policy rests; a critic of its tokens weighs them when it plays",
    paper="Han et al. 2024, VAS, arXiv 2405.06639",
    formula=r"\pi(a | s) \propto \pi_0(a | s) \exp(\beta u(a)), \quad u(a) = V^{\pi_0}(s a) - "
    r"\mean_{\text{top } 20} V^{\pi_0}(s a')",
    status="formula",
    shows="sampling with values of given samples; no critic of a language model",
    reproductions=("value_sampling",),
    cycle=(
        p.Collect(),
        p.BuildBatch(),
        p.ComputeAdvantages(),
        p.Update(losses=(p.Values(),)),
        p.FitRewards(),
    ),
    collect=p.CollectConfig(episodes=512),
    advantage=p.AdvantageConfig(
        credit=p.Gae(level="token", gamma=1.0, lam=0.95),
        baseline=p.NoBaseline(),
        normalise=p.NoNormalisation(),
    ),
    critic=p.ValueCritic(lr=1e-3),
    published={
        "advantage.credit.lam": p.Published(0.95, CODE),
        "advantage.credit.gamma": p.Published(1.0, CODE),
        "critic.lr": p.Published(1.41e-5, CODE, "a linear head; theirs is a language model"),
    },
)
