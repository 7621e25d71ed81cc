"""ScalingInter: a bound on the rounds of an episode that rises while the policy learns."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World, sized
from coevo.benchmarks.reproductions.worlds import SEAT, Micro, numbered, world
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.trainers.schedules import Steps

HOPS, LINKS, LONGEST = 4, 6, 6
UPDATES, RISING, EPISODES = 60, 84, 64


class HopChain(Micro[Any]):
    """A walk of one to four hops; a wrong link leads nowhere, and the goal pays 1."""

    env_id = "coevo/hop_chain-v0"
    about = "Follow the links to the goal."
    seats = (SEAT,)
    payoff_range = (0.0, 1.0)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        at, goal = 0, int(rng.integers(1, HOPS + 1))
        while at < goal:
            said = yield One(SEAT, terse=f"node {at}", moves=numbered(LINKS))
            at += int(said) == at
        yield Pay({SEAT: 1.0})


raw_env, env = world(HopChain, "walks of one to four hops", kind="cooperative", seats=1)


def reached(end: Trained) -> dict[str, float]:
    """Return the exact probability of four hops within six rounds, and the turns it took."""
    known = end.learnt()
    rows = [known.get(f"node {k}") for k in range(HOPS)]
    right = [1 / LINKS if row is None else float(row[k]) for k, row in enumerate(rows)]
    at = np.zeros(HOPS + 1)
    at[0] = 1.0
    for _ in range(LONGEST):
        moved = at[:-1] * right
        at[:-1] -= moved
        at[1:] += moved
    turns = sum(EPISODES * float(update["turns"]) for update in end.log)
    return {"four": float(at[HOPS]), "turns": turns / 1000}


def bound(rounds: int, *later: int) -> Mapping[str, Any]:
    """Return the settings of a bound, and of what it rises to in steps of equal length."""
    steps = Steps(values=later, every=RISING // (len(later) + 1)) if later else None
    schedules = {} if steps is None else {"collect.options.max_cycles": steps}
    return {"collect.options": {"max_cycles": rounds}, "schedules": schedules}


CLAIM = Claim(
    property="""At equal turns, a bound of 2, then 4, then 6 rounds leads to walks of four hops as
        often as a bound of 6 throughout does; under a bound of 2 they are never learnt.""",
    source="""Xi et al. 2025, AgentGym-RL, arXiv 2509.08755 (ScalingInter-RL; the bound rises
        every 100 updates); the world is ours""",
    minutes=1.0,
    on="toy",
    setting=f"""A walk of 1 to {HOPS} hops, each one of {LINKS} links; a wrong link costs a round,
        the goal pays 1. Tables, {EPISODES} episodes an update in groups of 8; {UPDATES} updates
        under a fixed bound, {RISING} under the one that rises, which plays no more turns.""",
    measured=f"""Exact probability of four hops within {LONGEST} rounds at the end; thousands of
        turns of the training.""",
    limits="""In a table nothing collapses, so the source's other half, that long episodes from
        the start peak early and fall, cannot show.""",
    theory="""Where two hops are sure and the others by chance, four within six rounds have a
        probability of 0.13.""",
    chosen="""Sizes and the rate; a third of the updates for every bound. At equal updates, the
        first setting of two, the rising bound had 70 % of the turns and 0.83 against 0.89.""",
    world=World(HopChain.env_id, UPDATES, maker=lambda seed: sized(HOPS, LINKS)),
    changes={**PLAIN, "collect.episodes": EPISODES, "optim.lr": 2.0},
    arms={
        "rising": Arm("scaling_inter", bound(2, 4, 6), steps=RISING),
        "six": Arm("scaling_inter", bound(6)),
        "two": Arm("scaling_inter", bound(2)),
    },
    measure=reached,
    expect=(
        Expect("four hops in six rounds, rising bound", "rising.four", low=0.8),
        Expect("four hops, bound of six", "six.four"),
        Expect("four hops, bound of two", "two.four", 0.13, high=0.2),
        Expect("rising minus six", "rising.four - six.four", low=-0.02),
        Expect("thousands of turns, rising over six", "rising.turns / six.turns", high=1.0),
    ),
)
