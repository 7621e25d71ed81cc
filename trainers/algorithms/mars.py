"""MARS / MARSHAL: turn-level return-to-go, centred per seat (arXiv 2510.15414).

Sum first, centre afterwards; no critic, no deviation.

Left out: the length penalty, which matters for long reasoning only (add `length_penalty` to the
rewards), and the released filter of long replies. The five-step advantage of the released code is
the variant `code`, with its loss and its KL to the start policy. There a mean over distinct values
is one over values rounded to float32, as in the code, whose own rounding makes some of them differ
that are equal here.

The variant `state_values` judges a turn by a table of state values instead; it made the result of
the README on tic-tac-toe, with `--env-option openings=4 --set collect.episodes=256
optim.minibatches=4 optim.lr=6e-4`. The variant `snapshot` moves the magnet in steps, as R-NaD does.

Ours: a magnet (an exponential mean of the weights, from the start) in the place of the KL to the
start policy, so that a comparison with a record without magnet, such as `grpo`, measures the magnet
too: `grpo:magnet` is the one to compare with. A forfeit costs what the game's worst result costs,
there the stake and 10 more; draws and Hanabi's cards pay what the rules pay. Sampling is at the
temperature of the run without top-p and top-k, one game per run.
"""

from coevo.trainers import parts as p

CODE = "released code (thu-nics/MARSHAL@2db0222)"

ALGORITHM = p.Algorithm(
    name="mars",
    summary="self-play with turn-level returns, centred per seat",
    paper="Yuan et al. 2025, MARS (later MARSHAL), arXiv 2510.15414",
    formula=r"A_{i,k} = Y_{i,k} - \mean_{\text{game, seat}} Y, \quad Y_{i,k} = \sum_{k' \ge k} "
    r"r_{i,k'}",
    status="formula",
    shows="a centre per role removes the role's value; nothing of generalisation",
    reproductions=("mars_centre",),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512),
    advantage=p.AdvantageConfig(
        credit=p.ToGo(gamma=1.0), baseline=p.AgentMean(), normalise=p.NoNormalisation()
    ),
    loss=p.LossConfig(
        surrogate=p.DualClip(eps_lo=0.2, eps_hi=0.2, c=1.4),
        regularise=(p.MagnetKl(coef=0.5),),
        aggregate=p.TokenMean(),
    ),
    magnet=p.EmaMagnet(decay=0.99),
    optim=p.OptimConfig(lr=3e-4),
    schedules={"optim.rate": p.Linear(to=0.02)},
    published={
        "loss.aggregate": p.Published(
            "seq_mean_token_mean",
            CODE,
            "the same where answers are equally long, and no length bias elsewhere",
        ),
        "loss.regularise": p.Published(
            "kl(kind=k3, coef=0.2) to the start policy",
            CODE,
            "a fixed reference keeps a weak start weak; a magnet that follows the policy "
            "makes self-play converge in games whose equilibrium is mixed "
            "(Perolat et al. 2021, arXiv 2002.08456; Sokota et al. 2023, arXiv 2206.05825)",
        ),
        "optim.lr": p.Published(1e-6, CODE, p.SMALL),
        "schedules": p.Published("cosine, warm-up 10", CODE, "runs end by a budget"),
        "optim.weight_decay": p.Published(0.05, CODE, p.SMALL),
        "collect.episodes": p.Published(192, CODE, "plays are cheap here: 384 rows / 2"),
    },
    variants={
        "code": {
            "advantage.credit": p.MarsCode(),
            "advantage.baseline": p.DistinctMean(by="seat", padding_zero=True),
            "advantage.normalise": p.TokenStd(),
            "loss.regularise": (p.Kl(kind="k3", coef=0.2, limit=10.0),),
            "loss.aggregate": p.SeqMeanTokenMean(),
            "magnet": None,
        },
        "pooled": {"advantage.baseline": p.BatchMean()},
        "snapshot": {"magnet": p.SnapshotMagnet(every=20)},
        "plain": {"loss.regularise": (), "magnet": None},
        "state_values": {
            "advantage.credit": p.TdTable(rate=0.2),
            "advantage.baseline": p.NoBaseline(),
            "loss.regularise": (p.Entropy(coef=0.02),),
            "loss.anchor": "behaviour",
            "magnet": None,
            "ema": 0.95,
            "rewards": (),
        },
    },
)
