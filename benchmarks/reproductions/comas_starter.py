"""CoMAS on the starter model: a short run of `coevo train comas`, measured on held-out questions.

Setting    `coevo/peer_review-v0` with its default arguments in the terse style, two agents that
           start from the starter model, 40 updates of 64 episodes with whitening per role. Steps
           are small, since nothing pays a scorer to be right: its drift is noise, which many
           episodes and small steps average out. With 32 and a rate of 3e-4 it was 0.02 +- 0.19.
Measured   Two agents on questions that training did not ask, before and after.
Chosen     Settings and bounds: the paper reports 3B models and has none of this size.
"""

from __future__ import annotations

from collections.abc import Sequence

from coevo.agents.load import load_agent
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row
from coevo.benchmarks.reproductions.review_model import Review, measure, train_on

OPTIONS = {
    part: {"prompt_style": "terse", "questions": {"name": "digits", "split": part}}
    for part in ("train", "test")
}
MODEL, VARIANT = "starter", "role"
STEPS, EPISODES, HELD_OUT, LR = 40, 64, 300, 1e-4


def run(seeds: Sequence[int]) -> Outcome:
    """Measure the starter model, train it once per seed, and measure again."""
    start = measure(load_agent(MODEL), OPTIONS["test"], HELD_OUT)
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
        collect__episodes=EPISODES,
        optim__lr=LR,
    )
    return measure(trained, OPTIONS["test"], HELD_OUT)


REPRODUCTION = Reproduction(
    name="comas_starter",
    property="Two copies of the starter model that score each other's work get better at held-out "
    "questions and give fewer scores that cannot be read.",
    source="Xue et al. 2025, CoMAS, arXiv 2510.08529 (accuracy rises by peer scores alone); bounds "
    "are ours",
    minutes=13.0,
    run=run,
    on="model",
)
