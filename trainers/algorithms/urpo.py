"""URPO: one model is player and referee, and all data share one loss (arXiv 2507.17515).

Three kinds of tasks in one update: questions with a right answer, paid by a verifier; rankings that
are known, which the referee is asked to give and is paid for; and open tasks without a label, where
the same weights, asked as the referee, pay the player's replies. GRPO, groups within a kind: scales
differ between kinds and are never mixed. What the referee says of open tasks has no gradient.

Without rankings the referee is free to like what the player says. They are read from a file of
preferences (`cycle.question_judge.of.path`); without one the replies of the update that a verifier
judged are ranked by their verdicts. Order and pair questions are shown in an order that is drawn.

Inferred (no code was found): the pay of an order, Kendall's tau, and of a pair or a single verdict,
1 if it is right; that the referee is asked about one reply at a time; the share of each kind.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="urpo",
    summary="player and referee in one: verified, ranked and self-judged tasks in one update",
    paper="Lu et al. 2025, URPO, arXiv 2507.17515",
    formula=r"A = \frac{r - \mean_g r}{\std_g r + \epsilon}, \quad \text{groups within one kind "
    r"of task} \\ r = 1[\text{right}], \text{ agreement with a known ranking, or the model's own "
    r"score}",
    status="toy",
    reproductions=("urpo_referee",),
    cycle=(
        p.Collect(),
        p.QuestionJudge(of=p.Preferences()),
        p.BuildBatch(),
        p.ComputeAdvantages(),
        p.Update(),
    ),
    rewards=(p.Verifier(last_only=True), p.Judge(of="unverified", samples=2)),
    judges={"judge": p.JudgeRole(policy="policy")},
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(reward_weights={"payoff": 0.0}),
    optim=p.OptimConfig(lr=1e-4),
    variants={
        "no_rankings": {"cycle": (p.Collect(), p.BuildBatch(), p.ComputeAdvantages(), p.Update())},
        "frozen_referee": {"judges": {"judge": p.JudgeRole(policy="judge", learns=False)}},
    },
)
