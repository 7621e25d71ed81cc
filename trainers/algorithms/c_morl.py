"""C-MORL: a Pareto front, extended from its least crowded policies (Liu et al., 2410.02236).

Several rewards, none of which may be given up. First one policy after the other learns by fixed
preferences. Then a policy of the front that stands most alone is taken up again, and one objective
of it is raised while a logarithmic barrier keeps the others above nine tenths of what they were;
every objective has its turn. An archive keeps each policy with what it earns of every objective;
what is dominated is given up, so that no point of the front is ever lost.

Two defects of the released code are not copied: its barrier has no gradient where returns are
negative, here slack is relative to the size of a return; and it leaves a sample out of the barrier
where it means to leave out the objective that is raised. Ours: the weights of a batch (1 for what
is raised, 1 / (20 slack) for others, from the means of the batch) are divided by their sum.

For tables, small networks and adapters: the archive holds all trained numbers of every policy.
"""

from coevo.trainers import parts as p

CODE = "released code (RuohLiuq/C-MORL)"

ALGORITHM = p.Algorithm(
    name="c_morl",
    summary="a Pareto front of policies, extended objective by objective under a barrier",
    paper="Liu et al. 2024, C-MORL, arXiv 2410.02236",
    formula=r"\max_\pi J_i(\pi) + \frac{1}{t} \sum_{j \ne i} \log (J_j(\pi) - J_j(\pi_0) + "
    r"(1 - \beta) |J_j(\pi_0)|)",
    status="toy",
    shows="the front grows; negative: as many fixed preferences do as well",
    reproductions=("c_morl_treasure",),
    cycle=(p.TraceFront(), p.BuildBatch(), p.ComputeAdvantages(), p.Update(), p.FitRewards()),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=256),
    advantage=p.AdvantageConfig(baseline=p.BatchMean(), normalise=p.NoNormalisation()),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "cycle.trace_front.kept": p.Published(0.9, CODE),
        "cycle.trace_front.strictness": p.Published(20, CODE),
    },
)
