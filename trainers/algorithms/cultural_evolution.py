"""Cultural evolution: strategies are copied from those who do well (arXiv 2412.10270).

An outer loop without gradients. Every seat is told a strategy of its own, one sentence, which is an
artifact of the archive: turns record it, its parents are the strategies that its writer was shown.
An update is a generation. It plays one episode (of the donor game: two games with roles swapped),
and what a strategy earned is its weight. The better half survive; newcomers in the other seats are
shown them, with what they earned, and write variants of their own.

Newcomers are the policy itself unless `cycle.evolve_texts.by.agent` names another model; a table
can carry out sentences that a program reads for it, but write none. The paper's game is
`coevo/donor_game-v0` with 12 players and 12 rounds; there it plays 10 generations at temperature
0.8. `fresh` is the control: newcomers are shown nothing.
"""

from coevo.trainers.algorithm import Algorithm, CollectConfig, Published
from coevo.trainers.archive.selection import Deal
from coevo.trainers.estimators import AdvantageConfig, NoBaseline, NoNormalisation
from coevo.trainers.steps import Collect, EvolveTexts, InjectText, WeighArtifacts

CODE = "paper and released code"
PLAYED = (InjectText(by=Deal()), Collect(), WeighArtifacts(rate=1.0))

ALGORITHM = Algorithm(
    name="cultural_evolution",
    summary="strategies in words; the better half survive, newcomers write variants; no gradients",
    paper="Vallinder and Hughes 2024, Cultural Evolution of Cooperation, arXiv 2412.10270",
    formula=r"w_j = \mean \text{ payoff under strategy } j \\ j' \sim \LM(\text{better half}, w)",
    status="table",
    shows="a program plays twelve sentences; a longer trace does not help, as in the source",
    reproductions=("cultural_evolution",),
    cycle=(EvolveTexts(), *PLAYED),
    collect=CollectConfig(episodes=1),
    advantage=AdvantageConfig(baseline=NoBaseline(), normalise=NoNormalisation()),
    published={
        "cycle.evolve_texts.keep": Published(value=0.5, source=CODE),
        "cycle.evolve_texts.shown": Published(value=6, source=CODE),
        "collect.episodes": Published(value="two games with roles swapped", source=CODE),
    },
    variants={"fresh": {"cycle": (EvolveTexts(shown=0), *PLAYED)}},
)
