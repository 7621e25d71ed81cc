"""Adversarial minority: one seat of four learns to keep the others from agreeing."""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from coevo.agents.registry import scripted
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World, played, sized
from coevo.benchmarks.reproductions.worlds import Micro, world
from coevo.envs.core.config import config, real
from coevo.envs.core.protocol import One, Pay, Protocol

ADVERSARY, VICTIMS, OPTIONS, ROUNDS, COPY = "adversary_0", 3, 3, 6, 0.9
NAMES = tuple(f"option {n}" for n in range(OPTIONS))
UPDATES, LAST = 50, 10
"""Updates, and those at the end over which the team is measured."""


@config
class ConsensusConfig:
    """What a consensus takes."""

    influence: Annotated[float, real(0)] = 0.0
    """Bonus of the adversary for a split of the others, beside their failure."""


class Consensus(Micro[ConsensusConfig]):
    """Three members copy the majority of all four votes; the fourth is paid if they disagree."""

    env_id = "coevo/consensus-v0"
    config_class = ConsensusConfig
    about = "Keep the others from agreeing."
    seats = (ADVERSARY,)
    payoff_range = (-float(ROUNDS), 1.0 * ROUNDS)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        votes = [int(v) for v in rng.integers(OPTIONS, size=VICTIMS)]
        self.agreed: list[bool] = []
        for _ in range(ROUNDS):
            counts = " ".join(str(votes.count(n)) for n in range(OPTIONS))
            said = yield One(ADVERSARY, terse=f"Votes {counts}", moves=NAMES)
            every = Counter([*votes, NAMES.index(said)])
            most = max(every.values())
            leading = [n for n, count in every.items() if count == most]
            votes = [
                int(rng.choice(leading if rng.random() < COPY else OPTIONS)) for _ in range(VICTIMS)
            ]
            self.agreed.append(len(set(votes)) == 1)
            split = 1 - max(Counter(votes).values()) / VICTIMS
            yield Pay({ADVERSARY: -float(self.agreed[-1]) + self.config.influence * split})

    def outcome(self) -> dict[str, float]:
        return {"agreement": float(np.mean(self.agreed or [False]))}


raw_env, env = world(Consensus, "three agree, the fourth prevents it", kind="mixed", seats=1)


WORLD = World(Consensus.env_id, UPDATES, maker=lambda seed: sized(32, OPTIONS))


def _measure(end: Trained) -> dict[str, float]:
    return {"agreement": end.last(LAST, "outcome/agreement")}


CLAIM = Claim(
    property="""One adversary among four lowers the agreement of the others below what a random
        seat does.""",
    source="""Li et al. 2023, adversarial minority influence, arXiv 2302.03322 (an adversary
        whose victims are frozen; influence beside their failure); bounds are ours""",
    minutes=4.0,
    on="toy",
    setting=f"""Three members vote on {OPTIONS} options in {ROUNDS} rounds; each copies the majority
        of all four votes of the round before with probability {COPY}, and breaks ties for itself;
        else it votes at random. The fourth seat is a table that sees the members' votes and learns
        by `reinforce`, {UPDATES} updates of 64 episodes, 3,200 in all; it is paid -1 for each round
        in which the three agree. The bonus is .3 x (1 - the largest share of their votes).""",
    measured=f"Share of rounds in which the three agree, over the last {LAST} updates.",
    chosen="""Sizes, those of an earlier sketch, which found .771 beside a random seat, .609 and
        .586 beside adversaries without and with the bonus; who counts as agreeing, and how ties
        break, was not written down there. Bounds before anything was run. A first world in which
        all broke a tie alike left an adversary no influence; steps of size 1 and 20, before that
        was seen, taught nothing.""",
    limits="""A bonus for influence lowers it no further here (.0002, three seeds). It stands for
        the influence that the source estimates with a model of victims; members are scripts.""",
    world=WORLD,
    changes={**PLAIN, "collect.episodes": 64, "optim.lr": 20.0},
    arms={
        "random": lambda seed: played(WORLD, scripted("random"), 64 * LAST, seed),
        "adversary": Arm("reinforce"),
        "influence": Arm("reinforce", options={"influence": 0.3}),
    },
    measure=_measure,
    expect=(
        Expect("agreement beside a random seat", "random.agreement"),
        Expect("agreement beside an adversary", "adversary.agreement"),
        Expect("agreement beside one with the bonus", "influence.agreement"),
        Expect("harm of the adversary", "random.agreement - adversary.agreement", low=0.05),
        Expect("further harm by the bonus", "adversary.agreement - influence.agreement"),
    ),
)
