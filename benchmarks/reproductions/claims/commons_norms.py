"""Norms of a commons: imitation of those who do well spreads greed, and punishment holds it up."""

from collections.abc import Callable, Mapping
from statistics import fmean
from typing import Any

from coevo.agents.load import load_agent
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

ENV, VILLAGES = "coevo/commons_norms-v0", 24
TWELVE: dict[str, Any] = {"prompt_style": "terse", "seasons": 12}


def villages(**options: Any) -> Callable[[int], Mapping[str, float]]:
    """Return what lets villages of norm followers live, and gives their means."""

    def measure(seed: int) -> Mapping[str, float]:
        seated = {f"villager_{i}": "follower" for i in range(4)}
        specs = [EpisodeSpec(VILLAGES * seed + k, seated) for k in range(VILLAGES)]
        follower = {"follower": load_agent("norm_follower")}
        played = rollout(ENV, specs, follower, {**TWELVE, **options})
        return {key: fmean(e.outcome[key] for e in played) for key in ("norm", "lasted", "fed")}

    return measure


CLAIM = Claim(
    property="""Where nobody is told what catching is worth, learning norms from those who have more
        spreads the norm of who takes most and ends the commons, and punishment by norms slows
        that.""",
    source="""Gupta et al. 2025, arXiv 2510.14401 (payoff-biased social learning, punishment, rich
        and scarce starts; only the abstract was read: no figure of it is used)""",
    minutes=1.0,
    on="scripted",
    setting="""`coevo/commons_norms-v0`, four villagers, 12 seasons, 24 villages for each seed; half
        of the norms allow one day of fishing and half three. All are played by `norm_follower`,
        which fishes as long as its norm allows, punishes who fished longer, and adopts every norm
        of one with more in store. Arms: no learning and no punishment; learning alone; both; both,
        from a scarce lake, with its control.""",
    measured="""Mean norm at the end, in days (2 at the start), the share of lakes with fish left,
        and the share of seasons with enough to eat.""",
    limits="""The villagers are scripts. That models of language come to norms of their own is the
        paper's subject and is not shown.""",
    chosen="""What a punishment takes (6 baskets; 4 was too little to hold a rich lake), how much
        can be stored (two seasons) and how much is eaten, after a look at 24 villages each. Bounds
        of the differences were set after that look.""",
    arms={
        "neither": villages(learn=0.0, sanctions=None),
        "learning": villages(sanctions=None),
        "both": villages(),
        "scarce": villages(stock="scarce"),
        "scarce_learning": villages(stock="scarce", sanctions=None),
    },
    expect=(
        Expect("norm at the end, nothing", "neither.norm", 2.0, low=1.8, high=2.2),
        Expect("norm, learning alone", "learning.norm", low=2.7),
        Expect("norm, learning and punishment", "both.norm"),
        Expect("norm: learning alone minus both", "learning.norm - both.norm", low=0.3),
        Expect("lakes that last, nothing", "neither.lasted"),
        Expect("lakes that last, learning alone", "learning.lasted", high=0.1),
        Expect("lakes that last, both", "both.lasted"),
        Expect("lakes: both minus learning alone", "both.lasted - learning.lasted", low=0.2),
        Expect("scarce: both minus learning", "scarce.lasted - scarce_learning.lasted", low=0.1),
        Expect("scarce: enough to eat, both", "scarce.fed"),
        Expect("scarce: enough to eat, learning alone", "scarce_learning.fed"),
    ),
)
