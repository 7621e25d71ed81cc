"""AgentEvolver: experience in the prompts of half of the tries, learnt without it."""

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.claims.examples_flip import WORLD, right
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained

TRIED = "cycle.guide.by.shown"


def _measure(end: Trained) -> dict[str, float]:
    return {"right": right(end), "solved": end.last(10, "guide/solved")}


CLAIM = Claim(
    property="""Tries with solved tasks in the prompt, learnt without them, teach more than as many
        tries without; learnt with them, they teach less.""",
    source="""Zhai et al. 2025, AgentEvolver, arXiv 2511.10395 (self-navigating: half of the tries
        with experience, which is stripped, clip .6 above); bounds are ours""",
    minutes=2.0,
    seeds=3,
    on="toy",
    setting="""The letters with a hidden shift of `examples_flip`: a table of tasks that starts
        even, and follows an example of the same letter with probability .9 at first. The variant
        `navigating` of `agent_evolver`: 16 tasks of 4 tries an update, and 4 more with the three
        nearest of the solved tasks, or with nothing; four passes over a batch. 10,000 moves.""",
    measured="""Probability of the right answer without experience, over all tasks, exactly; share
        of the further tries that succeed, last ten updates.""",
    chosen="Sizes and bounds before the figures, the world after those of `examples_flip`.",
    limits="""The table is made to use examples, in the place of a model that has learnt to; moves
        stand for a summary of experience. One clip is for all tries.""",
    world=WORLD,
    changes={
        **PLAIN,
        "collect.episodes": 64,
        "collect.tasks": 512,
        "optim.lr": 3.0,
        "optim.epochs": 4,
    },
    arms={
        "alone": Arm("agent_evolver:navigating", {TRIED: 0}),
        "stripped": Arm("agent_evolver:navigating"),
        "narrow": Arm("agent_evolver:navigating", {"loss.surrogate.eps_hi": 0.28}),
        "seen": Arm("agent_evolver:navigating", {"cycle.guide.trained": "as_seen"}),
    },
    measure=_measure,
    expect=(
        Expect("right, further tries alone", "alone.right"),
        Expect("right, experience stripped", "stripped.right"),
        Expect("right, stripped, clip .28 above", "narrow.right"),
        Expect("right, experience seen", "seen.right"),
        Expect("further tries that succeed, alone", "alone.solved"),
        Expect("further tries that succeed, with experience", "stripped.solved"),
        Expect("right, stripped over alone", "stripped.right - alone.right", low=0.03),
        Expect("right, stripped over seen", "stripped.right - seen.right", low=0.03),
        Expect("right, wide clip over narrow", "stripped.right - narrow.right"),
    ),
)
