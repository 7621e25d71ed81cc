"""EVOL-RL: novelty keeps ways to the majority answer alive that votes alone lose."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from coevo.agents.population import MakePolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import ADAM, Arm, Trained, World, sized
from coevo.benchmarks.reproductions.worlds import OneMove, world
from coevo.envs.core.config import config
from coevo.envs.core.episode import Turn

ITEMS, AWAY, ROUTES, DRAWS = 40, (0, 1, 2, 3), 4, 8
RIGHT, MODE = 0.66, 2.0


@config
class WorkedSumsConfig:
    """What the task takes: nothing."""


def numbers(item: int) -> tuple[int, int]:
    a, b = divmod(item, 8)
    return a + 3, b + 2


def worked(item: int) -> tuple[str, ...]:
    """Return replies to a sum: four routes, each to the right answer and to three wrong ones."""
    a, b = numbers(item)
    found = []
    for away in AWAY:
        end = a + b + away
        up = " ".join(map(str, range(a, end + 1)))
        swapped = " ".join(map(str, range(b, end + 1)))
        ways = (
            f"count on from {a}: {up}",
            f"turn it round, {b} first: {swapped}",
            f"twice {b} is {2 * b}, the rest is {end - 2 * b}",
            f"to ten are {10 - a}, left are {end - 10}",
        )
        found += [f"{way}, so {end}" for way in ways]
    return tuple(found)


class WorkedSums(OneMove[WorkedSumsConfig]):
    """A sum, answered by one of sixteen worked texts; nothing is paid."""

    env_id = "coevo/worked_sums-v0"
    config_class = WorkedSumsConfig
    about = "Work out the sum."

    def deal(self, rng: np.random.Generator) -> tuple[str, Sequence[str]]:
        self.item = int(rng.integers(ITEMS))
        self.task_id = asked(self.item)
        return self.task_id, worked(self.item)

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        turn.answer = None if turn.move is None else turn.move.rpartition("so ")[2]


raw_env, env = world(WorkedSums, "sums with worked replies", kind="cooperative", seats=1)


def asked(item: int) -> str:
    a, b = numbers(item)
    return f"{a} + {b}?"


def starts(seed: int) -> dict[str, dict[str, float]]:
    """Return logits by which the most likely answer is right in 66 %, and routes differ."""
    rng = np.random.default_rng(seed)
    found = {}
    for item in range(ITEMS):
        mode = 0 if rng.random() < RIGHT else int(rng.integers(1, len(AWAY)))
        logits = rng.normal(size=len(AWAY) * ROUTES) * 0.5
        logits[mode * ROUTES : (mode + 1) * ROUTES] += MODE
        found[asked(item)] = dict(zip(worked(item), logits.tolist(), strict=True))
    return found


def _maker(seed: int) -> MakePolicy:
    return sized(ITEMS, len(AWAY) * ROUTES, starts(seed))


def _measure(end: Trained) -> dict[str, float]:
    return measures(end.learnt())


def measures(learnt: Mapping[str, torch.Tensor]) -> dict[str, float]:
    p_QAR = torch.stack([learnt[asked(n)] for n in range(ITEMS) if asked(n) in learnt])
    p_QAR = p_QAR.unflatten(1, (len(AWAY), ROUTES))
    p_Q, best_Q = p_QAR[:, 0].sum(1), p_QAR.sum(2).argmax(1)
    way_QR = p_QAR[torch.arange(len(p_QAR)), best_Q]
    way_QR = way_QR / way_QR.sum(1, keepdim=True)
    return {
        "right": float(p_Q.mean()),
        "any": float((1 - (1 - p_Q) ** DRAWS).mean()),
        "ways": float((-(way_QR * way_QR.clamp(min=1e-12).log()).sum(1)).exp().mean()),
    }


CLAIM = Claim(
    property="""Learning from votes loses ways to the majority answer, and paid for novelty
        within the majority all ways stay, with answers that are as right.""",
    source="""Zhou et al. 2025, EVOL-RL, arXiv 2509.15194 (majority for selection, novelty for
        variation: longer and more different replies, pass@1 4.6 to 16.4 on AIME25)""",
    minutes=4.0,
    on="toy",
    setting="""40 sums; a reply is one of 16 texts, four ways to the right answer and the same
        ways to three wrong ones. A table; at the start the most likely answer is right in 66 %.
        20 groups of 16 an update, 60 updates of Adam with 0.2. `evol_rl`, and its variant
        `majority`, so that the reward alone differs.""",
    measured="""Probability of the right answer; that of one right answer in 8; effective number
        of ways to the most likely answer, exp of their entropy.""",
    chosen="""Sizes, texts and the start, before anything was run. The bound of the difference
        was half a way; after one seed (0.51) it is 0.3.""",
    limits="""What a table learns about one sum does nothing for another, so that more ways
        cannot lead to more right answers, as the paper says that they do.""",
    world=World(WorkedSums.env_id, 60, maker=_maker),
    changes={**ADAM, "collect.episodes": 320, "optim.lr": 0.2},
    arms={
        "start": lambda seed: measures(
            {q: torch.tensor(list(x.values())).softmax(0) for q, x in starts(seed).items()}
        ),
        "majority": Arm("evol_rl:majority"),
        "evol": Arm("evol_rl"),
    },
    measure=_measure,
    expect=(
        Expect("right at the start", "start.right"),
        Expect("right, majority", "majority.right"),
        Expect("right, novelty", "evol.right"),
        Expect("majority: one of 8 minus one", "majority.any - majority.right", high=0.05),
        Expect("novelty: one of 8 minus one", "evol.any - evol.right"),
        Expect("ways at the start", "start.ways"),
        Expect("ways, majority", "majority.ways"),
        Expect("ways, novelty", "evol.ways"),
        Expect("ways, novelty minus majority", "evol.ways - majority.ways", low=0.3),
    ),
)
