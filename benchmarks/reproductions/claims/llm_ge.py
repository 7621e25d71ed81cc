"""LLM-guided evolution: a front of networks that never shrinks, and is wider than drawn ones."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from statistics import fmean

from coevo.benchmarks.reproductions.claim import Claim, Expect, Found
from coevo.benchmarks.reproductions.run import Arm, World, trained
from coevo.trainers.archive.selectors import area
from coevo.trainers.loop import UpdateResult
from coevo.trainers.run import Run
from coevo.trainers.steps.evolve_front import OF

FIRST, CHILDREN, LAYERS = 32, 8, 8
GENERATIONS = FIRST // CHILDREN + 30
"""Updates: those of the first programs, then 30 of their children."""
CHANCE = (0.1, 0.0)
"""The point that areas are measured from: a guess among ten classes, the most parameters."""


def _area(run: Run, done: UpdateResult) -> float:
    return area([a.objectives for a in run.archive.living("program", OF)], CHANCE)


WORLD = World(
    "coevo/improve_program-v0", GENERATIONS, {"problem": "layers", "size": LAYERS}, watch=_area
)


def searched(begin: int = FIRST) -> Callable[[int], dict[str, float]]:
    """Return what measures a search whose first programs have no parents."""

    def measure(seed: int) -> dict[str, float]:
        changes = {"cycle.evolve_front.begin": begin, "cycle.evolve_front.children": CHILDREN}
        with trained(WORLD, Arm("llm_ge", changes), seed) as end:
            front = end.run.archive.living("program", OF)
            return {
                "area": end.seen[-1],
                "third": end.seen[GENERATIONS // 3 - 1],
                "fallen": float(sum(b < a for a, b in pairwise(end.seen))),
                "front": end.log[-1]["front"],
                "accuracy": max(a.weight for a in front),
            }

    return measure


def _ahead(found: Found) -> list[float]:
    pairs = zip(found["evolved"]["area"], found["random"]["area"], strict=True)
    return [fmean(evolved > drawn for evolved, drawn in pairs)]


CLAIM = Claim(
    property="""A front of programs that are mated and changed never holds less than before, and in
        the end holds more than that of as many programs drawn at random.""",
    source="""Morris, Jurado and Zutty 2024, LLM Guided Evolution, arXiv 2403.11446 (variants of
        ExquisiteNetV2 of higher accuracy, and smaller ones, with a language model); bounds are
        ours""",
    minutes=0.5,
    on="scripted",
    setting=f"""`coevo/improve_program-v0`, layers: programs return up to {LAYERS} layers of a kind
        and a width, worth an accuracy by a formula and as much thrift as they have few parameters,
        on a logarithmic scale. `llm_ge` as it is: a grammar in the place of the language model,
        {FIRST} programs that are drawn, then 240 children in 30 generations; 44 programs live. The
        control draws all {GENERATIONS * CHILDREN}.""",
    measured="""Area that the front dominates, above chance and the most parameters, in the end and
        after a third of the generations; generations at which it was smaller than before; how many
        are on the front, and the best accuracy.""",
    chosen="""The formula and the numbers of the source, before anything was run. At first the 32
        counted among 240, and the bounds were .02 and ahead in nine of ten seeds: .023 with a
        standard error of .006, and 11 of 12. Now they come before the 240, as in the source, and
        the bound is that of the property, more than nothing.""",
    limits="""That the area never falls is selection at work as long as the front has no more than
        44 programs. Nothing is said of language models, or of the Evolution of Thought.""",
    note="""over twelve seeds the area is .365 against .334, ahead in each; the difference is .031
        with a standard error of .006. After ten of the 34 updates it is still behind""",
    seeds=12,
    arms={"evolved": searched(), "random": searched(GENERATIONS * CHILDREN)},
    expect=(
        Expect("evolved: area", "evolved.area"),
        Expect("evolved: area after a third", "evolved.third"),
        Expect("evolved: programs on the front", "evolved.front"),
        Expect("evolved: best accuracy", "evolved.accuracy"),
        Expect("random: area", "random.area"),
        Expect("random: best accuracy", "random.accuracy"),
        Expect("generations at which it fell", "evolved.fallen", high=0.0),
        Expect("area: evolved minus random", "evolved.area - random.area", low=0.0),
        Expect("share of seeds in which it is ahead", _ahead),
    ),
)
