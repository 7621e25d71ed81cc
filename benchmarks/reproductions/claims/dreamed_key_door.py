"""DreamGym: what is learnt in a dream of an environment works in it as far as the dream is true."""

from collections.abc import Mapping
from typing import Any

from coevo.benchmarks.reproductions.claim import Claim, Expect, Measures
from coevo.benchmarks.reproductions.key_door import KeyDoor, walkers
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import SEAT, world
from coevo.envs.bridges.dreamed import Dreamed, Seen
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

ROOM: Mapping[str, Any] = {"size": 3, "moves": 8}
TASKS = 64


class Flawed(Dreamed):
    """A dream with a mistake: going west at the western wall ends it, as if the door were there."""

    env_id = "coevo/flawed_dream-v0"

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        assert isinstance(self.now, Seen)  # somebody moves
        if self.now.text.split()[2] == "0" and moves[SEAT] == "west":
            self.now = None
            return {SEAT: 1.0}
        return super().play(moves)


raw_env, env = world(Flawed, "a dream with a mistake", kind="cooperative", seats=1)


def _dream(transitions: int) -> dict[str, Any]:
    return {"of": KeyDoor.env_id, "of_options": dict(ROOM), "transitions": transitions}


def _measure(end: Trained) -> Measures:
    (inside,) = end.run.collector.held_out(TASKS, end.run.progress.step)
    specs = [EpisodeSpec(10**6 + k, {SEAT: "policy"}, k) for k in range(TASKS)]
    options = {"prompt_style": "terse", **ROOM}
    outside = rollout(KeyDoor.env_id, specs, {"policy": end.policy()}, options)
    solved = [sum(e.total(SEAT) for e in found) / TASKS for found in (inside, outside)]
    return {"inside": solved[0], "outside": solved[1], "gap": solved[0] - solved[1]}


UPDATES = 100
WORLD = World(Dreamed.env_id, UPDATES, _dream(6000), walkers(0.9))
CLAIM = Claim(
    property="""A policy that is trained on transitions of random play alone solves the real task,
        the better the more transitions are known; a mistake of the dream is learnt as well.""",
    source="""DreamGym, arXiv 2511.03773 (training on synthetic experience carries over; that a
        learnt reward can be exploited is our control)""",
    minutes=3.0,
    on="toy",
    setting="""A room of 3 by 3 squares, 8 moves; payoff 1 for bringing the key to the door. GRPO in
        `coevo/dreamed-v0` of it, with counts of 300 and of 6,000 random moves, and in the room
        itself: 100 updates of 4 tasks of 4 episodes, a table. The flawed dream pays at the western
        wall.""",
    measured="Share of 64 tasks that are solved where it was trained, and in the real room.",
    chosen="Sizes, learning rate and bounds, before the figures.",
    world=WORLD,
    changes={**PLAIN, "collect.episodes": 16, "collect.group_size": 4, "optim.lr": 30.0},
    arms={
        "few": Arm("grpo", options={"transitions": 300}),
        "many": Arm("grpo"),
        "flawed": Arm("grpo", world=World(Flawed.env_id, UPDATES, _dream(6000), walkers(0.9))),
        "real": Arm("grpo", world=World(KeyDoor.env_id, UPDATES, ROOM, walkers(0.9))),
    },
    measure=_measure,
    expect=(
        Expect("solved outside, 300 transitions", "few.outside"),
        Expect("solved outside, 6,000 transitions", "many.outside", low=0.5),
        Expect("solved outside, trained there", "real.outside"),
        Expect("6,000 minus 300 transitions", "many.outside - few.outside", low=0.1),
        Expect("inside minus outside, 6,000 transitions", "many.gap"),
        Expect("inside minus outside, flawed dream", "flawed.gap", low=0.4),
    ),
)
