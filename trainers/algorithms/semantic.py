"""Semantic reward: likeness of a reply to a reference text, beside other rewards (2509.13081).

The cosine of the embeddings of reply and reference. Those of one task differ little, so every
reward is normalised apart and then added, as in GDPO. It measures likeness, not truth:
correctness stays a reward of its own.

Inferred: read in the abstract; the weights of the rewards are not public, ours are 1. Needs
references: `--set "rewards=format; semantic(reference=...)"` or, in Python, one per task; without
them nobody is paid. The encoder that ships counts words; give a sentence encoder in Python.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="semantic",
    summary="GDPO with the likeness to a reference text as one of the rewards",
    paper="2025, semantic rewards, arXiv 2509.13081",
    formula=r"R_\sem = \cos(e(\text{reply}), e(\text{reference})) \\ A \text{ as in GDPO}",
    status="inferred",
    rewards=(p.Format(legal=0.05), p.Semantic()),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(compose=p.Decoupled(), transform=(p.BatchWhiten(),), eps=1e-4),
    optim=p.OptimConfig(lr=1e-3),
)
