"""PSRO: best responses to an equilibrium between past selves (Lanctot et al. 2017, 1711.00832).

A learner plays past selves, at first its start, drawn by a meta-strategy. Every so many updates its
copy joins them, all play one another, the meta-strategy becomes an equilibrium of the table of
payoffs, and the learner starts anew. What PSRO returns is the mixture: the past selves with their
weights, which the archive holds.

`risk_averse` is the equilibrium of players who dislike variance (Slumbers et al. 2022, RAE, arXiv
2205.15434): the mean payoff minus `aversion` times its variance over what opponents play, who
tremble. `uniform` weighs past selves alike, as fictitious self-play does: the control.

Ours: the number of updates of a best response, and the search for the equilibrium. With
`cycle.solve_meta.anew=false` the learner goes on from where it was, which is cheaper. Of RAE the
abstract was read. The game is treated as symmetric: one policy plays all seats.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="psro",
    summary="past selves, weighed by an equilibrium of their payoffs, also a risk-averse one",
    paper="Lanctot et al. 2017, PSRO, arXiv 1711.00832",
    formula=r"\pi_{k+1} = \argmax_\pi \sum_j y_j u(\pi, \pi_j) \\ "
    r"y \text{ an equilibrium of } x^\top M y - \lambda x^\top \Sigma_y x",
    status="table",
    shows="negative: an even mixture of past selves does as well; risk aversion on a table",
    reproductions=("psro_kuhn",),
    population=p.PastSelves(every=20, size=16, first=True, latest=0.0, draw=p.MetaStrategy()),
    cycle=(p.SolveMeta(), *p.POLICY_GRADIENT),
    collect=p.CollectConfig(episodes=256),
    advantage=p.AdvantageConfig(baseline=p.AgentMean(), normalise=p.NoNormalisation()),
    loss=p.LossConfig(
        surrogate=p.PolicyGradient(), regularise=(p.Entropy(coef=0.01),), aggregate=p.TokenMean()
    ),
    optim=p.OptimConfig(lr=1e-3),
    variants={
        "risk_averse": {"cycle.solve_meta.aversion": 0.5, "cycle.solve_meta.tremble": 0.1},
        "uniform": {"population.draw": {"name": "uniform"}},
    },
)
