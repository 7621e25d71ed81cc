"""Supervised fine-tuning: sampled replies give back the odds that they were drawn from."""

from coevo.agents.load import load_agent
from coevo.benchmarks.exact import exploitability, tabular_policy
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.trainers.steps.demonstrate import Demonstrate

KUHN, TERSE = "coevo/kuhn_poker-v0", {"prompt_style": "terse"}
SKILL = "expert:0.7"


def _measure(end: Trained) -> dict[str, float]:
    """Compare what was learnt with who demonstrated it, at every information state."""
    step = end.run.config.algorithm.cycle[0]
    assert isinstance(step, Demonstrate)
    ours, theirs = end.policy(), load_agent(step.by)
    odds = [tabular_policy(agent, KUHN, TERSE).table for agent in (ours, theirs)]
    apart = {
        state: sum(abs(p - dict(odds[1][state])[move]) for move, p in moves) / 2
        for state, moves in odds[0].items()
    }
    found = [exploitability(agent, KUHN, TERSE).exploitability or 0.0 for agent in (ours, theirs)]
    return {"apart": max(apart.values()), "exploitability": found[0], "shown": found[1]}


CLAIM = Claim(
    property="""Imitation of sampled replies gives the odds that they were drawn from, wherever the
        demonstrator goes; it gives its skill and no more.""",
    source="""Maximum likelihood; Ouyang et al. 2022, InstructGPT, arXiv 2203.02155 (step 1, where
        people demonstrate); bounds are ours""",
    minutes=2.0,
    on="table",
    setting="""A table imitates 64 replies an update, Adam 0.1 falling to a hundredth, 300 updates:
        of an expert of skill 0.7, of random play, and of the oracle.""",
    measured="""The greatest total variation between imitator and demonstrator over the twelve
        information states, and the exploitability of both.""",
    chosen="""Sizes; the bound 0.1 is about three standard errors of the share of a move in what the
        last updates saw of the rarest state.""",
    world=World(KUHN, 300),
    changes={
        "cycle.make_items.to.most": 64,
        "collect.episodes": 64,
        "optim.lr": 0.1,
        "schedules": {"optim.rate": {"name": "cosine", "to": 0.01}},
        "optim.warmup": 0,
    },
    arms={
        "expert": Arm("sft", {"cycle.demonstrate.by": SKILL}),
        "random": Arm("sft", {"cycle.demonstrate.by": "random"}),
        "oracle": Arm("sft", {"cycle.demonstrate.by": "oracle"}),
    },
    measure=_measure,
    expect=(
        Expect("expert: greatest difference of odds", "expert.apart", 0.0, high=0.1),
        Expect("expert: exploitability of the imitator", "expert.exploitability"),
        Expect("expert: exploitability of the demonstrator", "expert.shown"),
        Expect("random: greatest difference of odds", "random.apart", 0.0, high=0.1),
        Expect("random: exploitability of the imitator", "random.exploitability", 0.458),
        Expect("oracle: greatest difference of odds", "oracle.apart"),
        Expect("oracle: exploitability of the imitator", "oracle.exploitability"),
    ),
)
