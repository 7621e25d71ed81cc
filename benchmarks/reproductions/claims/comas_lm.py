"""CoMAS on small transformers: peers' scores teach a skill that the judges have in part."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from coevo.agents.load import load_agent
from coevo.agents.models.seated import SeatedPolicies
from coevo.benchmarks.reproductions.claim import Claim, Expect, Once
from coevo.benchmarks.reproductions.review_model import (
    WarmStart,
    options,
    review,
    reviewed,
    warm_start,
)
from coevo.benchmarks.reproductions.run import Arm, trained

WARM, STEPS, HELD_OUT = WarmStart(), 40, 300


def _both(task: str) -> Callable[[int], dict[str, float]]:
    def measure(seed: int) -> dict[str, float]:
        asked = {part: options(task, part, rounds=1, references=0) for part in ("train", "test")}
        with tempfile.TemporaryDirectory() as folder:
            warm = str(warm_start(Path(folder) / "warm", asked["train"], WARM, seed))
            before = reviewed(load_agent(warm), asked["test"], HELD_OUT)
            world = review(warm, STEPS, asked["train"])
            with trained(world, Arm("comas:role", {"optim.lr": 3e-4}), seed) as end:
                agents = SeatedPolicies(end.run.policies())
                after = reviewed(agents, asked["test"], HELD_OUT)
        return {f"before_{k}": v for k, v in before.items()} | after

    return measure


CLAIM = Claim(
    property="""Two small transformers that score each other's work gain at least 0.15 in held-out
        accuracy where they can judge a little; where they cannot they gain nothing.""",
    source="""Xue et al. 2025, CoMAS, arXiv 2510.08529 (accuracy rises by peer scores alone); bounds
        are ours, and so is the control""",
    minutes=13.0,
    on="model",
    setting="""Two agents of about 100 thousand parameters start from one model that imitates
        scripted reviewers of medium skill, and train by `coevo/peer_review-v0` and `comas`: one
        round of review per episode, 64 episodes per step, 40 steps, whitened per role. Asked is the
        larger of two last digits. The control asks for the last digit of a sum, which the same warm
        start hardly learns to judge: what the judges do not know they cannot teach; it runs with
        the first seed alone, since it costs as much, and shows no gain.""",
    measured="""Two agents on held-out questions before and after: accuracy, whether scores are
        right, scores that cannot be read.""",
    chosen="""Questions, model size, warm start and bounds: the paper reports 3B models on
        mathematics, science and code. Prompts, replies and loop are those of the package.""",
    note="""The control is what a judge without knowledge gives: no gain to speak of. Nothing trains
        scorers to be right: in runs of 100 steps they drift, and accuracy falls again.""",
    arms={"known": _both("larger"), "unknown": Once(_both("sum"))},
    expect=(
        Expect("larger digit: accuracy before", "known.before_accuracy"),
        Expect("larger digit: accuracy after", "known.accuracy"),
        Expect(
            "larger digit: gain of accuracy", "known.accuracy - known.before_accuracy", low=0.15
        ),
        Expect("larger digit: right scores before", "known.before_judge"),
        Expect("larger digit: right scores after", "known.judge"),
        Expect("larger digit: invalid scores before", "known.before_invalid"),
        Expect("larger digit: invalid scores after", "known.invalid"),
        Expect("digit of a sum: accuracy before", "unknown.before_accuracy"),
        Expect("digit of a sum: accuracy after", "unknown.accuracy", high=0.35),
        Expect("digit of a sum: right scores before", "unknown.before_judge"),
        Expect("digit of a sum: right scores after", "unknown.judge"),
    ),
)
