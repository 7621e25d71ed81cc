"""VPL: a reward of one user, inferred from its preferences among those of many (arXiv 2408.10075).

One reward for all users averages those who disagree. Here an encoder gives each user a latent, from
the pairs that it judged, and the reward reads it; both are fitted to the pairs of all users before
the run. The policy is paid the probabilities of comparisons with the other replies of its group,
the paper's scaling by a pairwise classifier, since scales of users differ.

Needs pairs: `--set 'rewards=[{name: latent_preference, path: pairs.jsonl, user: ann}]'`. The
embedding of replies that ships counts runs of characters; give a sentence encoder in Python. Left
out: a policy that is conditioned on the latent, and asking a user for the pairs that tell most.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="vpl",
    summary="GRPO on comparisons by the inferred preferences of one user",
    paper="Poddar et al. 2024, VPL, arXiv 2408.10075",
    formula=r"\max E_{q(z | D_u)} [\sum \log \sigma (r(y_w, z) - r(y_l, z))] - \beta "
    r"KL(q(z | D_u) \| N(0, 1)) \\ r_i = \mean_{j \ne i} \sigma (r(y_i, z_u) - r(y_j, z_u))",
    status="toy",
    reproductions=("vpl_users",),
    usage="--env coevo/debate-v0 --env-option rounds=1 'questions={name: word_problems, "
    "task: sums}' --set rewards.latent_preference.path=FILE rewards.latent_preference.user=NAME",
    rewards=(p.LatentPreference(),),
    collect=p.CollectConfig(episodes=256, group_size=8, component="latent_preference"),
    advantage=p.AdvantageConfig(reward_weights={"payoff": 0.0}),
    optim=p.OptimConfig(lr=1e-3),
)
