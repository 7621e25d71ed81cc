"""Digital Red Queen: programs evolve against the champions of all earlier rounds.

An outer loop without gradients, for Core War (`coevo/core_war-v0`, `warriors=1`). A round is
MAP-Elites over programs (length by distinct opcodes): the share of the core that a program has
among all opponents together is its fitness. The champion of a round is an opponent in the later
ones, and each round begins with an empty grid, in which new programs, the first opponent and the
champions are placed.

The mutator of the source is a language model, gpt-4.1-mini. Here random edits are the default.
`written` asks the policy of the run, or any agent that `cycle.challenge.mutate.agent` names; its
prompt is inferred, as that of the source was not read. `last` remembers one champion, `fixed` none,
`identity` copies.

The source bins by spawned processes and covered addresses; the environment has both (`spawned`,
`covered`), and they cost nothing here. Fitness is the source's divided by the number of warriors.
Left out: its end of a round at a fitness of 0.8, which is below an equal share of 1 there.
"""

from coevo.trainers import parts as p

CODE = "released code"
IMP = "MOV 0, 1"
SPAWNED, COVERED = (1, 10, 100, 1000, 10000), (10, 100, 500, 1000, 4000)
CHEAPER = "random edits cost nothing, and the pocket core has 400 addresses"

ALGORITHM = p.Algorithm(
    name="drq",
    summary="programs evolve on a grid against the champions of all earlier rounds; no gradients",
    paper="Kumar et al. 2026, Digital Red Queen, arXiv 2601.03335",
    formula=r"F_i = \sum_t \frac{1}{T} \frac{\text{alive}_i(t)}{\sum_j \text{alive}_j(t)} \\ "
    r"w_r = \argmax_w \mean F_w(w, w_0, \dots, w_{r-1})",
    status="inferred",
    shows="with random edits generality is not reproduced; see its claim",
    reproductions=("drq_generality",),
    usage="--env coevo/core_war-v0 --env-option warriors=1",
    cycle=(p.Challenge(first=(IMP,)),),
    collect=p.CollectConfig(episodes=1),
    advantage=p.AdvantageConfig(baseline=p.NoBaseline(), normalise=p.NoNormalisation()),
    published={
        "cycle.challenge.mutate": p.Published("gpt-4.1-mini at temperature 1", CODE, CHEAPER),
        "cycle.challenge.by.edges": p.Published(
            (SPAWNED, COVERED), CODE, "by length and opcodes, for a small core"
        ),
        "cycle.challenge.remember": p.Published(20, CODE),
        "cycle.challenge.begin": p.Published(8, CODE),
        "cycle.challenge.fresh": p.Published(0.1, CODE),
        "cycle.challenge.tasks": p.Published(20, CODE),
    },
    variants={
        "written": {"cycle.challenge.mutate": p.RewriteProgram()},
        "last": {"cycle.challenge.remember": 1},
        "fixed": {"cycle.challenge.remember": 0},
        "identity": {"cycle.challenge.mutate": p.Identity()},
    },
)
