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

from coevo.trainers import parts as p

CODE = "paper and released code"
PLAYED = (p.InjectText(by=p.Deal()), p.Collect(), p.WeighArtifacts(rate=1.0))

ALGORITHM = p.Algorithm(
    name="cultural_evolution",
    summary="strategies in words; the better half survive, newcomers write variants; no gradients",
    paper="Vallinder and Hughes 2024, Cultural Evolution of Cooperation, arXiv 2412.10270",
    formula=r"w_j = \mean \text{ payoff under strategy } j \\ j' \sim \LM(\text{better half}, w)",
    status="scripted",
    shows="a program plays twelve sentences; a longer trace does not help, as in the source",
    reproductions=("cultural_evolution",),
    cycle=(p.EvolveTexts(), *PLAYED),
    collect=p.CollectConfig(episodes=1),
    advantage=p.AdvantageConfig(baseline=p.NoBaseline(), normalise=p.NoNormalisation()),
    published={
        "cycle.evolve_texts.keep": p.Published(0.5, CODE),
        "cycle.evolve_texts.shown": p.Published(6, CODE),
        "collect.episodes": p.Published("two games with roles swapped", CODE),
    },
    variants={"fresh": {"cycle": (p.EvolveTexts(shown=0), *PLAYED)}},
)
