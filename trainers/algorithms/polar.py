"""POLAR: paid by a discriminator that tells texts of one policy from those of others (2507.05197).

Texts of many policies, such as the snapshots of a run, are all it learns from: two of one policy
are to score higher together than two of different ones. The score of a reply beside texts of the
wanted policy is the reward.

Needs episodes: `--set 'rewards=[{name: policy_discriminator, path: EPISODES, like: policy@40}]'`.
Left out: the tuning on rankings that follows, references for every prompt, and a discriminator that
is a language model: here it is a small recurrent network over bytes.
"""

from coevo.trainers import parts as p

CODE = "released code, InternLM/POLAR"

ALGORITHM = p.Algorithm(
    name="polar",
    summary="GRPO on the likeness to a policy, by a discriminator of policies",
    paper="Dou et al. 2025, POLAR, arXiv 2507.05197",
    formula=r"\min -\log \sigma (f(y, y^+) - f(y, y^-)), \quad y, y^+ \sim \pi_1, y^- \sim \pi_2",
    status="toy",
    shows="policies are told apart without preferences; the tuning on rankings is left out",
    reproductions=("polar_chains",),
    usage="--env coevo/debate-v0 --env-option rounds=1 'questions={name: word_problems, "
    "task: sums}' --set rewards.policy_discriminator.path=FILE "
    "rewards.policy_discriminator.like=NAME@VERSION",
    rewards=(p.PolicyDiscriminator(),),
    collect=p.CollectConfig(episodes=256, group_size=8, component="policy_discriminator"),
    advantage=p.AdvantageConfig(reward_weights={"payoff": 0.0}),
    optim=p.OptimConfig(lr=1e-3),
    published={"optim.lr": p.Published(1e-6, CODE, p.SMALL)},
)
