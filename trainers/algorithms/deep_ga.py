"""Deep GA: a genetic algorithm over all weights of a network (Such et al. 2017).

A generation of children plays the same tasks. The best of them are the parents of the next one;
a child is a parent plus Gaussian noise in every number, without crossover, and the elite plays
again unchanged. A genome is a list of seeds, from which its weights are made again bit for bit:
its size grows with the generations and not with the model.

`islands` selects on four islands, and copies the best to the next one every ten generations.
`pareto` keeps the fronts of NSGA-II (Deb et al. 2002): components of the reward are objectives,
and no sum of them decides. The paper replays the ten best on 30 more tasks to choose the elite;
here the elites play the tasks of their generation. The first generation is the start of the run
plus noise, in the place of its scaled initialisation.
"""

from coevo.trainers import parts as p

CODE = "paper and released code"
SELECT = p.SelectGenomes(by=p.Truncation(keep=4), among="children")

ALGORITHM = p.Algorithm(
    name="deep_ga",
    summary="truncation, Gaussian mutation of all weights, one elite; genomes are lists of seeds",
    paper="Such et al. 2017, Deep Neuroevolution, arXiv 1712.06567",
    formula=r"\theta_n = \theta_0 + \sum_{k \le n} \sigma_k \epsilon(\tau_k), \quad "
    r"\epsilon(\tau) \sim \Normal(0, I) \text{ from the seed } \tau",
    status="table",
    shows="better than random search with equal episodes in Tiny Hanabi",
    reproductions=("deep_ga_hanabi",),
    cycle=(p.BreedGeneration(sigma=0.5, first=1.0, elites=1), p.Collect(), SELECT),
    collect=p.CollectConfig(episodes=128, group_size=16),
    published={
        "collect.group_size": p.Published(1000, CODE, p.CHEAP),
        "cycle.select_genomes.by.keep": p.Published(20, CODE, "of 1,000 children"),
        "cycle.breed_generation.elites": p.Published(1, CODE, "the best of ten, by 30 more tasks"),
        "cycle.breed_generation.sigma": p.Published(0.002, CODE, "tables, not Atari networks"),
    },
    variants={
        "islands": {
            "cycle.breed_generation.elites": 4,
            "cycle.select_genomes.by": p.Islands(by=p.Truncation(keep=1), count=4, every=10),
        },
        "pareto": {
            "cycle.select_genomes.by": p.Pareto(keep=16),
            "cycle.select_genomes.among": "all",
            "cycle.breed_generation.elites": 0,
        },
    },
)
