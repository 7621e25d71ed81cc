"""SPARK: verdicts that were paid for become questions for the same model (arXiv 2509.22624).

GRPO on what a verifier says. The replies and their verdicts are then recycled: is this answer
right, which of two is better, and here is a wrong answer, answer again. Questions wait in a cache;
whenever 64 have come together the model answers each eight times and learns from whether it was
right, by the same loss. Solver and judge share all weights; no reward model, no other data.

Where a policy is right nearly always, groups without an error flood the cache with questions whose
answer is yes, and the judge says yes to everything. `balance=cap` leaves the surplus out; the
variant `released` does not, as the released code. `answers/yes_rate` shows it.

Ours: what is answered again is graded by a right reply of the same group, where the paper has the
data set's answer; questions are put in one wording. Left out: images, and the KL term of the
variant without verdicts.
"""

from coevo.trainers import parts as p

CODE = "released code"
SOLVE = (p.Collect(), p.BuildBatch(), p.ComputeAdvantages(), p.Update())
JUDGE = (
    p.MakeItems(to=p.Questions()),
    p.QuestionJudge(of=p.Cached(), join=False),
    p.BuildBatch(),
    p.ComputeAdvantages(),
    p.Update(),
)

ALGORITHM = p.Algorithm(
    name="spark",
    summary="verified replies become judge and reflection questions for the same weights",
    paper="Liu et al. 2025, SPARK, arXiv 2509.22624",
    formula=r"A = \frac{r - \mean_g r}{\std_g r + \epsilon}, \quad \text{for answers and for "
    r"judgements of answers}",
    status="toy",
    shows="recycled verdicts make a judge; at equal samples the solver without them is better",
    reproductions=("spark_judge",),
    cycle=(*SOLVE, *JUDGE),
    rewards=(p.Verifier(last_only=True),),
    judges={"judge": p.JudgeRole(policy="policy")},
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(reward_weights={"payoff": 0.0}, eps=1e-9),
    loss=p.LossConfig(aggregate=p.TokenMean(), regularise=(p.Kl(kind="k3", coef=0.001),)),
    optim=p.OptimConfig(lr=1e-4),
    published={
        "collect.group_size": p.Published(8, CODE),
        "collect.episodes": p.Published("512 (64 prompts)", CODE, p.CHEAP),
        "optim.lr": p.Published(5e-7, CODE, p.SMALL),
        "cycle.question_judge.samples": p.Published(8, CODE),
        "cycle.question_judge.of.least": p.Published(64, CODE),
        "cycle.make_items.to.pointwise": p.Published(0.3, CODE),
        "cycle.make_items.to.most": p.Published(32, CODE),
        "cycle.make_items.to.balance": p.Published(
            "none", CODE, "the judge ends up saying yes to all"
        ),
    },
    variants={
        "released": {"cycle.make_items.to.balance": "none"},
        "no_recycling": {"cycle": SOLVE},
    },
)
