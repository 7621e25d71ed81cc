r"""Bayesian-network actor-critic: a joint policy with edges between seats that fade (bn_ac).

pi(a | s) = prod_i pi_i(a_i | o_i, a_pa(i)): where seats move at once, each sees in training what
its parents, seats before it in the round, have just chosen. The edges become rare, so that at the
end every seat acts by itself. The critic of a seat reads its own prompt, parents' moves included.

Inferred: only the abstract could be read. Ours: the graph is the full order of the seats, where the
paper learns a sparse one. An edge is there or not, drawn per episode with the chance of
`show_parents`, where the paper's graph becomes sparse: a seat without parents therefore has a
prompt, and in a table a row, of its own. Advantages are those of a value per prompt, where the
paper has Q(s, a) of the joint move. Variants: `shown` keeps all edges, `independent` has none.
"""

from coevo.trainers import parts as p

CHANCE = "cycle.show_parents.chance"

ALGORITHM = p.Algorithm(
    name="bn_ac",
    summary="actor-critic in which seats see the moves of seats before them, ever more seldom",
    paper="Chen and Zhang 2023, Context-Aware Bayesian Network Actor-Critic, arXiv 2306.01920",
    formula=r"\pi(a | s) = \prod_i \pi_i(a_i | o_i, a_{pa(i)}), \quad "
    r"A_i = \sum_k (\gamma \lambda)^k \delta_{i, t + k}",
    status="inferred",
    shows="seats that see moves find the best joint move; hidden again, they do not keep it",
    reproductions=("bn_ac_climbing",),
    cycle=(p.ShowParents(), p.Collect(), p.BuildBatch(), p.ComputeAdvantages(), p.Update()),
    population=p.Separate(),
    collect=p.CollectConfig(episodes=128),
    advantage=p.AdvantageConfig(
        credit=p.Gae(level="turn", gamma=0.99, lam=0.95),
        baseline=p.AgentMean(),
        normalise=p.TokenStd(),
    ),
    loss=p.LossConfig(surrogate=p.PolicyGradient(), aggregate=p.TokenMean()),
    critic=p.ValueCritic(),
    optim=p.OptimConfig(lr=5e-4),
    schedules={CHANCE: p.Linear(to=0.0, over=100)},
    variants={
        "shown": {"schedules": {}},
        "independent": {CHANCE: 0.0, "schedules": {}},
    },
)
