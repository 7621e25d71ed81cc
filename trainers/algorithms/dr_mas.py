"""Dr. MAS: mean and deviation of a group per agent, not over all agents (arXiv 2602.08847).

Groups are start times agent, and every reply of an agent is one observation: who is called more
often in a play weighs more. Pooled statistics give agent k advantages of mean square
(sigma_k^2 + (mu_k - mu)^2) / sigma^2: an agent that is called mostly in unusual plays has
gradients that spike, and agents on different reward scales learn at different rates. Statistics
of its own make the factor 1. Variants: `pooled`, that baseline; `batch`, statistics per agent over
the whole batch, as the paper's listing has it, where the code and this record take them per start.

A reply that cannot be read is charged before anything is compared: in team tasks by the task
(`unread`), else by `format`; there is no bonus per legal reply, which would pay for being called.
As in the released code (langfengQ/DrMAS@19c632b) only that reply is charged, on top of the outcome
that all replies of its seat share. A group of one gives 0; the released code takes the raw reward
there, which is `--set advantage.baseline.single=keep --set advantage.normalise.single=keep`. Agents
may have settings of their own: `--set population=separate` with
`--set optim_of.verifier_0.lr=1e-4`. The loss is a mean over tokens, that of the code over steps.

The code's switch `group_by_agent_id=False` is the variant `vanilla`: every reply of an episode gets
that of the episode's mean reward, compared with the other episodes of the start. It is not
`pooled`, which compares replies.
"""

from coevo.trainers import parts as p

CODE = "released code"

ALGORITHM = p.Algorithm(
    name="dr_mas",
    summary="GRPO with mean and deviation per start and agent",
    paper="Feng et al. 2026, Dr. MAS, arXiv 2602.08847",
    formula=r"A_i = \frac{R_i - \mean_{\text{task, agent}} R}{\std_{\text{task, agent}} R + "
    r"\epsilon}, \quad i \text{ a reply}",
    status="toy",
    shows="no spikes in tables; with language models only that they learn",
    reproductions=("agent_norm", "dr_mas_spikes", "dr_mas_starter", "sums_smollm2"),
    rewards=(p.Format(legal=0.0, otherwise=-0.1),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(
        credit=p.Outcome(own=("format", "unread")),
        baseline=p.GroupMean(by="group+agent"),
        normalise=p.GroupStd(by="group+agent"),
        weights="turn",
    ),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "optim.lr": p.Published(1e-6, CODE, p.SMALL),
        "population": p.Published("shared, or separate per agent", CODE),
        "rewards.format.otherwise": p.Published("-0.1 (mathematics), -0.01 (search)", CODE),
        "collect.episodes": p.Published("32 or 128 prompts", CODE, p.CHEAP),
        "collect.group_size": p.Published("8 (mathematics), 5 (search)", CODE),
    },
    variants={
        "batch": {"advantage.baseline.by": "agent", "advantage.normalise.by": "agent"},
        "vanilla": {
            "advantage.baseline": p.NoBaseline(),
            "advantage.normalise": p.NoNormalisation(),
            "advantage.transform": (p.CompareEpisodes(),),
        },
        "pooled": {"advantage.baseline.by": "group", "advantage.normalise.by": "group"},
        "trajectory": {"advantage.weights": "row"},
    },
)
