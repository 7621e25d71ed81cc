"""RAT: an adversary that edits one field of what a victim sees leads it where it wants."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np

from coevo.agents.registry import scripted
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World, played, trained
from coevo.benchmarks.reproductions.worlds import SEAT, Micro, world
from coevo.envs.core.config import config, real
from coevo.envs.core.protocol import One, Pay, Protocol

GOAL, DECOY, BEGIN, MOVES, UPDATES, LAST = 8, 0, 6, 14, 50, 10
"""Squares of the goal and the decoy, and where a walker begins; moves of an episode; updates."""
GAMES = 64 * LAST
"""Episodes of random edits."""
WAYS = ("west", "stay", "east")
SIGNS = ("normal", "reversed")


@config
class SteeredConfig:
    """What the corridor takes."""

    victim: tuple[tuple[Annotated[float, real(0, 1)], ...], ...] = ()
    """Odds of the moves of a walker, square by square and sign by sign; the seat then chooses the
    sign that it sees. Without any, the seat is the walker."""
    aim: Literal["decoy", "harm"] = "decoy"
    """What an adversary is paid for: odds of the move to the decoy, or that the walker fails."""


class Steered(Micro[SteeredConfig]):
    """A corridor in which steering is sometimes reversed, as a sign says; a goal and a decoy."""

    env_id = "coevo/steered-v0"
    config_class = SteeredConfig
    seats = (SEAT,)
    about = "Walk to the goal in the east; where steering is reversed, moves are mirrored."
    payoff_range = (-float(MOVES), 1.0)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        c = self.config
        self.at = BEGIN if c.victim else 1 + int(rng.integers(GOAL - 1))
        for left in range(MOVES, 0, -1):
            mirrored = int(rng.integers(2))
            here = f"Square {self.at}, steering {SIGNS[mirrored]}"
            if not c.victim:
                way = yield One(SEAT, terse=here, moves=WAYS)
            else:
                shown = yield One(SEAT, terse=f"{here}. Shown as?", moves=SIGNS)
                odds = np.array(c.victim[2 * self.at + SIGNS.index(shown)])
                way = WAYS[int(rng.choice(len(WAYS), p=odds / odds.sum()))]
                if c.aim == "decoy":
                    yield Pay({SEAT: float(odds[2 if mirrored else 0]) - 1})
            step = WAYS.index(way) - 1
            self.at += -step if mirrored else step
            if self.at in (GOAL, DECOY):
                if c.victim and c.aim == "decoy" and self.at == GOAL:
                    yield Pay({SEAT: 1.0 - left})  # moves that are not made are as far as can be
                break
        won = float(self.at == GOAL)
        if not c.victim or c.aim == "harm":
            yield Pay({SEAT: -won if c.victim else won})

    def outcome(self) -> dict[str, float]:
        return {"goal": float(self.at == GOAL), "decoy": float(self.at == DECOY)}


raw_env, env = world(Steered, "a corridor with a sign", kind="cooperative", seats=1)
CHANGES = {**PLAIN, "collect.episodes": 64, "collect.group_size": 8, "optim.lr": 20.0}
ALONE = World(Steered.env_id, UPDATES)


@lru_cache(maxsize=8)
def victim(seed: int) -> tuple[tuple[float, ...], ...]:
    """Return the odds of a walker that was trained where the sign is true."""
    with trained(ALONE, Arm("grpo"), seed, CHANGES) as end:
        learnt, even = end.learnt(), [1 / 3] * 3
        known = [f"Square {at}, steering {sign}" for at in range(GOAL) for sign in SIGNS]
        return tuple(tuple(map(float, learnt.get(key, even))) for key in known)


WORLD = World(Steered.env_id, UPDATES, lambda seed: {"victim": victim(seed)})


def _measure(end: Trained) -> dict[str, float]:
    return {key: end.last(LAST, f"outcome/{key}") for key in ("goal", "decoy")}


CLAIM = Claim(
    property="""An adversary that edits one field of what a walker sees, paid for how near the
        walker's odds are to those of a target behaviour, leads it to a decoy, which random edits do
        not, and one that is paid for the walker's failure does in fewer than half of the episodes.
        """,
    source="""Bai et al. 2024, RAT, arXiv 2412.10713 (targeted behaviour by perturbed
        observations); bounds are ours""",
    minutes=4.0,
    seeds=3,
    on="toy",
    setting=f"""A corridor with a decoy at square {DECOY} and a goal at {GOAL}, {MOVES} moves; at
        every move steering is normal or reversed, evenly, and a sign says which. A walker learns by
        GRPO, a table, {UPDATES} updates of 64 episodes from squares 1 to {GOAL - 1}. It then stands
        still and starts at square {BEGIN}; the adversary, a table, sees the square and the truth
        and says what sign is shown. It is paid the negative distance (total variation) of the
        walker's odds from a sure step to the decoy at every move, and -1 for each that is left when
        the goal is reached; the other one is paid -1 where the walker comes to the goal.""",
    measured=f"""Share of episodes that end at the goal and at the decoy, last {LAST} updates, or
        {GAMES} episodes of random edits.""",
    chosen="""Bounds before the figures, but that of random edits: it was .1, and they lead to the
        decoy in .12 of the episodes of 16 moves (two seeds) and .10 of those of 14. After a look at
        two seeds: moves that are left at the goal are charged, since else the adversary ends
        episodes there to be rid of further cost (decoy .51 and .01).""",
    limits="""The intention is given, where the source learns it from preferences; the walker is not
        trained again under attack; no weights of states.""",
    world=WORLD,
    changes=CHANGES,
    arms={
        "alone": Arm("grpo", world=ALONE),
        "random": lambda seed: played(WORLD, scripted("random"), GAMES, seed),
        "targeted": Arm("grpo"),
        "harmful": Arm("grpo", options={"aim": "harm"}),
    },
    measure=_measure,
    expect=(
        Expect("goal, walker alone", "alone.goal", low=0.8),
        Expect("goal, random edits", "random.goal"),
        Expect("goal, targeted adversary", "targeted.goal"),
        Expect("goal, adversary paid for failure", "harmful.goal"),
        Expect("decoy, random edits", "random.decoy", high=0.2),
        Expect("decoy, targeted adversary", "targeted.decoy", low=0.8),
        Expect("decoy, adversary paid for failure", "harmful.decoy", high=0.5),
    ),
)
