"""MBTL: contexts to train in are chosen by what their policies are expected to add elsewhere."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import PLAIN, Arm, World, sized, trained
from coevo.benchmarks.reproductions.worlds import BANDIT, odds
from coevo.trainers.samplers.source_tasks import gains, next_source

CONTEXTS, SOURCES, SLOPE, FALLS, UPDATES = 25, 4, 1.0, 0.5, 60
AT = np.linspace(0, 1, CONTEXTS)
PAID: NDArray[np.float64] = 1 - FALLS * AT - SLOPE * np.abs(AT[:, None] - AT)
"""[C, A]: what every arm pays in every context."""
WORLD = World(BANDIT, UPDATES, maker=lambda seed: sized(1, CONTEXTS))
CHANGES: dict[str, Any] = {**PLAIN, "collect.episodes": 64, "optim.lr": 10.0}


@functools.lru_cache(maxsize=256)
def earned(seed: int, context: int, steps: int = UPDATES) -> NDArray[np.float64]:
    """Train a policy in one context, and return what it earns in all of them, exactly, [C]."""
    arm = Arm("reinforce", options={"payoffs": (tuple(PAID[context].tolist()),)})
    with trained(WORLD, arm, seed, CHANGES, steps) as end:
        found: NDArray[np.float64] = PAID @ odds(end.learnt(), 1, CONTEXTS)[0].numpy()
    return found


def served(seed: int, chosen: Sequence[int]) -> float:
    """Return the mean over all contexts of the best of some policies."""
    return float(np.max([earned(seed, c) for c in chosen], axis=0).mean())


def by_gain(seed: int) -> dict[str, float]:
    """Choose one context after the other by its expected gain."""
    chosen: list[int] = []
    found = {}
    for count in range(1, SOURCES + 1):
        own = [float(earned(seed, c)[c]) for c in chosen]
        gain_M = gains([AT[c] for c in chosen], own, SLOPE, AT, noise=0.02)
        chosen.append(int(np.argmin(np.abs(AT - next_source(gain_M, AT)))))
        found[f"served{count}"] = served(seed, chosen)
    return found


def by_chance(seed: int) -> dict[str, float]:
    """Return the mean of 200 draws of distinct contexts."""
    rng = np.random.default_rng([seed, 37])
    drawn = [rng.permutation(CONTEXTS)[:SOURCES].tolist() for _ in range(200)]
    counts = range(1, SOURCES + 1)
    return {f"served{n}": float(np.mean([served(seed, d[:n]) for d in drawn])) for n in counts}


def evenly(seed: int) -> dict[str, float]:
    """Space so many contexts evenly, as one can who knows their number beforehand."""
    found = {}
    for count in range(1, SOURCES + 1):
        at = (np.arange(count) + 0.5) / count * (CONTEXTS - 1)
        found[f"served{count}"] = served(seed, np.rint(at).astype(int).tolist())
    return found


CLAIM = Claim(
    property="""Four contexts that are chosen one after the other, by a Gaussian process and what is
        lost with distance, serve a family of tasks better than four at random.""",
    source="""Cho et al. 2024, MBTL, arXiv 2408.04498; references: closed forms of ours for a family
        in which all contexts pay alike""",
    minutes=2.5,
    on="toy",
    setting=f"""{CONTEXTS} bandits with {CONTEXTS} arms, both on a line from 0 to 1; in context x
        arm a pays 1 - {FALLS} a - |x - a|: what is trained on the right earns less. A table,
        `reinforce`, {UPDATES} plain gradient steps of 64 episodes in every context that is chosen;
        the slope is known.""",
    measured="""Mean over all contexts of what the best of the trained policies earns there, exact,
        after one to four of them. Random choices are 200 draws.""",
    theory="""Where J(x, x) is 1 everywhere, random choices serve 0.662, 0.797, 0.854 and 0.885,
        chosen ones 0.75, 0.833, 0.917 and 0.930, even ones 1 - 1/(4k); a quarter less here.""",
    limits="""Even spacing must know the number of sources beforehand, which the others need not. No
        record trains by it: `source_tasks` names the next context, which gets a run of its own.""",
    chosen="The family, sizes and bounds, before the figures.",
    arms={"mbtl": by_gain, "random": by_chance, "even": evenly},
    expect=(
        *(
            Expect(f"served by {count}, {words}", f"{arm}.served{count}")
            for count in (1, 2, 3, 4)
            for arm, words in (("mbtl", "chosen"), ("random", "random"), ("even", "even"))
        ),
        Expect("chosen minus random, four", "mbtl.served4 - random.served4", low=0.02),
        Expect("chosen minus even, four", "mbtl.served4 - even.served4"),
    ),
)
