"""rStar-Math: a tree search writes the traces that a policy imitates, in rounds (2501.04519).

A search over steps plays every task, here with random play to its end (`mcts:48`: 48 plays in the
mind before each step, 12 children at a place, c = 2). The best of its traces of a task that succeed
are imitated. An update is a round.

Left out: the policy and the preference model inside the search, which the source trains on pairs of
steps and puts in the place of random play, so that each round searches better; the code that
verifies steps is the environment. Variant `unsearched`, the control: random play writes the traces,
and those that succeed are imitated.
"""

from coevo.trainers import parts as p

CODE = "released code (rStar-Math)"


def _imitating(by: str) -> tuple[p.AnyStep, ...]:
    return (
        p.Demonstrate(by=by),
        p.BuildBatch(),
        p.MakeItems(to=p.Best(above=0.5)),
        p.Update(losses=(p.Sft(),)),
    )


ALGORITHM = p.Algorithm(
    name="rstar",
    summary="a tree search over steps writes traces; the successful ones are imitated",
    paper="Guan et al. 2025, rStar-Math, arXiv 2501.04519",
    formula=r"a = \argmax Q(s, a) + c \sqrt{\ln N(s) / N(s, a)}, \quad L = -\log \pi(y^*), \quad "
    r"y^* \text{ a trace of the search that succeeds}",
    status="table",
    shows="the search and one policy that imitates it; nothing learnt enters the search",
    reproductions=("make24_search",),
    cycle=_imitating("mcts:48"),
    collect=p.CollectConfig(episodes=64, group_size=2),
    advantage=p.AdvantageConfig(baseline=p.NoBaseline(), normalise=p.NoNormalisation()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "collect.group_size": p.Published("16 searches; the best 2 traces are kept", CODE, p.CHEAP),
        "optim.lr": p.Published(7e-6, CODE, p.SMALL),
    },
    variants={"unsearched": {"cycle": _imitating("random")}},
)
