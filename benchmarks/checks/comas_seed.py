"""CoMAS on the seed model: a short run of `coevo train comas`, measured on held-out questions.

Setting    `coevo/peer_review-v0` with its default arguments in the terse style, two agents that
           start from the seed model, 40 updates of 64 plays with whitening per role. Steps are
           small, since nothing pays a scorer to be right: its drift is noise, which many plays
           and small steps average out. With 32 plays and a rate of 3e-4 it was 0.02 +- 0.19.
Measured   Two agents on questions that training did not ask, before and after.
Open       The sheet has no model of this size; it asks for rising held-out accuracy and a falling
           share of scores that cannot be read.
"""

from __future__ import annotations

from collections.abc import Sequence

from coevo.agents.load import load_agent
from coevo.benchmarks.checks.check import Check, Outcome, Row
from coevo.benchmarks.checks.review_model import Review, measure, train_on

OPTIONS = {
    part: {"prompt_style": "terse", "questions": {"name": "digits", "part": part}}
    for part in ("train", "test")
}
MODEL, VARIANT = "seed", "role"
STEPS, EPISODES, PLAYS, LR = 40, 64, 300, 1e-4


def run(seeds: Sequence[int]) -> Outcome:
    """Measure the seed model, train it once per seed, and measure again."""
    start = measure(load_agent(MODEL), OPTIONS["test"], PLAYS)
    ends = [_trained(seed) for seed in seeds]
    gain = tuple(end.accuracy - start.accuracy for end in ends)
    fall = tuple(start.invalid - end.invalid for end in ends)
    return Outcome(
        (
            Row("accuracy before", (start.accuracy,)),
            Row("accuracy after", tuple(end.accuracy for end in ends)),
            Row("gain of accuracy", gain, low=0.1),
            Row("right scores before", (start.judge,)),
            Row("right scores after", tuple(end.judge for end in ends)),
            Row("precision of a 3 before", (start.precision,)),
            Row("precision of a 3 after", tuple(end.precision for end in ends)),
            Row("invalid scores before", (start.invalid,)),
            Row("invalid scores after", tuple(end.invalid for end in ends)),
            Row("fall of invalid scores", fall, low=0.02),
        ),
        note="agents that reach their best at scoring may still be poor judges: read both",
    )


def _trained(seed: int) -> Review:
    trained = train_on(
        MODEL,
        OPTIONS["train"],
        VARIANT,
        seed,
        steps=STEPS,
        sampler__episodes=EPISODES,
        optim__lr=LR,
    )
    return measure(trained, OPTIONS["test"], PLAYS)


CHECK = Check(
    name="comas_seed",
    property="Two copies of the seed model that score each other's work get better at held-out "
    "questions and give fewer scores that cannot be read.",
    source="collaborative sheet, section 1, check B, asked of the seed model",
    minutes=13.0,
    run=run,
)
