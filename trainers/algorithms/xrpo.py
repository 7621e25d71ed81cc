"""XRPO: plays go where success is least known, rare successes are paid more (arXiv 2510.06672).

Plays of an update follow the expected fall of the uncertainty about each start's success rate plus
an exploration bonus. A play that succeeded although the policy found it unlikely, s below its
group's mean log-probability, gains min(lam (1 - exp(s - mean s)), kap A); only good plays do, since
for bad ones the bound would be negative and make them worse.

The variant `examples` plays a start without a success again, with up to two solved ones in the
prompt whose words are nearest to its own (see `guide`). These plays join the group of their start
and are learnt without the examples. They are off-policy, and nothing corrects for it: truncated
importance weights leave nothing of what the policy did not find by itself (claim `examples_flip`).
Whether the source learns such plays so or under the prompt that was seen could not be read.

Inferred: the bonus is from reviews and third-party code, whose bound for bad plays (kap |A|) would
reward novel wrong answers and is not copied; the form of the allocation could not be read and is
ours.
"""

from coevo.trainers import parts as p

PAGE = "reviews, third-party code"

ALGORITHM = p.Algorithm(
    name="xrpo",
    summary="GRPO with plays shared out by uncertainty and a bonus for unlikely successes",
    paper="2025, XRPO, arXiv 2510.06672",
    formula=r"A^+_i = A_i + \min(\max(\lambda (1 - e^{s_i - \mean_g s}), 0), \kappa A_i) \text{ "
    r"if } A_i > 0",
    status="toy",
    shows="examples flip failed starts; the allocation and the bonus are inferred",
    reproductions=("examples_flip",),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(
        episodes=512,
        group_size=8,
        tasks=256,
        allocate=p.Xrpo(n_min=2, explore=0.01),
    ),
    advantage=p.AdvantageConfig(transform=(p.Sharpen(lam=2.5, kap=0.5),)),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "advantage.transform.sharpen.lam": p.Published(2.5, PAGE),
        "advantage.transform.sharpen.kap": p.Published(0.5, PAGE),
    },
    variants={
        "examples": {
            "cycle": (
                p.Collect(),
                p.Guide(by=p.Examples(shown=2), tries=4),
                *p.POLICY_GRADIENT[1:],
            ),
        },
    },
)
