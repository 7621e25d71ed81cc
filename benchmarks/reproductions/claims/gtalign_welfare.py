"""GTAlign: the geometric mean of both welfares asks back where the arithmetic mean guesses."""

import re
from collections.abc import Iterator

import torch

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import Arm, Trained, World, sized
from coevo.envs.discussion.clarify import MINUTES, WAYS

LENGTH, DELAY, EFFORT = 0.6, 0.3, 0.25
LABELS = {"geometric": "geometric mean", "arithmetic": "arithmetic mean", "user": "user alone"}
ROWS = 7 * len(MINUTES) * (len(MINUTES) - 1)
"""Three first questions and four after one back, with two numbers of minutes each."""


def seen(prompt: str) -> str:
    """Return a prompt without the town, which says nothing.

    >>> seen("A trip to Suna takes by bus 20 minutes.")
    'A trip takes by bus 20 minutes.'
    """
    return re.sub(r" to [A-Z]\w+", "", prompt)


def _measure(end: Trained) -> dict[str, float]:
    """Return the mean odds of the replies to vague questions and to those by bus."""
    odds = end.learnt()
    vague_A = torch.stack([p for q, p in odds.items() if "trip? [" in q]).mean(0)
    exact_A = torch.stack([p for q, p in odds.items() if f"trip by {WAYS[0]}? [" in q]).mean(0)
    one, other, every, asked = map(float, vague_A)
    found = {"guessed_vague": one + other, "all_vague": every, "asked_vague": asked}
    found["right_exact"] = float(exact_A[0])
    return found | {side: end.last(10, f"outcome/welfare/{side}") for side in ("user", "model")}


def _rows(arm: str) -> Iterator[Expect]:
    for key in ("asked_vague", "guessed_vague", "all_vague", "right_exact"):
        said, _, of = key.partition("_")
        yield Expect(f"{LABELS[arm]}: {said}, question {of}", f"{arm}.{key}")
    for side in ("user", "model"):
        yield Expect(f"{LABELS[arm]}: welfare of the {side}", f"{arm}.{side}")


CLAIM = Claim(
    property="""Paid the geometric mean of what user and model get, a model asks back where a
        question can be read in two ways; paid the arithmetic mean, it guesses; both answer a
        clear question at once.""",
    source="""Zhu et al. 2025, GTAlign, arXiv 2510.08872 (the score, and its ablation with the
        arithmetic mean); the world and the bounds are ours""",
    minutes=3.0,
    on="table",
    setting=f"""`coevo/clarify-v0` with length={LENGTH}, delay={DELAY} and effort={EFFORT}: of a
        vague question, a guess has an expected arithmetic mean of 0.625 and a geometric one of
        0.433, asking 0.6 and 0.592, all values 0.45 and 0.447. A table that sees the prompt without
        the town. `gtalign` and `gtalign:arithmetic`, 60 updates of 512 episodes; beside them the
        payoff of the environment, which is the user's welfare alone.""",
    measured="Exact probabilities of the replies at the end; welfare over the last 10 updates.",
    theory="The means above are exact, so the best reply under each is known before any run.",
    chosen="""delay and effort, from the formula, so that the two means differ in their best reply.
        length, after a look: with 0.4, where all values are worth 0.548, the geometric mean asked
        with 0.14 and gave all values with 0.85, since asking pays only once the answer after it is
        learnt. The bound was 0.9 before 0.77 was seen.""",
    limits="A table: what is shown is what the reward wants, not how a model reasons.",
    world=World(
        "coevo/clarify-v0",
        60,
        {"length": LENGTH, "delay": DELAY, "effort": EFFORT},
        lambda seed: sized(ROWS, 4, sees=seen),
    ),
    changes={"optim.lr": 0.2, "critic.lr": 0.2, "optim.warmup": 0, "optim.minibatches": 1},
    arms={
        "geometric": Arm("gtalign"),
        "arithmetic": Arm("gtalign:arithmetic"),
        "user": Arm("gtalign", {"rewards": (), "advantage.reward_weights": {}}),
    },
    measure=_measure,
    expect=(
        *(row for arm in LABELS for row in _rows(arm)),
        Expect(
            "asked on vague, geometric - arithmetic",
            "geometric.asked_vague - arithmetic.asked_vague",
            1.0,
            low=0.5,
        ),
        Expect("guessed on vague, arithmetic", "arithmetic.guessed_vague", 1.0, low=0.9),
        Expect("right at once on exact, geometric", "geometric.right_exact", 1.0, low=0.9),
        Expect("right at once on exact, arithmetic", "arithmetic.right_exact", 1.0, low=0.9),
    ),
)
