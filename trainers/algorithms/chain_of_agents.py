"""Chain-of-Agents: one policy imitates a team in tags, then learns the task (arXiv 2508.13167).

Stage 1, multi-agent distillation: what the seats of a team said becomes the tagged segments of one
seat, and right episodes are imitated by maximum likelihood. What the environment says, such as what
a search found, is no reply and has no gradient. Stage 2, from update `cycle.demonstrate.until` on:
GRPO on the outcome and on the component `illegal`, with the published clip and without a KL.

`coevo/tagged_single-v0` is played. Its expert demonstrates; a team of one's own does from a file,
`cycle.demonstrate.recorded`, that `coevo.envs.search.team_tags.distilled` makes of its episodes.
Variants: `distilled`, which imitates to the end; `undistilled`, which never does.

Left out: the filter of groups whose outcomes are equal, which learn nothing here either; the
progressive choice of harder tasks; the model that grades answers.
"""

from coevo.trainers import parts as p

CODE = "released code (OPPO-PersonalAI/Agent_Foundation_Models), web agent"
REPLIES = p.Replies(most=None, above=0.5)

ALGORITHM = p.Algorithm(
    name="chain_of_agents",
    summary="one policy imitates a team in tagged segments, then learns the task by GRPO",
    paper="Li et al. 2025, Chain-of-Agents, arXiv 2508.13167",
    formula=r"L_1 = -\log \pi(\text{segments of a team} | x), \quad L_2 = L_{\text{GRPO}} \text{ "
    r"from there}",
    status="table",
    shows="replies are listed, tags and all; nothing is written",
    reproductions=("tagged_chain",),
    usage="--env coevo/tagged_single-v0",
    cycle=(
        p.Demonstrate(by="expert:1", until=50),
        p.BuildBatch(),
        p.MakeItems(to=REPLIES),
        p.ComputeAdvantages(),
        p.When(metric="demonstrated", least=1, step=p.Update(losses=(p.Sft(),))),
        p.When(metric="demonstrated", most=0, step=p.Update()),
        p.FitRewards(),
    ),
    collect=p.CollectConfig(episodes=64, group_size=8),
    loss=p.LossConfig(
        surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.28),
        aggregate=p.TokenMean(),
    ),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "collect.episodes": p.Published("512 (64 tasks)", CODE, p.CHEAP),
        "collect.group_size": p.Published(8, CODE),
        "loss.surrogate.eps_hi": p.Published(0.28, CODE),
        "optim.lr": p.Published(1e-6, CODE, p.SMALL),
    },
    variants={
        "distilled": {
            "cycle": (
                p.Demonstrate(by="expert:1"),
                p.BuildBatch(),
                p.MakeItems(to=REPLIES),
                p.Update(losses=(p.Sft(),)),
            )
        },
        "undistilled": {"cycle": p.POLICY_GRADIENT},
    },
)
