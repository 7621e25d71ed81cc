"""A2FM: forced episodes of every mode, and a cost where the cheap one does, route questions."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import SGD, Arm, Trained, World, sized
from coevo.benchmarks.reproductions.worlds import SEAT, Micro, numbered, world
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.trainers.algorithms.a2fm import MODES

TOKENS = (1.0, 8.0, 20.0)
"""Cost of every mode."""
ANSWERS, SUMS = 4, 0.7
UPDATES = 80


class ModeRouter(Micro[Any]):
    """A sum is answered in any mode; a fact is found in the agentic mode alone."""

    env_id = "coevo/mode_router-v0"
    about = "Choose a mode, then answer."
    seats = (SEAT,)
    payoff_range = (0.0, 1.0)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        kind = "sum" if rng.random() < SUMS else "fact"
        right = int(rng.integers(ANSWERS))
        mode = yield One(SEAT, terse=f"{kind}: which mode?", moves=MODES)
        seen = f" {right}" if kind == "sum" or mode == MODES[-1] else ""
        said = yield One(SEAT, terse=f"{kind}{seen}?", moves=numbered(ANSWERS))
        yield Pay({SEAT: float(int(said) == right)})


raw_env, env = world(ModeRouter, "a router of modes", kind="cooperative", seats=1)


def routed(end: Trained) -> dict[str, float]:
    """Return the exact accuracy, and tokens for every right answer, of free episodes."""
    known = end.learnt()

    def odds(prompt: str, count: int) -> np.ndarray:
        row = known.get(prompt)
        return np.full(count, 1 / count) if row is None else np.asarray(row[:count])

    found = {
        kind: np.mean([odds(f"{kind} {a}?", ANSWERS)[a] for a in range(ANSWERS)])
        for kind in ("sum", "fact")
    }
    right, spent = 0.0, 0.0
    for kind, share in (("sum", SUMS), ("fact", 1 - SUMS)):
        p_M = odds(f"{kind}: which mode?", len(MODES))
        blind = 1 / ANSWERS if kind == "fact" else found[kind]
        right += share * float(p_M @ [blind, blind, found[kind]])
        spent += share * float(p_M @ TOKENS)
    instant = float(odds("sum: which mode?", len(MODES))[0])
    return {"right": right, "tokens": spent / right, "instant": instant}


CLAIM = Claim(
    property="""With forced episodes of every mode and a cost where the instant mode does, a right
        answer costs over 30 % fewer tokens than without both, and as many answers are right.""",
    source="""Chen et al. 2025, A2FM, arXiv 2510.12838 (adaptive policy optimisation; the form of
        the cost is ours); the bounds are ours""",
    minutes=1.5,
    on="toy",
    setting=f"""{SUMS:.0%} sums, which are learnt in any mode, and facts, which the agentic mode
        alone shows; modes cost 1, 8 and 20 tokens. Tables, {UPDATES} updates of 128 episodes in
        groups of 16, of which two are forced in each mode. Controls: no forced episodes; GRPO
        without them and without the cost.""",
    measured="""Exact accuracy of free episodes, tokens for every right answer, probability of the
        instant mode for sums.""",
    limits="""A mode is a move and its tokens are a number; nobody reasons. The cost
        alone does it here: without forced episodes as few tokens are used.""",
    chosen="Shares, costs in tokens, the rate and sizes.",
    world=World(ModeRouter.env_id, UPDATES, maker=lambda seed: sized(12, ANSWERS)),
    changes={**SGD, "collect.episodes": 128, "optim.lr": 2.0},
    arms={
        "forced": Arm("a2fm"),
        "free": Arm("a2fm:free"),
        "plain": Arm("a2fm:costless"),
    },
    measure=routed,
    expect=(
        Expect("tokens a right answer, forced", "forced.tokens"),
        Expect("tokens, no forced episodes", "free.tokens"),
        Expect("tokens, GRPO", "plain.tokens"),
        Expect("tokens, forced over GRPO", "forced.tokens / plain.tokens", high=0.7),
        Expect("accuracy, forced", "forced.right"),
        Expect("accuracy, forced minus GRPO", "forced.right - plain.right", low=-0.03),
        Expect("P(instant) for sums, forced", "forced.instant", low=0.9),
    ),
)
