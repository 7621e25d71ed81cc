"""ETTRL: trees of replies, and how many of their tokens need not be sampled."""

from statistics import fmean

from coevo.agents.sampling import SamplingConfig
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import Arm, Trained, World


def _measure(end: Trained) -> dict[str, float]:
    return {
        "tokens": fmean(float(update["tokens"]) for update in end.log),
        "vote": fmean(float(update["reward/majority"]) for update in end.log),
        "right": fmean(float(update["outcome/individual"]) for update in end.log),
    }


CLAIM = Claim(
    property="""Two roots with three forks of two branches give fourteen replies to a question
        for fewer sampled tokens than fourteen whole replies.""",
    source="""Liu et al. 2025, ETTRL, arXiv 2508.11356 (about 60 % of the tokens with N = 3 and
        B = 2; if forks are spread evenly, 8 / 14 of them are sampled)""",
    minutes=2.0,
    on="model",
    setting="""`coevo/debate-v0` with one debater and one round, the larger of two last digits;
        the starter model, sampled at temperature 1. `ettrl` and its variant `whole`, 16
        questions an update, 3 updates.""",
    measured="""Tokens that are sampled in an update; share of replies that agree with the vote,
        and that are right.""",
    theory="""A reply of L tokens that forks before token k costs L - k more: 2 (1 + 6 / 2) = 8
        whole replies in the mean, of 14, if k is spread evenly.""",
    chosen="The task, whose replies the starter model knows; the bound .8 before anything was run.",
    limits="""Replies have a few tokens. Whether trees lead to more right answers is not shown.""",
    world=World(
        "coevo/debate-v0",
        3,
        {"agents": 1, "rounds": 1},
        settings={
            "model": "starter",
            "sampling": SamplingConfig(max_new_tokens=16, temperature=1.0),
        },
    ),
    arms={"trees": Arm("ettrl"), "whole": Arm("ettrl:whole")},
    measure=_measure,
    expect=(
        Expect("tokens of an update, whole replies", "whole.tokens"),
        Expect("tokens of an update, trees", "trees.tokens"),
        Expect("trees over whole replies: tokens", "trees.tokens / whole.tokens", 0.6, high=0.8),
        Expect("replies that agree with the vote, whole", "whole.vote"),
        Expect("replies that agree with the vote, trees", "trees.vote"),
        Expect("right replies, whole", "whole.right"),
        Expect("right replies, trees", "trees.right"),
    ),
)
