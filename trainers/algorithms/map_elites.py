"""MAP-Elites: the best genome of every kind of behaviour (Mouret and Clune 2015).

A grid over descriptors keeps the best genome of every cell (`cycle.select_genomes.by.edges`).
Descriptors are outcomes of the environment, or measures that fit every one, here the turns that a
seat takes and how varied its moves are (`cycle.select_genomes.descriptor`). Parents are drawn from
all cells alike; a child takes a cell that is empty or whose owner it beats. The outcome is an
archive of good solutions that differ; the policy is the best of them. `qd_score` in the log is the
sum of the fitness over the cells.

Later work adds a line towards a second parent to the mutation, and gradients of a critic that is
conditioned on the descriptor (Faldor et al. 2023, arXiv 2303.03832). Both are left out of the cycle
and tried in the claim `dcg_maze`, which holds them.
"""

from coevo.trainers import parts as p

GRID = p.Grid(edges=((2, 3, 4, 6, 8, 12, 16, 24, 32), p.even(0, 1, 10)))
ALGORITHM = p.Algorithm(
    name="map_elites",
    summary="a grid over behaviours keeps the best genome of every cell; parents from all cells",
    paper="Mouret and Clune 2015, Illuminating Search Spaces, arXiv 1504.04909",
    formula=r"c = \cell(b(\theta)), \quad E_c \leftarrow \theta \text{ if } E_c \text{ is empty "
    r"or } f(\theta) > f(E_c)",
    cycle=(
        p.BreedGeneration(sigma=0.1, first=1.0),
        p.Collect(),
        p.SelectGenomes(by=GRID, descriptor=("turns", "variety")),
    ),
    status="formula",
    shows="the selector and the breeding, on postures of an arm; no policy plays",
    reproductions=("map_elites_arm",),
    collect=p.CollectConfig(episodes=16, group_size=16),
)
