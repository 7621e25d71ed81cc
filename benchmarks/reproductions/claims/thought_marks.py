"""TP-GRPO: marks on thoughts teach a chain of steps sooner than its outcome alone."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from coevo.agents.population import MakePolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World, sized
from coevo.benchmarks.reproductions.worlds import SEAT, Micro, world
from coevo.envs.core.episode import Turn
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.envs.core.task import NoArguments
from coevo.trainers.steps.mark_turns import ByNote

STEPS, DIGITS, LIMIT, KNOWN = 6, ("0", "1", "2", "3"), 10, 1.0
WAIT, RIGHT = "wait", "021302"
UPDATES, GOAL = 150, 0.8


class Chain(Micro[NoArguments]):
    """Six digits in order; `wait` takes the last one back. Paid if all are right at the end."""

    env_id = "coevo/chain_of_steps-v0"
    seats = (SEAT,)
    payoff_range = (0.0, 1.0)
    about = "Write the digits in order."

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.said = ""
        for _ in range(LIMIT):
            move = yield One(SEAT, terse=prompt(self.said), moves=moves(self.said))
            self.said = self.said[:-1] if move == WAIT else self.said + move
            if len(self.said) == STEPS:
                yield Pay({SEAT: float(self.said == RIGHT)})
                return

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        at = len(self.said)
        good = self.said[-1:] != RIGHT[at - 1] if turn.move == WAIT else turn.move == RIGHT[at]
        turn.notes["good"] = 1.0 if good else -1.0


raw_env, env = world(Chain, "six digits in order", kind="cooperative", seats=1)


def prompt(said: str) -> str:
    return f"Step {len(said)} after {said[-1:] or 'nothing'}"


def moves(said: str) -> tuple[str, ...]:
    return (*DIGITS, WAIT) if said else DIGITS


def starts() -> dict[str, dict[str, float]]:
    """Return logits that know a little: one more for the right digit."""
    found = {}
    for step in range(STEPS):
        for last in DIGITS if step else ("",):
            said = "0" * (step - 1) + last if step else ""
            logits = dict.fromkeys(moves(said), 0.0)
            found[prompt(said)] = logits | {RIGHT[step]: KNOWN}
    return found


def _maker(seed: int) -> MakePolicy:
    begun = starts()
    return sized(len(begun), len(DIGITS) + 1, begun)


def _measure(end: Trained) -> dict[str, float]:
    won = [float(update.get("reward/payoff", 0.0)) for update in end.log]
    smooth = np.convolve(won, np.ones(5) / 5, "valid")
    reached = np.flatnonzero(smooth >= GOAL)
    return {
        "updates": float(reached[0] + 5 if len(reached) else len(won)),
        "last": end.last(5, "reward/payoff"),
    }


def _flips(share: float) -> dict[str, Any]:
    return {"cycle.mark_turns.by": ByNote(flips=share)}


CLAIM = Claim(
    property="""With marks of which one in ten is wrong, credit for thoughts reaches 80 %
        success in fewer updates than the outcome alone.""",
    source="""He et al. 2025, TP-GRPO, arXiv 2507.23317 (higher accuracy with fewer samples than
        from outcomes); the order was set before""",
    minutes=3.0,
    on="toy",
    setting="""Six digits in order, ten moves, `wait` takes the last one back; a table that
        begins with a logit of 1 for the right digit. 32 episodes an update in groups of 8, 150
        updates of plain gradient steps. Marks: whether a move is right, turned round in 10 %
        (or in half). `tp_grpo`; `agent_evolver`, which credits turns and not thoughts; `grpo`,
        the outcome alone.""",
    measured="""Updates until five in a row succeed in 80 % on average; 150 where none do;
        success in the last five.""",
    chosen="""Chain, start, learning rate and alpha .5 for both, before anything was run. At
        first thoughts were divided by their deviation and not centred: 80 % after 39 updates,
        and then a fall to none, since where all succeed only marks that are wrong are left, all
        of them bad.""",
    limits="An oracle marks, not a judge that reads a solution.",
    world=World(Chain.env_id, UPDATES, maker=_maker),
    changes={**PLAIN, "collect.episodes": 32, "collect.group_size": 8, "optim.lr": 4.0},
    arms={
        "outcome": Arm("grpo"),
        "turns": Arm("agent_evolver:noted", {**_flips(0.1), "advantage.credit.alpha": 0.5}),
        "thoughts": Arm("tp_grpo:noted", _flips(0.1)),
        "noise": Arm("tp_grpo:noted", _flips(0.5)),
    },
    measure=_measure,
    expect=(
        Expect("updates to 80 %, outcome alone", "outcome.updates"),
        Expect("updates to 80 %, marks on turns", "turns.updates"),
        Expect("updates to 80 %, thoughts", "thoughts.updates"),
        Expect("updates, thoughts over outcome", "thoughts.updates / outcome.updates", high=0.9),
        Expect("updates to 80 %, thoughts, half of the marks wrong", "noise.updates"),
        Expect("success at the end, outcome alone", "outcome.last"),
        Expect("success at the end, thoughts", "thoughts.last", low=0.7),
    ),
)
