"""Harvest: four who learn alone eat more and more, until they eat their commons bare."""

from collections.abc import Sequence
from statistics import fmean

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import NETS, Arm, Trained, World
from coevo.trainers import components as c

ENV, STEPS = "coevo/harvest-v0", 80
MAP = """
############
#P........P#
#..AAAAAA..#
#..AAAAAA..#
#..AAAAAA..#
#..AAAAAA..#
#..AAAAAA..#
#P........P#
############"""
UPDATES, EPISODES, WINDOW = 70, 6, 5


def smoothed(values: Sequence[float]) -> list[float]:
    """Return the mean of every so many values in a row.

    >>> smoothed([1, 2, 3, 4, 5, 6])
    [3.0, 4.0]
    """
    return [fmean(values[k : k + WINDOW]) for k in range(len(values) - WINDOW + 1)]


def _measure(end: Trained) -> dict[str, float]:
    eaten, lasted, left = (
        smoothed([float(update[f"outcome/{name}"]) for update in end.log])
        for name in ("efficiency", "sustainability", "left")
    )
    return {
        "first": eaten[0],
        "best": max(eaten),
        "last": eaten[-1],
        "lasted_first": lasted[0],
        "lasted_last": lasted[-1],
        "left": left[-1],
    }


CLAIM = Claim(
    property="""Four harvesters that learn by themselves eat more at first and then less, as the
        orchard is bare ever sooner; one alone in the same orchard learns to eat more and more.""",
    source="""Perolat et al. 2017, arXiv 1707.06600 (common-pool resource: efficiency rises and
        falls, sustainability falls); only the signs are claimed""",
    minutes=12.0,
    seeds=3,
    on="net",
    setting=f"""`coevo/harvest-v0`, 12 by 9 cells with an orchard of 30, quick regrowth, {STEPS}
        steps; `turn_ppo` with a network of two layers of 32 units for each seat, discount .97 a
        step, a bonus on entropy of .01; {UPDATES} updates of {EPISODES} episodes.""",
    measured=f"""Apples of all seats per step (efficiency), the mean step at which an apple is eaten
        (sustainability), and the share of places with an apple at the end, in the first and the
        last {WINDOW} updates, and the most that was eaten in {WINDOW} updates in a row.""",
    limits="""A network of numbers in the place of pictures, hundreds of episodes in the place of
        thousands, and a small orchard.""",
    chosen="""The orchard, by scripted players before anything was trained: four that go to the
        nearest apple in none, .4 or all of their moves eat .5, 1.0 and .4 a step, one alone .2, .4
        and .9. Updates, after a look at another seed, in which 40 updates were too few to see the
        end of the fall (.44 a step, 1.23, 1.05). The bounds were set before: a third more at the
        most than at first, a fifth less at the end than at the most; alone no tenth less.""",
    world=World(
        ENV,
        UPDATES,
        options={"steps": STEPS, "map": MAP},
        settings={"model": "net:hidden=32", "threads": 1},
    ),
    changes={
        **NETS,
        "population": "separate",
        "collect.episodes": EPISODES,
        "advantage.credit.gamma": 0.97,
        "loss.regularise": (c.Entropy(coef=0.01),),
    },
    arms={
        "four": Arm("turn_ppo", options={"harvesters": 4}),
        "alone": Arm("turn_ppo", options={"harvesters": 1}),
    },
    measure=_measure,
    expect=(
        *(
            Expect(f"{arm}: {label}", f"{arm}.{name}")
            for arm in ("four", "alone")
            for label, name in (
                ("apples a step, first", "first"),
                ("apples a step, at most", "best"),
                ("apples a step, last", "last"),
                ("mean step of an apple, first", "lasted_first"),
                ("mean step of an apple, last", "lasted_last"),
                ("apples left at the end", "left"),
            )
        ),
        Expect("four: most over first", "four.best / four.first", low=4 / 3),
        Expect("four: last over most", "four.last / four.best", high=0.8),
        Expect(
            "four: sustainability, last over first",
            "four.lasted_last / four.lasted_first",
            high=0.8,
        ),
        Expect("alone: last over most", "alone.last / alone.best", low=0.9),
    ),
)
