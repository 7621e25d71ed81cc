"""Stages of difficulty: short chains of facts first, and hard tasks of earlier stages again."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World, sized
from coevo.benchmarks.reproductions.worlds import SEAT, Micro, numbered, world
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.trainers.schedules import Steps

FACTS, ANSWERS, HARDEST = 8, 5, 4
UPDATES, EPISODES = 120, 64


class FactChain(Micro[Any]):
    """As many facts as the difficulty says are asked; all answers must be right."""

    env_id = "coevo/fact_chain-v0"
    about = "Answer every question."
    seats = (SEAT,)
    payoff_range = (0.0, 1.0)

    @property
    def difficulties(self) -> Sequence[float]:
        return [float(length) for length in range(1, HARDEST + 1)]

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        length = int(options.get("difficulty", HARDEST))
        right = True
        for fact in rng.choice(FACTS, length, replace=False).tolist():
            said = yield One(SEAT, terse=f"fact {fact}", moves=numbered(ANSWERS))
            right &= int(said) == fact % ANSWERS
        yield Pay({SEAT: float(right)})


raw_env, env = world(FactChain, "facts that are asked in chains", kind="cooperative", seats=1)


def chances(end: Trained) -> dict[str, float]:
    """Return the probability that a chain of every length is right, over all chains."""
    known, even = end.learnt(), 1 / ANSWERS
    right_F = [
        float(known[f"fact {f}"][f % ANSWERS]) if f"fact {f}" in known else even
        for f in range(FACTS)
    ]
    sums = np.zeros(HARDEST + 1)  # elementary symmetric sums: of all sets of facts, products
    sums[0] = 1.0
    for p in right_F:
        sums[1:] += p * sums[:-1]
    counts = [1.0]
    for n in range(HARDEST):
        counts.append(counts[-1] * (FACTS - n) / (n + 1))
    return {f"right{n}": float(sums[n] / counts[n]) for n in (1, HARDEST)} | {
        "turns": sum(EPISODES * float(update["turns"]) for update in end.log) / 1000
    }


STAGES = {
    "collect.up_to": 0.25,
    "schedules": {"collect.up_to": Steps(values=(0.5, 0.75, 1.0), every=UPDATES // 4)},
}

CLAIM = Claim(
    property="""At equal episodes, chains that grow in stages are answered better at full
        length than chains of all lengths from the start, and these better than full-length
        chains alone.""",
    source="""Nong et al. 2025, CRAFT-GUI, arXiv 2508.11360 (levels up to a bound that rises); Wan
        et al. 2025, QwenLong-L1, arXiv 2505.17667 (hard tasks of earlier phases again, weight
        ours); neither has a figure for this world""",
    minutes=1.0,
    on="toy",
    setting=f"""{FACTS} facts with {ANSWERS} answers each, asked in chains of 1 to {HARDEST}; a
        chain pays 1 if all answers are right. Tables, {UPDATES} updates of {EPISODES} episodes in
        groups of 8, a bound that rises in four stages. Controls: all lengths from the start; the
        longest alone.""",
    measured="""Exact probability that a chain of 4, or a single fact, is answered right, over all
        chains; thousands of turns played.""",
    limits="A table shares facts between lengths wholly; a language model does in part.",
    chosen="Sizes, the rate and the stages, of equal length.",
    world=World(FactChain.env_id, UPDATES, maker=lambda seed: sized(FACTS, ANSWERS)),
    changes={**PLAIN, "collect.episodes": EPISODES, "optim.lr": 2.0},
    arms={
        "staged": Arm("craft_gui", STAGES),
        "retro": Arm("qwen_long", STAGES),
        "mixed": Arm("craft_gui", {"collect.up_to": 1.0, "schedules": {}}),
        "longest": Arm(
            "craft_gui",
            {"collect.up_to": None, "schedules": {}, "collect.options": {"difficulty": HARDEST}},
        ),
    },
    measure=chances,
    expect=(
        Expect("right at 4, stages", "staged.right4"),
        Expect("right at 4, stages and hard tasks again", "retro.right4"),
        Expect("right at 4, all lengths", "mixed.right4"),
        Expect("right at 4, the longest alone", "longest.right4"),
        Expect("stages minus all lengths", "staged.right4 - mixed.right4", low=0.0),
        Expect("all lengths minus the longest", "mixed.right4 - longest.right4", low=0.1),
        Expect("hard again minus stages", "retro.right4 - staged.right4"),
        Expect("thousands of turns, stages", "staged.turns"),
        Expect("thousands of turns, all lengths", "mixed.turns"),
    ),
)
