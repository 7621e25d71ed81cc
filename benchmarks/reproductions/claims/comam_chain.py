"""CoMAM: a chain whose profiler is paid for length learns to be right by a share of the outcome."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import Micro, world
from coevo.envs.core.protocol import One, Pay, Protocol

WORK = {
    "extractor_0": {"fact": 0.8, "story": 0.2},
    "profiler_0": {"short": 0.4, "long": 0.5},
    "answerer_0": {"named": 0.8, "any": 0.2},
}
"""Seat -> what it may do, the useful move first, and what its own grader pays for that."""


class MemoryChain(Micro[Any]):
    """Three seats work one after the other; the answer is right if each does the useful thing."""

    env_id = "coevo/memory_chain-v0"
    about = "Keep in mind what a user said."
    seats = tuple(WORK)
    payoff_range = (0.0, 1.0)
    components = ("local",)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        local, useful = dict[str, float](), list[bool]()
        for seat, graded in WORK.items():
            said = yield One(seat, terse=f"{seat}?", moves=list(graded))
            local[seat] = graded[said]
            useful.append(said == next(iter(graded)))
        yield Pay(local, "local")
        yield Pay(dict.fromkeys(WORK, float(all(useful))))


raw_env, env = world(
    MemoryChain, "a chain with a grader that misleads", kind="cooperative", seats=3
)


def _measure(end: Trained) -> dict[str, float]:
    """Return the exact probability of a right answer, and of the profiler's useful move."""
    useful = [float(end.learnt(seat.partition("_")[0])[f"{seat}?"][0]) for seat in WORK]
    return {"right": float(np.prod(useful)), "short": useful[1]}


CLAIM = Claim(
    property="""In a chain whose middle seat is graded for length, seats that learn from their own
        grades alone end with wrong answers, and with a share of the outcome with right ones.""",
    source="""Mao et al. 2026, CoMAM, arXiv 2603.12631 (local rewards, and the outcome weighed by
        rank consistency); the chain, its grades and the bounds are ours""",
    minutes=2.0,
    on="toy",
    setting="""Three seats with two moves each and a table each; their grades are 0.8 for the useful
        move and 0.2 for the other, but for the profiler, 0.4 for the useful one and 0.5 for the
        other. The outcome is 1 if all three are useful. `comam` and its variants: 256 episodes in
        groups of 8, 60 updates of plain gradients of size 2.""",
    measured="Exact probabilities of a right answer and of the profiler's useful move at the end.",
    theory="""Where the others are right, a profiler's useful move earns 0.4 + w and the other 0.5;
        w is at least 0.16 for three seats.""",
    chosen="Sizes and grades, before anything was run.",
    limits="A toy: that the weights are better than equal ones is measured, and not expected.",
    world=World(MemoryChain.env_id, 60),
    changes={**PLAIN, "optim.lr": 2.0},
    arms={
        "comam": Arm("comam"),
        "local": Arm("comam:local_only"),
        "equal": Arm("comam:unweighted"),
    },
    measure=_measure,
    expect=(
        Expect("right, CoMAM", "comam.right", low=0.8),
        Expect("right, own grades alone", "local.right", high=0.2),
        Expect("right, equal shares", "equal.right"),
        Expect("profiler useful, CoMAM", "comam.short"),
        Expect("profiler useful, equal shares", "equal.short"),
        Expect("right, CoMAM - own grades alone", "comam.right - local.right", low=0.6),
    ),
)
