"""ONI: rewards for labelled messages, and what the cube of their count is good for."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from coevo.agents.population import MakePolicy
from coevo.agents.table import MOVES, Table, TabularPolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect, Once, near
from coevo.benchmarks.reproductions.run import QUICKLY, Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import SEAT, Micro, ReadRows, world
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.parsing import Status
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.envs.core.rewards import ScoreContext
from coevo.envs.core.task import NoArguments
from coevo.trainers.judges.message_labels import MessageLabels
from coevo.trainers.judges.roles import JudgeRole, Roles

LENGTH, LIMIT = 12, 30
DOORS = {3: "first", 6: "second", 9: "third"}
SEEN = {
    **{f"You eat {food}.": 1 for food in ("an apple", "bread", "a carrot", "some dates")},
    **{f"You open the {which} door.": 1 for which in (*DOORS.values(), "red")},
    **{f"You walk {way}.": 0 for way in ("left", "right", "back", "on")},
    **{f"You wait {how}.": 0 for how in ("a while", "in vain", "again")},
}
"""Messages that a judge labels, and its labels."""
HELD_OUT = {"You eat a peach.": 1, "You open the fourth door.": 1, "You walk away.": 0}


class Corridor(Micro[NoArguments]):
    """Twelve tiles and three doors; eating is always possible and leads nowhere."""

    env_id = "coevo/messages_corridor-v0"
    seats = (SEAT,)
    payoff_range = (0.0, 1.0)
    about = "Reach the end of the corridor."

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.at, self.opened = 0, 0
        for _ in range(LIMIT):
            move = yield One(SEAT, terse=f"Tile {self.at}", moves=("left", "right", "eat"))
            self.at, self.opened = self._after(move), max(self.opened, self._after(move))
            if self.at == LENGTH:
                yield Pay({SEAT: 1.0})
                return

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        to = self._after(turn.move or "")
        if turn.move == "eat":
            turn.notes["message"] = "You eat an apple."
        elif to in DOORS and to > self.opened:
            turn.notes["message"] = f"You open the {DOORS[to]} door."
        else:
            turn.notes["message"] = f"You walk {turn.move}."

    def _after(self, move: str) -> int:
        return max(0, self.at + {"left": -1, "right": 1}.get(move, 0))


raw_env, env = world(Corridor, "a corridor with doors and food", kind="cooperative", seats=1)


class Labeller(nn.Module):
    """Says yes to messages of food and of doors."""

    def __init__(self, rows: ReadRows[bool]) -> None:
        super().__init__()
        self._rows = rows

    def forward(self, row_N: Tensor) -> Tensor:
        yes_N = torch.tensor(self._rows.seen(row_N), dtype=torch.float64)
        logits_NA = torch.zeros(len(row_N), MOVES, dtype=torch.float64)
        logits_NA[:, 0], logits_NA[:, 1] = 50 * yes_N, 50 * (1 - yes_N)
        return logits_NA


def _makers(seed: int) -> MakePolicy:
    rows = ReadRows(lambda said: "You eat" in said[-1] or "You open" in said[-1])
    judge = Labeller(rows)
    return lambda name, **given: TabularPolicy(
        judge if name == "judge" else Table(32, MOVES), rows, name=name
    )


def _measure(end: Trained) -> dict[str, float]:
    return {
        "goal": end.last(5, "reward/payoff"),
        "asked": sum(update.get("judge/judge/questions", 0.0) for update in end.log),
    }


def _paid(module: MessageLabels, said: Sequence[str]) -> list[float]:
    """Return what messages of one episode are paid, by a judge that knows its labels."""
    judge = _makers(0)("judge")
    roles = Roles({"judge": JudgeRole()}, {"judge": judge})
    turns = [Turn(SEAT, (), "", None, Status.LEGAL, None, notes={"message": m}) for m in said]
    episode = Episode("e", 0, {}, (SEAT,), "t", turns)
    table = module.score([episode], ScoreContext(judges=roles)).table[0]
    return [rewards[SEAT] for rewards in table]


def _farmed(seed: int) -> Mapping[str, float]:
    return {"paid": sum(_paid(MessageLabels(), ["You eat an apple."] * 1000))}


def _spelt(seed: int) -> Mapping[str, float]:
    """Return how often messages that no judge saw are labelled right."""
    found = {}
    for model in ("retrieval", "classification"):
        module = MessageLabels(model=model, coef=1.0, asks=len(SEEN))
        paid = _paid(module, list(SEEN))
        found[f"{model}_seen"] = float(np.mean(np.array(paid) == list(SEEN.values())))
        module = MessageLabels(model=model, coef=1.0, asks=1)
        module.load_state_dict({"labels": SEEN, "waiting": [], "version": 1})
        unread = ["You hum.", *HELD_OUT]  # one message may be asked about: the oldest
        paid = _paid(module, unread)[1:]
        found[f"{model}_held_out"] = float(np.mean(np.array(paid) == list(HELD_OUT.values())))
    return found


CLAIM = Claim(
    property="""Rewards for messages that a judge likes lead to a distant goal if each is
        divided by the cube of its count in the episode; undivided they are farmed.""",
    source="""Zheng et al. 2024, ONI, arXiv 2410.23022 (r / n^3, labels while learning,
        retrieval and classification); the bound .4 zeta(3) is exact""",
    minutes=2.5,
    on="toy",
    setting="""A corridor of 12 tiles, 30 moves: left, right, or eat, which says that an apple
        was eaten. Three doors say that they are opened, once. A judge, a script, labels
        messages of food and doors 1 and others 0. `oni` on a table, 32 episodes an update, 60
        updates; without the cube (`power=0`); without messages, where a random walk must find
        the goal. Spelling: 15 labelled messages and three others.""",
    measured="""Share of episodes that reach the goal, in the last five updates; questions to
        the judge; what 1000 equal messages of an episode earn; share of right labels.""",
    chosen="""Sizes, doors and spellings, before anything was run. This is the third setting:
        with c_ext .1, as the source has it in one task (10 in another), .77 of the episodes
        reached the goal with the cube after 60 updates and .65 after 100, as the table does not
        know what it ate and eats at several tiles; here c_ext is 3 for all arms.""",
    world=World(Corridor.env_id, 60, maker=_makers),
    changes={
        **QUICKLY,
        "collect.episodes": 32,
        "optim.lr": 0.1,
        "advantage.reward_weights": {"payoff": 3.0},
    },
    arms={
        "none": Arm("oni", {"rewards": ()}),
        "farmed": Arm("oni:every_time"),
        "cubed": Arm("oni"),
        "exact": Once(_farmed),
        "spelling": Once(_spelt),
    },
    measure=_measure,
    expect=(
        near("paid for one message 1000 times", "exact.paid", 0.4808, 0.001),
        Expect("goal reached, no messages", "none.goal"),
        Expect("goal reached, paid every time", "farmed.goal", high=0.1),
        Expect("goal reached, divided by the cube", "cubed.goal", low=0.9),
        Expect("questions to the judge", "cubed.asked", high=10.0),
        Expect("seen messages, retrieval", "spelling.retrieval_seen", 1.0, low=1.0),
        Expect("seen messages, classification", "spelling.classification_seen", 1.0, low=1.0),
        Expect("new spellings, retrieval", "spelling.retrieval_held_out", high=0.4),
        Expect("new spellings, classification", "spelling.classification_held_out", low=0.9),
    ),
)
