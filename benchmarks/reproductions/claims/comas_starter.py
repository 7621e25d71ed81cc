"""CoMAS on the starter model: a short run of `coevo train comas`, on held-out questions."""

from typing import Any

from coevo.agents.load import load_agent
from coevo.agents.models.seated import SeatedPolicies
from coevo.benchmarks.reproductions.claim import Claim, Expect, Once
from coevo.benchmarks.reproductions.review_model import review, reviewed
from coevo.benchmarks.reproductions.run import Arm, Trained

MODEL, EPISODES, HELD_OUT = "starter", 64, 300


def _options(part: str) -> dict[str, Any]:
    return {"prompt_style": "terse", "questions": {"name": "digits", "split": part}}


def _before(seed: int) -> dict[str, float]:
    return reviewed(load_agent(MODEL), _options("test"), HELD_OUT)


def _measure(end: Trained) -> dict[str, float]:
    return reviewed(SeatedPolicies(end.run.policies()), _options("test"), HELD_OUT)


CLAIM = Claim(
    property="""Two copies of the starter model that score each other's work get better at held-out
        questions.""",
    source="""Xue et al. 2025, CoMAS, arXiv 2510.08529 (accuracy rises by peer scores alone); bounds
        are ours""",
    minutes=13.0,
    on="model",
    setting="""`coevo/peer_review-v0` with its default arguments in the terse style, two agents that
        start from the starter model, 40 updates of 64 episodes with whitening per role. Steps are
        small, since nothing pays a scorer to be right: its drift is noise, which many episodes and
        small steps average out.""",
    measured="Two agents on questions that training did not ask, before and after.",
    chosen="""Settings and bounds: the paper reports 3B models and has none of this size. With 32
        episodes and a rate of 3e-4 the gain was 0.02 +- 0.19.""",
    note="agents that reach their best at scoring may still be poor judges: read both",
    world=review(MODEL, 40, _options("train")),
    changes={"collect.episodes": EPISODES, "optim.lr": 1e-4},
    arms={"before": Once(_before), "after": Arm("comas:role")},
    measure=_measure,
    expect=(
        Expect("accuracy before", "before.accuracy"),
        Expect("accuracy after", "after.accuracy"),
        Expect("gain of accuracy", "after.accuracy - before.accuracy", low=0.1),
        Expect("right scores before", "before.judge"),
        Expect("right scores after", "after.judge"),
        Expect("precision of a 3 before", "before.precision"),
        Expect("precision of a 3 after", "after.precision"),
        Expect("invalid scores before", "before.invalid"),
        Expect("invalid scores after", "after.invalid"),
    ),
)
