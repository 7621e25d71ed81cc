"""SCALER: the level of every environment follows its success, half of it (arXiv 2601.04809).

A window of environments is active, each at a level of its own between its easiest and hardest. The
level moves by twice the distance of the success from one half, at most one level an update. An
environment without a success in 5 updates, at its hardest level in 5, or whose level has not grown
over 50, gives its place to one that was never active.

Not copied: the released code may draw an active environment once more, and loses the history of the
levels when it is restored. Left out: the environments themselves, made from programming problems.
The updates over which a level must grow are 50 in the code and 10 in the paper's note.
"""

from coevo.trainers import parts as p

CODE = "released code"

ALGORITHM = p.Algorithm(
    name="scaler",
    summary="GRPO at levels of difficulty at which half of the episodes succeed",
    paper="Xu et al. 2026, SCALER, arXiv 2601.04809",
    formula=r"d \leftarrow \text{clip} (d + \text{clip} (k (\text{success} - \tfrac12), -1, 1), 0, "
    r"d_\max)",
    status="model",
    shows="success stays near one half and fewer groups teach nothing; it learns no more by that",
    reproductions=("scaler_control", "scaler_smollm2"),
    usage="--env coevo/debate-v0 --env-option rounds=1 'questions={name: word_problems, "
    "task: sums}'",
    collect=p.CollectConfig(episodes=512, group_size=8, curriculum=p.Controlled()),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2)),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "collect.curriculum.gain": p.Published(2, CODE),
        "collect.curriculum.slope": p.Published("50, 10 in the paper", CODE),
        "optim.lr": p.Published(1e-6, CODE, p.SMALL),
    },
)
