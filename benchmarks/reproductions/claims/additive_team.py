"""VDN: a sum of values takes a team's reward apart that is a sum; alone, the rest is noise."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect, near
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import Micro, numbered, world
from coevo.envs.core.protocol import All, Pay, Protocol
from coevo.envs.core.task import NoArguments

CONTEXTS = 3
MOVES = numbered(CONTEXTS)
NOISE = (CONTEXTS - 1) / CONTEXTS**2
"""Variance of what the partner adds, with random moves: p (1 - p), p = 1/3."""
LAST = 10


class AdditiveTeam(Micro[NoArguments]):
    """Each seat sees a number of its own, and the team is paid 1 for each that is named."""

    env_id = "coevo/additive_team-v0"
    seats = ("player_0", "player_1")
    payoff_range = (0.0, 2.0)
    about = "Say the number that you see; both partners get the sum."

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        own = dict(zip(self.seats, rng.integers(CONTEXTS, size=2).tolist(), strict=True))
        terse = {seat: f"Number {number}" for seat, number in own.items()}
        said = yield All(self.seats, terse=terse.__getitem__, moves=MOVES)
        right = sum(said[seat] == str(own[seat]) for seat in self.seats)
        yield Pay(dict.fromkeys(self.seats, float(right)))


raw_env, env = world(AdditiveTeam, "a team reward that is a sum", kind="cooperative", seats=2)


def _measure(end: Trained) -> dict[str, float]:
    return {"error": end.last(LAST, "loss/values")}


CLAIM = Claim(
    property="""Where a team's reward is a sum of its seats' parts, VDN finds the parts and predicts
        the reward without error; independent learners keep the variance of the partner's part.""",
    source="""Sunehag et al. 2018, VDN, arXiv 1706.05296, section 3 (the decomposition); reference:
        p (1 - p) = 2/9 for a partner who is right with p = 1/3""",
    minutes=1.0,
    on="toy",
    setting="""`coevo/additive_team-v0`: each of two seats sees one of three numbers and names one;
        both are paid how many are right. One network of 32 units for both, random moves (epsilon
        1), 32 episodes an update; 60 updates of 8 steps.""",
    measured=f"Mean squared error of the values, in the last {LAST} updates.",
    chosen="Sizes, before the figures were seen.",
    world=World(AdditiveTeam.env_id, 60, settings={"model": "net:hidden=32"}),
    changes={
        "schedules": {},
        "collect.episodes": 32,
        "magnet.every": 2,
        "optim.lr": 3e-3,
    },
    arms={name: Arm(name) for name in ("iql", "vdn")},
    measure=_measure,
    expect=(
        Expect("VDN: error", "vdn.error", reference=0.0, high=0.02),
        near("independent: error", "iql.error", NOISE, 0.04),
    ),
)
