"""Exploration bonuses: global, episodic and their product, where episodes share much or little."""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from coevo.agents.population import MakePolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import QUICKLY, Arm, Trained, World, sized
from coevo.benchmarks.reproductions.worlds import SEAT, Micro, world
from coevo.envs.core.config import config, whole
from coevo.envs.core.protocol import One, Pay, Protocol

ROOMS, LIMIT, COLOURS = 8, 16, 1000
DOORS = ("north", "east", "south", "west")


@config
class RoomsConfig:
    """What the world takes."""

    right: tuple[str, ...] = ("north",) * ROOMS
    """The door of every room that leads on; the others lead to the first room."""
    colours: Annotated[int, whole(1)] = 1
    """Colours that an episode draws one from, for all of its rooms."""


class Rooms(Micro[RoomsConfig]):
    """Rooms in a row; only the last one pays."""

    env_id = "coevo/coloured_rooms-v0"
    config_class = RoomsConfig
    seats = (SEAT,)
    payoff_range = (0.0, 1.0)
    about = "Find the way through the rooms."

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        at, colour = 0, int(rng.integers(self.config.colours))
        for _ in range(LIMIT):
            door = yield One(SEAT, terse=f"Room {at} of colour {colour}", moves=DOORS)
            at = at + 1 if door == self.config.right[at] else 0
            if at == ROOMS:
                yield Pay({SEAT: 1.0})
                return


raw_env, env = world(Rooms, "rooms in a row", kind="cooperative", seats=1)


def _maker(seed: int) -> MakePolicy:
    """Return tables that see the room, and not its colour."""
    return sized(ROOMS, len(DOORS), sees=lambda text: text.partition(" of colour")[0])


def _world(colours: int) -> World:
    def options(seed: int) -> dict[str, Any]:
        rng = np.random.default_rng(seed)
        return {"right": tuple(map(str, rng.choice(DOORS, ROOMS))), "colours": colours}

    return World(Rooms.env_id, 50, options, _maker)


def _measure(end: Trained) -> dict[str, float]:
    won = [float(update.get("reward/payoff", 0.0)) for update in end.log]
    return {"goal": end.last(5, "reward/payoff"), "curve": float(np.mean(won))}


ARMS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "none": ("exploration_bonus", {"rewards": ()}),
    "global": ("exploration_bonus:global", {}),
    "episodic": ("exploration_bonus:episodic", {}),
    "product": ("exploration_bonus", {}),
}
SHARED, REDRAWN = _world(1), _world(COLOURS)


def _arms(name: str, world: World) -> dict[str, Arm]:
    return {f"{name}_{k}": Arm(algorithm, c, world=world) for k, (algorithm, c) in ARMS.items()}


CLAIM = Claim(
    property="""Where a random walk does not find the goal, the product of a global and an
        episodic bonus finds it both where rooms look the same in every episode and where they
        do not.""",
    source="""Henaff, Jiang, Raileanu 2023, A Study of Global and Episodic Bonuses for
        Exploration in Contextual MDPs, arXiv 2306.03236 (global bonuses fail where episodes
        share little, episodic ones where they share much, the product works in both)""",
    minutes=4.0,
    on="toy",
    setting="""Eight rooms in a row with four doors; one leads on, the others to the first room,
        16 moves. Shared: all episodes have one colour; redrawn: each has one of a thousand. The
        policy, a table, sees the room and not its colour, bonuses count both.
        `exploration_bonus` with each bonus of 0.1 and with none, 32 episodes an update, 50
        updates.""",
    measured="""Share of episodes that reach the goal, in the last five updates and over all.""",
    chosen="""Sizes, before anything was run; bonuses do not decay. This is the second setting:
        with seven rooms, three doors and a wrong door that leads one room back, a random walk
        suffices (no bonus .99, product 1.0 in both cases; over all updates global .34 where
        colours are redrawn).""",
    limits="Colours are noise here, so that what is learnt in one episode holds in all.",
    world=SHARED,
    changes={**QUICKLY, "collect.episodes": 32, "optim.lr": 0.1},
    arms={**_arms("shared", SHARED), **_arms("redrawn", REDRAWN)},
    measure=_measure,
    expect=(
        *(
            Expect(f"goal at the end, {where}, {bonus}", f"{where}_{bonus}.goal")
            for where in ("shared", "redrawn")
            for bonus in ARMS
        ),
        *(
            Expect(f"goal over all updates, {where}, {bonus}", f"{where}_{bonus}.curve")
            for where in ("shared", "redrawn")
            for bonus in ARMS
        ),
        Expect("shared: product minus none", "shared_product.goal - shared_none.goal", low=0.3),
        Expect("redrawn: product minus none", "redrawn_product.goal - redrawn_none.goal", low=0.3),
        Expect(
            "redrawn: product minus global",
            "redrawn_product.curve - redrawn_global.curve",
            low=0.0,
        ),
    ),
)
