"""Novelty search: genomes are kept because they behave unlike others (Lehman and Stanley 2011).

The outer loop is that of `deep_ga`. What selects is not the reward but the novelty of a descriptor
(`cycle.select_genomes.descriptor`, as in `map_elites`): the mean distance to the ten nearest, among
all candidates and all that were ever kept. Where rewards deceive or are sparse, this explores. The
policy is the genome of the highest reward among those kept.

`mixed` ranks by reward and by novelty and takes the mean of the two ranks (NSR of Conti et al.
2018, arXiv 1712.06560). `learned` measures distances along the first two principal components of
all descriptors, which then may be many numbers that nobody has chosen: a behaviour space that is
learnt, as in AURORA-PCA (Cully 2019, arXiv 1905.11874); auto-encoders are left out.
"""

from coevo.trainers import parts as p

PAPER = "paper"
CYCLE = (
    p.BreedGeneration(sigma=0.5, first=1.0),
    p.Collect(),
    p.SelectGenomes(by=p.Novelty(keep=8, nearest=10), descriptor=("turns", "variety")),
)

ALGORITHM = p.Algorithm(
    name="novelty_search",
    summary="keeps genomes whose behaviour is far from that of all others; rewards do not select",
    paper="Lehman and Stanley 2011, Abandoning Objectives, 10.1162/EVCO_a_00025",
    formula=r"\rho(b) = \frac{1}{k} \sum_{b' \in \text{$k$ nearest of } b} \norm{b - b'}",
    status="formula",
    shows="the selector and the breeding, on walks in a maze; no policy plays",
    reproductions=("novelty_maze",),
    cycle=CYCLE,
    collect=p.CollectConfig(episodes=16, group_size=16),
    published={
        "cycle.select_genomes.by.nearest": p.Published(15, PAPER, "10 in Conti et al. 2018"),
    },
    variants={
        "mixed": {"cycle.select_genomes.by.share": 0.5},
        "learned": {"cycle.select_genomes.by.components": 2},
    },
)
