"""CRAFT-GUI: tasks in stages of difficulty, easy ones staying in (arXiv 2508.11360).

An update draws the levels of difficulty up to the bound of its stage, all alike; the bound rises in
steps. Levels are those of the environment, in the place of success rates of the start policy.
Its reward, a rule's part and a judge's, is left to `rewards`.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="craft_gui",
    summary="GRPO on tasks that become harder in stages",
    paper="Nong et al. 2025, CRAFT-GUI, arXiv 2508.11360",
    formula=r"\text{level} \sim U \{1, \dots, \lceil b(u) K \rceil\}, \quad b \uparrow 1",
    status="toy",
    shows="one table of facts, asked in chains; the judge's part of the reward is left out",
    reproductions=("staged_levels",),
    usage="--env coevo/debate-v0 --env-option rounds=1 'questions={name: word_problems, "
    "task: sums}'",
    collect=p.CollectConfig(episodes=512, group_size=8, up_to=0.33),
    schedules={"collect.up_to": p.Steps(values=(0.66, 1.0), every=100)},
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2)),
    optim=p.OptimConfig(lr=1e-3),
    published={"schedules": p.Published("three stages", "abstract", "lengths are not public")},
)
