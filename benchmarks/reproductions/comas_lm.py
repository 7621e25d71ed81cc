"""CoMAS on small transformers: peers' scores teach a skill that the judges have in part.

Setting    Two agents of about 100 thousand parameters start from one model that imitates scripted
           reviewers of medium skill, and train by `coevo/peer_review-v0` and the record `comas`:
           one round of review per episode, 64 episodes per step, 40 steps, whitened per role. Asked
           is the larger of two last digits.
Control    The last digit of a sum, which the same warm start hardly learns to judge: what the
           judges do not know they cannot teach.
Measured   Two agents on held-out questions before and after: accuracy, whether scores are right,
           scores that cannot be read.
Chosen     Questions, model size, warm start and bounds: the paper reports 3B models on mathematics,
           science and code. Prompts, replies and loop are those of the package.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from coevo.agents.load import load_agent
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row
from coevo.benchmarks.reproductions.review_model import (
    Review,
    WarmStart,
    measure,
    options,
    train_on,
    warm_start,
)

WARM = WarmStart()
STEPS, HELD_OUT, LR, VARIANT = 40, 300, 3e-4, "role"
Pair = tuple[Review, Review]


def run(seeds: Sequence[int]) -> Outcome:
    """Train from a warm start on what judges know in part, and on what they do not know."""
    known = [_both("larger", seed) for seed in seeds]
    unknown = [_both("sum", seed) for seed in seeds[:1]]  # it costs as much, and shows no gain
    gain = tuple(after.accuracy - before.accuracy for before, after in known)
    fall = tuple(before.invalid - after.invalid for before, after in known)
    return Outcome(
        (
            Row("larger digit: accuracy before", _of(known, 0, "accuracy")),
            Row("larger digit: accuracy after", _of(known, 1, "accuracy")),
            Row("larger digit: gain of accuracy", gain, low=0.15),
            Row("larger digit: right scores before", _of(known, 0, "judge")),
            Row("larger digit: right scores after", _of(known, 1, "judge")),
            Row("larger digit: invalid scores before", _of(known, 0, "invalid")),
            Row("larger digit: invalid scores after", _of(known, 1, "invalid")),
            Row("larger digit: fall of invalid scores", fall, low=0.0),
            Row("digit of a sum: accuracy before", _of(unknown, 0, "accuracy")),
            Row("digit of a sum: accuracy after", _of(unknown, 1, "accuracy"), high=0.35),
            Row("digit of a sum: right scores before", _of(unknown, 0, "judge")),
            Row("digit of a sum: right scores after", _of(unknown, 1, "judge")),
        ),
        note="The control is what a judge without knowledge gives: no gain to speak of. Nothing "
        "trains scorers to be right: in runs of 100 steps they drift, and accuracy falls again.",
    )


def _both(task: str, seed: int) -> Pair:
    """Measure before and after training."""
    asked = {part: options(task, part, rounds=1, references=0) for part in ("train", "test")}
    with tempfile.TemporaryDirectory() as folder:
        warm = str(warm_start(Path(folder) / "warm", asked["train"], WARM, seed))
        before = measure(load_agent(warm), asked["test"], HELD_OUT)
        trained = train_on(warm, asked["train"], VARIANT, seed, steps=STEPS, optim__lr=LR)
    return before, measure(trained, asked["test"], HELD_OUT)


def _of(pairs: Sequence[Pair], when: int, figure: str) -> tuple[float, ...]:
    return tuple(float(getattr(pair[when], figure)) for pair in pairs)


REPRODUCTION = Reproduction(
    name="comas_lm",
    property="Two small transformers that score each other's work gain at least 0.15 in held-out "
    "accuracy and give fewer scores that cannot be read, where they can judge a little; where "
    "they cannot they gain nothing.",
    source="Xue et al. 2025, CoMAS, arXiv 2510.08529 (accuracy rises by peer scores alone); bounds "
    "are ours, and so is the control",
    minutes=13.0,
    run=run,
    on="model",
)
