"""A greedy objective explores, if what it finds recurs and is remembered."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect, near
from coevo.benchmarks.reproductions.run import QUICKLY, Arm, Trained, World, sized
from coevo.benchmarks.reproductions.worlds import SEAT, Micro, numbered, world
from coevo.envs.core.config import config, whole
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.trainers import components as c

PULLS, STATES, UPDATES, LAST = 6, 126, 50, 20
MOVES = numbered(2)
Counts = tuple[tuple[int, int], tuple[int, int]]
"""Arm by arm: how often it paid, and how often it did not."""
NEW: Counts = ((0, 0), (0, 0))


@config
class RecurringBanditConfig:
    """Arguments of the bandit."""

    pulls: Annotated[int, whole(2, 20)] = PULLS
    """Pulls of an episode."""
    memory: bool = True
    """Whether the seat sees how often every arm has paid."""
    recurring: bool = True
    """Whether arms keep their chances for an episode; else each pull draws new ones."""


class RecurringBandit(Micro[RecurringBanditConfig]):
    """Two arms that pay 1 with chances drawn evenly from 0 to 1, pulled several times."""

    env_id = "coevo/recurring_bandit-v0"
    config_class = RecurringBanditConfig
    about = "Pull an arm."
    seats = (SEAT,)

    def __init__(self, config: RecurringBanditConfig) -> None:
        super().__init__(config)
        self.payoff_range = (0.0, float(config.pulls))

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        counts, chances = NEW, rng.random(2)
        for _ in range(self.config.pulls):
            if not self.config.recurring:
                chances = rng.random(2)
            terse = name(counts) if self.config.memory else "Pull"
            arm = int((yield One(SEAT, terse=terse, moves=MOVES)))
            paid = bool(rng.random() < chances[arm])
            counts = after(counts, arm, paid)
            yield Pay({SEAT: float(paid)})


raw_env, env = world(RecurringBandit, "two arms, pulled several times", kind="cooperative", seats=1)


def name(counts: Counts) -> str:
    """Return how counts are shown."""
    return ", ".join(f"{won} of {won + lost}" for won, lost in counts)


def after(counts: Counts, arm: int, paid: bool) -> Counts:
    """Return the counts after a pull."""
    won, lost = counts[arm]
    new = (won + paid, lost + (not paid))
    return (new, counts[1]) if arm == 0 else (counts[0], new)


def value(odds: Callable[[Counts, tuple[float, float]], float], pulls: int = PULLS) -> float:
    """Return the exact expected reward of a player in an episode where chances stay.

    After s successes in n pulls an arm pays with probability (s + 1) / (n + 2).

    Args:
        odds: chance of the second arm, from the counts and what either arm is worth from here on.
        pulls: of the episode.
    """

    @functools.lru_cache(maxsize=4096)
    def worth(counts: Counts, left: int) -> float:
        if not left:
            return 0.0
        arms = []
        for arm, (won, lost) in enumerate(counts):
            chance = (won + 1) / (won + lost + 2)
            then = [worth(after(counts, arm, paid), left - 1) for paid in (True, False)]
            arms.append(chance * (1 + then[0]) + (1 - chance) * then[1])
        second = odds(counts, (arms[0], arms[1]))
        return (1 - second) * arms[0] + second * arms[1]

    return worth(NEW, pulls)


def optimal(counts: Counts, worth: tuple[float, float]) -> float:
    """Choose what is worth more over all pulls that are left."""
    return float(worth[1] > worth[0])


def myopic(counts: Counts, worth: tuple[float, float]) -> float:
    """Choose the arm that is expected to pay more now; equal ones by chance."""
    mean = [(won + 1) / (won + lost + 2) for won, lost in counts]
    return 0.5 if mean[0] == mean[1] else float(mean[1] > mean[0])


def _measure(end: Trained) -> dict[str, float]:
    """Return what was earned at the end, the exact value, and what a first loss changes."""
    learnt = end.learnt()

    def second(counts: Counts) -> float:
        row = learnt.get(name(counts), learnt.get("Pull"))
        return 0.5 if row is None else float(row[1])

    lost, won = (
        (second(after(NEW, 0, paid)) + 1 - second(after(NEW, 1, paid))) / 2
        for paid in (False, True)
    )
    return {
        "earned": end.last(LAST, "reward/payoff"),
        "exact": value(lambda counts, worth: second(counts)),
        "tries": lost - won,
    }


BEST, GREEDY, EVEN = value(optimal), value(myopic), PULLS / 2
OFF: dict[str, dict[str, Any]] = {
    "all": {},
    "forgets": {"memory": False},
    "changes": {"recurring": False},
}
GAMMAS = {"greedy": 0.0, "far": 1.0}
CLAIM = Claim(
    property="""A greedy objective (discount 0) tries the other arm after a loss, and earns as much
        as a far-sighted one, where arms recur and are remembered; without memory, or where arms
        change at every pull, neither earns more than a coin.""",
    source="""Rentschler and Roberts 2025, Exploitation Is All You Need... for Exploration, arXiv
        2508.01287 (the three conditions, in transformers); references: closed forms of ours,
        by dynamic programming over counts""",
    minutes=4.5,
    on="toy",
    setting=f"""Two arms that pay 1 with chances drawn evenly from 0 to 1, {PULLS} pulls an episode;
        the seat sees how often either arm has paid. A table, `turn_ppo` with lambda 0.9 and a
        table of values, {UPDATES} updates of 128 episodes.""",
    measured=f"""Exact reward of an episode in which arms recur; reward that was played in the last
        {LAST} updates; how much likelier a change of the arm is after a loss at the first pull
        than after a gain.""",
    theory="""Without memory, or without recurrence, every player earns half of the pulls.""",
    limits="""The source's agents read their history with a transformer; this is a table, whose
        memory is the counts, so that nothing is said of what a network finds in a history.""",
    chosen="""Pulls, sizes and the step size, after looks at one seed: ten pulls, 60 updates, with
        steps of 0.05 and 0.2, and six pulls, 40 updates, with steps of 0.3 and 0.8. The bounds were
        set before.""",
    world=World(RecurringBandit.env_id, UPDATES, maker=lambda seed: sized(STATES, len(MOVES))),
    changes={
        **QUICKLY,
        "rewards": (),
        "collect.episodes": 128,
        "optim.lr": 0.5,
        "optim.grad_norm": 1e9,
        "advantage.normalise": c.NoNormalisation(),
    },
    arms={
        f"{far}_{off}": Arm("turn_ppo", {"advantage.credit.gamma": gamma}, options)
        for far, gamma in GAMMAS.items()
        for off, options in OFF.items()
    },
    measure=_measure,
    expect=(
        Expect("greedy: exact reward", "greedy_all.exact", GREEDY, low=0.97 * BEST),
        Expect("far-sighted: exact reward", "far_all.exact", BEST, low=0.95 * BEST),
        Expect("greedy minus far-sighted", "greedy_all.exact - far_all.exact", low=-0.03 * BEST),
        Expect("greedy: tries the other after a loss", "greedy_all.tries", 1.0, low=0.8),
        Expect("far-sighted: tries the other", "far_all.tries", 1.0, low=0.8),
        *(
            near(f"{far}, {words}: earned", f"{far}_{off}.earned", EVEN, 0.1)
            for off, words in (("forgets", "no memory"), ("changes", "new arms"))
            for far in GAMMAS
        ),
        Expect("greedy, new arms: tries the other", "greedy_changes.tries", 0.0),
    ),
)
