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

from coevo.agents.population import Adapters
from coevo.trainers.algorithm import Algorithm, CollectConfig, OptimConfig, Published
from coevo.trainers.archive.evolution import Antithetic, CmaEs
from coevo.trainers.archive.genome import Entries
from coevo.trainers.losses import Sft
from coevo.trainers.steps import (
    Best,
    BuildBatch,
    Collect,
    MakeItems,
    SampleGeneration,
    Update,
    UpdateGenome,
)

PAPER = "paper"
CMA = CmaEs(sigma=0.1)

ALGORITHM = Algorithm(
    name="essa",
    summary="CMA-ES over the singular values of adapters; forward passes only",
    paper="Korotyshova et al. 2025, ESSA, arXiv 2507.04453",
    formula=r"B A = U \diag(s) V, \quad s \leftarrow s + \sigma \sum_i w_i y_i \text{ over the "
    r"better half}",
    status="inferred",
    shows="the singular values of a table, not those of adapters",
    reproductions=("essa_spectrum",),
    cycle=(
        SampleGeneration(by=CMA, after=20),
        Collect(),
        BuildBatch(),
        MakeItems(to=Best()),
        Update(losses=(Sft(),)),
        UpdateGenome(),
    ),
    population=Adapters(per="role"),
    collect=CollectConfig(episodes=768, group_size=24),
    optim=OptimConfig(lr=1e-3),
    published={
        "population.rank": Published(value="several", source=PAPER),
        "cycle.sample_generation.by": Published(value="CMA-ES", source=PAPER),
    },
    variants={
        "evolve": {"cycle": (SampleGeneration(by=CMA), Collect(), UpdateGenome())},
        "plain_es": {
            "cycle": (
                SampleGeneration(by=Antithetic(sigma=0.1, rate=0.1), genome=Entries()),
                Collect(),
                UpdateGenome(),
            )
        },
    },
)
