"""SPEAR: successes come back, measured against what is normal now (arXiv 2509.22601).

Plays with A > 0 are stored. When there are one and a half times as many as `capacity`, all leave
the buffer: A = R - median of the means of recent groups, those with A >= 0 are learnt from once,
in a pass of their own whose weight grows by a cosine over 200 updates. Its loss silences
tokens of high covariance (Clip-Cov, ratio 0.02) and compares with the policy that sampled them.

Not copied: the released code builds the micro-batches of that pass from the on-policy batch.
Left out: the bonus for tool calls that fades by a cosine, since games have no tools.
The inner algorithm is GRPO; another one takes `collect.replay=spear_replay` together with a
`replay_loss` that sees which policy sampled, such as `replay_loss={anchor: behaviour}`.
"""

from coevo.trainers import parts as p

CODE = "released code"

ALGORITHM = p.Algorithm(
    name="spear",
    summary="GRPO that imitates its own earlier successes in growing extra passes",
    paper="Qin et al. 2025, SPEAR, arXiv 2509.22601",
    formula=r"L = L_\GRPO + w(\text{step}) \, L_{\text{clip-cov}}(\text{stored episodes}) \\ "
    r"A_\stored = R - \median (\text{group means}) \ge 0",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(
        episodes=512,
        group_size=8,
        replay=p.SpearReplay(capacity=1024, older=5, coef=0.0),
    ),
    schedules={"collect.replay.coef": p.Cosine(to=1.0, over=200)},
    loss=p.LossConfig(aggregate=p.TokenMean()),
    replay_loss=p.LossConfig(
        anchor="behaviour",
        token_masks=(p.ClipCov(ratio=0.02, lb=1.0, ub=40.0, eps_lo=0.2, eps_hi=0.2),),
        aggregate=p.TokenMean(),
    ),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "collect.replay.capacity": p.Published(2048, CODE, "a pass every few updates of 512 plays"),
        "collect.replay.older": p.Published("5, at most 10", CODE),
        "schedules": p.Published("a cosine over 100 to 300 updates", CODE),
        "replay_loss.token_masks.clip_cov.lb": p.Published("1 to 2", CODE),
        "replay_loss.token_masks.clip_cov.ub": p.Published("40 to 60", CODE),
    },
)
