"""ESSA: an evolution strategy over the singular values of adapters (arXiv 2507.04453).

The change B A that an adapter makes to a layer is decomposed as U diag(s) V; U and V stay, and
CMA-ES moves s, of all layers at once. All members of a generation play the same tasks, one episode
of each (`collect.group_size` members, `collect.episodes / group_size` tasks); nothing is
differentiated, only played. Singular values may take any sign.

The adapters must change something first, and only what they change can be scaled: a bad start is a
ceiling. For the first 20 updates they imitate the best episode of every task
(`cycle.sample_generation.after`); the paper trains them on demonstrations. `evolve` begins with a
generation, for weights that have learnt. `plain_es` moves every number by a plain evolution
strategy: the naive control.

The abstract and summaries were read; the full text could not be read. Size of the generation and of
the first step are ours, and models are not quantised here.
"""

from coevo.trainers import parts as p

PAPER = "paper"
CMA = p.CmaEs(sigma=0.1)

ALGORITHM = p.Algorithm(
    name="essa",
    summary="CMA-ES over the singular values of adapters; forward passes only",
    paper="Korotyshova et al. 2025, ESSA, arXiv 2507.04453",
    formula=r"B A = U \diag(s) V, \quad s \leftarrow s + \sigma \sum_i w_i y_i \text{ over the "
    r"better half}",
    status="inferred",
    shows="the singular values of a table, not those of adapters",
    reproductions=("essa_spectrum",),
    cycle=(
        p.SampleGeneration(by=CMA, after=20),
        p.Collect(),
        p.BuildBatch(),
        p.MakeItems(to=p.Best()),
        p.Update(losses=(p.Sft(),)),
        p.UpdateGenome(),
    ),
    population=p.Adapters(per="role"),
    collect=p.CollectConfig(episodes=768, group_size=24),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "population.rank": p.Published("several", PAPER),
        "cycle.sample_generation.by": p.Published("CMA-ES", PAPER),
    },
    variants={
        "evolve": {"cycle": (p.SampleGeneration(by=CMA), p.Collect(), p.UpdateGenome())},
        "plain_es": {
            "cycle": (
                p.SampleGeneration(by=p.Antithetic(sigma=0.1, rate=0.1), genome=p.Entries()),
                p.Collect(),
                p.UpdateGenome(),
            )
        },
    },
)
