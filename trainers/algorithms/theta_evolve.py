"""ThetaEvolve: programs evolve, and the policy that changes them learns from its own changes.

For `coevo/improve_program-v0`. A group of episodes is shown one program of the archive and some
inspirations; each reply is a child, paid by what it is worth, or with `pays=improvement` by whether
it is better than its parent. GRPO on the groups follows. Children enter the archive at the end of
the update. There are ten islands in a ring, from which the best are copied now and then.

Not reproduced here: what learning adds to the best program, beside evolution with a frozen model.
A table that sees no program learns which changes are useless (claim `theta_evolve`). In the source
a circle packing of 26 is better than that of AlphaEvolve, with a model of 8 billion parameters.
`frozen` is evolution alone.
"""

from coevo.trainers import parts as p

CODE = "released code"
EVOLVE = (p.DrawParents(), p.Collect())

ALGORITHM = p.Algorithm(
    name="theta_evolve",
    summary="a policy improves programs of an archive on islands, and learns from its changes",
    paper="Wang et al. 2025, ThetaEvolve, arXiv 2511.23473",
    formula=r"c_i \sim \pi(\cdot \mid p), \quad R_i = s(c_i) \text{ or } [s(c_i) > s(p)], \quad "
    r"A_i = \frac{R_i - \mean_g R}{\std_g R + \epsilon}",
    status="toy",
    shows="a table learns which changes are useless; archives climb, changes of the start do not",
    reproductions=("theta_evolve",),
    usage="--env coevo/improve_program-v0",
    cycle=(*EVOLVE, p.BuildBatch(), p.ComputeAdvantages(), p.Update(), p.KeepPrograms()),
    collect=p.CollectConfig(episodes=128, group_size=16),
    loss=p.LossConfig(
        surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.28), is_correction=p.TokenTis(cap=2.0)
    ),
    published={
        "collect.episodes": p.Published(512, CODE, "32 programs, 16 children each"),
        "collect.group_size": p.Published(16, CODE),
        "optim.lr": p.Published(1e-6, CODE, p.SMALL),
        "cycle.draw_parents.exploit": p.Published(0.6, CODE),
        "cycle.keep_programs.by.count": p.Published(10, CODE),
    },
    optim=p.OptimConfig(lr=1e-3),
    variants={"frozen": {"cycle": (*EVOLVE, p.KeepPrograms())}},
)
