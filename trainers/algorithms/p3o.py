"""P3O: pairs of plays, only their difference counts (Wu et al. 2023, arXiv 2310.00212).

Two plays per start and seat; the gradient is (r1 - r2) grad(log pi(y1) - log pi(y2)) / 2, which is
RLOO with groups of two, exactly: rewards that are shifted per start change nothing. The variant
`clip` is the paper's V1 for plays of an older policy: each side's ratio, that of the whole answer,
is clipped by itself. An answer is a row of the batch: with terse prompts, which show a reply no
earlier ones, one reply and not the whole play.

Left out: V2, which clips the pair jointly; the exact form of its product could not be read. The KL
to the start policy, which the paper folds into the reward, is `--set advantage.kl_in_reward=0.1`.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="p3o",
    summary="policy gradient on pairs of plays: only differences of rewards count",
    paper="Wu et al. 2023, P3O, arXiv 2310.00212",
    formula=r"L = -\frac{1}{2} (r_1 - r_2) (\log \pi(y_1) - \log \pi(y_2))",
    status="inferred",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=2),
    advantage=p.AdvantageConfig(
        baseline=p.LeaveOneOut(by="group+agent"), normalise=p.NoNormalisation()
    ),
    loss=p.LossConfig(surrogate=p.PolicyGradient(), aggregate=p.SeqMeanTokenSum()),
    optim=p.OptimConfig(lr=1e-3),
    variants={
        "clip": {
            "loss.ratio_level": p.SeqProdRatio(),
            "loss.surrogate": p.PpoClip(eps_lo=0.2, eps_hi=0.2),
            "optim.epochs": 2,
        }
    },
)
