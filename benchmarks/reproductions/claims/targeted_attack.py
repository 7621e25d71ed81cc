"""RAT: an adversary that edits one field of what a victim sees leads it where it wants."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np

from coevo.agents.registry import scripted
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World, played, trained
from coevo.benchmarks.reproductions.worlds import SEAT, Micro, world
from coevo.envs.core.config import config, real, whole
from coevo.envs.core.protocol import One, Pay, Protocol

GOAL, DECOY, BEGIN, MOVES, UPDATES, LAST = 8, 0, 6, 14, 50, 10
"""Squares of the goal and the decoy, and where a walker begins; moves of an episode; updates."""
GAMES = 64 * LAST
"""Episodes of random edits."""
WAYS = ("west", "stay", "east")
SIGNS = ("normal", "reversed")
SEEN = tuple(f"Square {at}, steering {sign}" for at in range(GOAL) for sign in SIGNS)
"""What there is to see, square by square and sign by sign."""
ASKED, SURE = ". Shown as?", ", for sure"
CHECK, COST = "check", 0.02
"""Move that shows the truth before the next one, and what it costs."""


@config
class SteeredConfig:
    """What the corridor takes."""

    victim: tuple[tuple[Annotated[float, real(0, 1)], ...], ...] = ()
    """Odds of the moves of a walker, square by square and sign by sign; the seat then chooses the
    sign that it sees. Without any, the seat is the walker."""
    checks: bool = False
    """Whether a walker may look what is true, at a cost."""
    begin: Annotated[int, whole(0, GOAL - 1)] = 0
    """Square of the start; 0 draws it."""
    aim: Literal["decoy", "harm"] = "decoy"
    """What an adversary is paid for: odds of the move to the decoy, or that the walker fails."""
    adversaries: tuple[tuple[Annotated[float, real(0, 1)], ...], ...] = ()
    """Chance that each shows `reversed`, square by square and sign by sign; one of them, drawn for
    the episode, says what the seat sees, which is the walker."""


class Steered(Micro[SteeredConfig]):
    """A corridor in which steering is sometimes reversed, as a sign says; a goal and a decoy."""

    env_id = "coevo/steered-v0"
    config_class = SteeredConfig
    seats = (SEAT,)
    about = "Walk to the goal in the east; where steering is reversed, moves are mirrored."
    payoff_range = (-float(MOVES), 1.0)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        c = self.config
        many = len(c.adversaries)
        shows = c.adversaries[int(rng.integers(many))] if many else ()
        self.at = c.begin or 1 + int(rng.integers(GOAL - 1))
        for left in range(MOVES, 0, -1):
            mirrored = int(rng.integers(2))
            seen = 2 * self.at + mirrored
            if not c.victim:
                if shows:
                    seen = 2 * self.at + int(rng.random() < shows[seen])
                ways = (*WAYS, CHECK) if c.checks else WAYS
                way = yield One(SEAT, terse=SEEN[seen], moves=ways)
                if way == CHECK:
                    yield Pay({SEAT: -COST})
                    way = yield One(SEAT, terse=SEEN[2 * self.at + mirrored] + SURE, moves=WAYS)
            else:
                shown = yield One(SEAT, terse=f"{SEEN[seen]}{ASKED}", moves=SIGNS)
                odds = np.array(c.victim[2 * self.at + SIGNS.index(shown)])
                way = _drawn(odds, rng)
                if way == CHECK:
                    way = _drawn(np.array(c.victim[len(SEEN) + seen]), rng)
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


def _drawn(odds_W: np.ndarray, rng: np.random.Generator) -> str:
    return (*WAYS, CHECK)[int(rng.choice(len(odds_W), p=odds_W / odds_W.sum()))]


raw_env, env = world(Steered, "a corridor with a sign", kind="cooperative", seats=1)
CHANGES = {**PLAIN, "collect.episodes": 64, "collect.group_size": 8, "optim.lr": 20.0}
ALONE = World(Steered.env_id, UPDATES)


Odds = tuple[tuple[float, ...], ...]
"""Odds of the moves of a walker, for all that there is to see; see `odds`."""


def odds(walker: Trained) -> Odds:
    """Return what a walker has learnt: for what is shown, and, where it may check, for sure."""
    learnt, checks = walker.learnt(), walker.run.config.env_options.get("checks", False)
    known = {key: len(WAYS) + checks for key in SEEN}
    known |= {key + SURE: len(WAYS) for key in SEEN if checks}
    rows = [learnt.get(key, [1 / size] * size) for key, size in known.items()]
    return tuple(tuple(map(float, row)) for row in rows)


@lru_cache(maxsize=8)
def victim(seed: int, checks: bool = False) -> Odds:
    """Return the odds of a walker that was trained where the sign is true."""
    with trained(ALONE, Arm("grpo", options={"checks": checks}), seed, CHANGES) as end:
        return odds(end)


WORLD = World(Steered.env_id, UPDATES, lambda seed: {"victim": victim(seed), "begin": BEGIN})


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
    limits="""The intention is given, where the source learns it from preferences; no weights of
        states. The walker is trained again under attack in `robust_retraining`.""",
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
