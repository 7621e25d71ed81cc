"""Two-step game: a mixer that grows with each value finds what sums and lone learners miss."""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import torch

from coevo.agents.models.nets import Net
from coevo.benchmarks.reproductions.claim import Claim, Expect, near
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import Micro, world
from coevo.envs.core.protocol import All, Pay, Protocol
from coevo.envs.core.task import NoArguments
from coevo.trainers.collect.rollout import EpisodeSpec, rollout
from coevo.trainers.values.team_steps import team_steps

SAFE, MATRIX = 7.0, ((0.0, 1.0), (1.0, 8.0))
MOVES = ("a", "b")
STEPS = 80


class TwoStep(Micro[NoArguments]):
    """The first seat chooses a game for both: all moves pay alike there, or both must meet."""

    env_id = "coevo/two_step-v0"
    seats = ("player_0", "player_1")
    payoff_range = (0.0, 8.0)
    about = "Two partners make two moves each, and both get the same."

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        first = yield All(self.seats, terse="The first step", moves=MOVES)
        meets = first["player_0"] == "b"
        second = yield All(self.seats, terse=f"Game {'B' if meets else 'A'}", moves=MOVES)
        row, column = (MOVES.index(second[seat]) for seat in self.seats)
        yield Pay(dict.fromkeys(self.seats, MATRIX[row][column] if meets else SAFE))


raw_env, env = world(TwoStep, "the two-step game of QMIX", kind="cooperative", seats=2)


def _measure(end: Trained) -> dict[str, float]:
    """Return what the best moves earn, and the value of meeting, as it was learnt."""
    spec = EpisodeSpec(0, dict.fromkeys(TwoStep.seats, "policy"))
    (played,) = rollout(TwoStep.env_id, [spec], end.run.policies(), {"prompt_style": "terse"})
    nets = {"policy": cast("Net", end.policy().model)}
    kept, mixer = end.run.values.transitions.kept, end.run.values.mixer
    met = [t for t in kept if t.reward == MATRIX[1][1]]
    assert mixer is not None  # it was trained
    with torch.no_grad():
        steps = team_steps(nets, nets, met, double=True)
        value = mixer(steps.value_BN, steps.state_BS).mean().item()
    return {"payoff": played.total("player_0", "payoff"), "value": value}


CLAIM = Claim(
    property="""In the two-step game QMIX takes the move that pays 8 where both meet; VDN and
        independent learners, whose values cannot say that a move pays only beside another, take
        the safe 7.""",
    source="""Rashid et al. 2018, QMIX, arXiv 1803.11485, section 5 and table 1 (VDN 6.51 and QMIX
        8 for meeting); references: the closest sum to the matrix, which has 6.5 there, and the
        mean over the other's moves, 4.5""",
    minutes=3.5,
    on="toy",
    setting="""`coevo/two_step-v0`: both seats share a network of two layers of 32 units. All moves
        are random (epsilon 1), as in the paper, 32 episodes an update; 80 updates of 16 steps.""",
    measured="""What the moves of the highest values earn at the end, and the value of both moves b
        in the second game: of one seat's for independent learners, else of the team.""",
    chosen="Sizes, before the figures were seen.",
    world=World(TwoStep.env_id, STEPS, settings={"model": "net:hidden=32"}),
    changes={
        "schedules": {},
        "collect.episodes": 32,
        "cycle.fit_values.steps": 16,
        "magnet.every": 2,
        "optim.lr": 3e-3,
    },
    arms={name: Arm(name) for name in ("iql", "vdn", "qmix")},
    measure=_measure,
    expect=(
        near("independent: earned", "iql.payoff", SAFE, 0.01),
        near("VDN: earned", "vdn.payoff", SAFE, 0.01),
        near("QMIX: earned", "qmix.payoff", MATRIX[1][1], 0.01),
        near("independent: value of meeting, for one", "iql.value", 4.5, 0.75),
        near("VDN: value of meeting", "vdn.value", 6.5, 0.5),
        Expect("QMIX: value of meeting", "qmix.value", reference=8.0, low=7.5, high=8.5),
    ),
)
