"""QwenLong-L1: phases of growing length; hard tasks of earlier phases come again (2505.17667).

The levels of an environment are its lengths: an update draws levels up to the bound of its phase.
A part of its groups plays tasks of earlier updates again, in proportion to 1 - their success; the
weight is ours, since the published one could not be read. The warm-up is `sft`.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="qwen_long",
    summary="GRPO in phases of length that plays hard earlier tasks again",
    paper="Wan et al. 2025, QwenLong-L1, arXiv 2505.17667",
    formula=r"P(\text{earlier task } i) \propto 1 - \mean R_i",
    status="toy",
    shows="one table of facts, asked in chains",
    reproductions=("staged_levels",),
    usage="--env coevo/debate-v0 --env-option rounds=1 'questions={name: word_problems, "
    "task: sums}'",
    collect=p.CollectConfig(
        episodes=512,
        group_size=8,
        up_to=0.5,
        curriculum=p.Evolve(info="difficulty", fresh=0.75, vary=0.0, warmup=1),
    ),
    schedules={"collect.up_to": p.Steps(values=(1.0,), every=100)},
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.28)),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "schedules": p.Published("20k, then 60k tokens", "paper"),
        "collect.curriculum.fresh": p.Published("share unknown", "abstract"),
    },
)
