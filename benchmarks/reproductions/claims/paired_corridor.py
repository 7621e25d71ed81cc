"""PAIRED: a designer that earns regret leaves the unsolvable level, a minimax one builds it."""

import json
from statistics import fmean
from typing import Any

import torch

from coevo.agents.table import TabularPolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import QUICKLY, Arm, Trained, World
from coevo.envs import make
from coevo.trainers.loop import UpdateResult
from coevo.trainers.run import Run

ENV, LEVELS, WAYS = "coevo/corridors-v0", 10, 3


@torch.no_grad()
def _solved(run: Run, done: UpdateResult) -> float:
    walker = run.learners["protagonist"].agent
    assert isinstance(walker, TabularPolicy)  # a run of tables
    rows = {json.loads(key)[0][-1].partition(".")[0]: row for key, row in walker.rows.of.items()}
    task: Any = make(ENV).task  # corridors
    through, count = 1.0, 0
    for door in range(1, LEVELS + 1):
        row = rows.get(f"Door {door}")
        odds = 1 / WAYS
        if row is not None:
            logits_A = walker.model(torch.tensor([row]))[0, :WAYS]
            odds = float(logits_A.softmax(-1)[int(task.way(door)) - 1])
        through *= odds
        count += through > 0.5
    return float(count)


def _measure(end: Trained) -> dict[str, float]:
    return {
        "unsolvable": end.last(25, "outcome/unsolvable"),
        "solved": end.seen[-1],
        "on_the_way": fmean(end.seen),
    }


LABELS = {"paired": "PAIRED", "minimax": "minimax", "random": "random"}
CLAIM = Claim(
    property="""A designer that earns regret leaves the unsolvable level alone, which a minimax
        designer builds nearly always; that players get further under it is measured, not
        claimed.""",
    source="""Dennis et al. 2020, PAIRED, arXiv 2012.02096 (regret, minimax, domain randomisation);
        references: what each designer's reward is highest for""",
    minutes=6.0,
    on="table",
    setting="""`coevo/corridors-v0`, 1 to 10 doors: at each of them one of three ways leads on, and
        a wrong one ends the walk; a walker that gets through earns 1. An eleventh level has no way
        out. A designer chooses the level, two protagonists and two antagonists walk it; each role
        has a table, and a walker sees how far it has come. `paired` and its variants `minimax` and
        `random` (levels drawn alike): 32 levels an update, 150 updates.""",
    measured="""How often the designer chooses the unsolvable level in the last 25 updates; in how
        many of the ten corridors the protagonist gets through more often than not, at the end and
        on average over all updates.""",
    limits="""No bound on the corridors: doors are the same in all corridors and a table knows
        nothing of a door that it has not met, so that nothing can be transferred.""",
    chosen="""Sizes and step sizes, after a look at 64 levels and 250 updates. The bounds cut a
        designer that has given the level up (below 1/11, the share of chance) from one that does
        nothing else (above 0.9); they were set before.""",
    note="levels drawn alike teach these doors sooner; no gain in transfer is shown",
    world=World(ENV, 150, watch=_solved),
    changes={**QUICKLY, "collect.episodes": 32, "optim.lr": 0.2, "optim.grad_norm": 10.0},
    arms={
        "paired": Arm("paired"),
        "minimax": Arm("paired:minimax"),
        "random": Arm("paired:random"),
    },
    measure=_measure,
    expect=(
        Expect("PAIRED: unsolvable", "paired.unsolvable", 0.0, high=1 / (LEVELS + 1)),
        Expect("minimax: unsolvable", "minimax.unsolvable", 1.0, low=0.9),
        Expect("random: unsolvable", "random.unsolvable", 1 / (LEVELS + 1)),
        *(Expect(f"{label}: corridors solved", f"{arm}.solved") for arm, label in LABELS.items()),
        *(
            Expect(f"{label}: solved on the way", f"{arm}.on_the_way")
            for arm, label in LABELS.items()
        ),
    ),
)
