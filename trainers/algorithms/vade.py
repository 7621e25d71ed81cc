"""VADE: starts are drawn by a fading belief about how much they teach (arXiv 2511.18902).

Each start keeps a Beta belief of its success rate that forgets at two rates, with every visit and
with every update. Every update draws a rate theta from each of them and plays the starts with the
largest theta (1 - theta), a group of eight each: the starts whose outcomes would differ most.

Inferred: the abstract names Beta posteriors, Thompson sampling, information gain and a decay of
two scales; all forms and values are ours.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="vade",
    summary="GRPO whose plays follow a Thompson draw of what each start can teach",
    paper="2025, VADE, arXiv 2511.18902",
    formula=r"\theta \sim \Beta(1 + s, 1 + n - s), \quad \text{play the tasks with the largest } "
    r"\theta (1 - \theta)",
    status="inferred",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(
        episodes=512,
        group_size=8,
        tasks=256,
        allocate=p.Vade(group=8, score="variance", spread="pick"),
    ),
    optim=p.OptimConfig(lr=1e-3),
)
