"""Agent-RLVR on SmolLM2-135M: sums that nobody solved are tried again with the answer in sight."""

from statistics import fmean

from coevo.benchmarks.reproductions.claim import Claim, Expect, Measures
from coevo.benchmarks.reproductions.claims.scaler_smollm2 import ENV, SUMS, right
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.benchmarks.reproductions.taught import Taught

BUDGET = 24_000
TAUGHT = Taught(by="expert:0.5", steps=8)
EASY, HARD = range(3), range(3, 7)


def _measure(end: Trained) -> Measures:
    found = right(end)
    return {
        "all": found["all"],
        "easy": fmean(found[f"level_{i}"] for i in EASY),
        "hard": fmean(found[f"level_{i}"] for i in HARD),
        "updates": float(len(end.log)),
        "solved": fmean(u["guide/solved"] for u in end.log if "guide/solved" in u)
        if any("guide/solved" in u for u in end.log)
        else 0.0,
    }


ARMS = {
    "before": "taught",
    "guided": "guided, imitated",
    "unguided": "own successes alone, imitated",
    "pairs": "guided, pairs",
    "grpo": "GRPO",
}
CLAIM = Claim(
    property="""From as many sampled tokens, a pretrained model learns more of sums that it nearly
        always fails where it imitates its answers under guidance too, than from its own successes
        alone.""",
    source="""Da et al. 2025, Agent-RLVR, arXiv 2506.11425 (guided training lifts pass@1; the
        abstract was read); the bounds are ours""",
    minutes=45.0,
    on="model",
    setting=f"""`coevo/debate-v0` with one seat and one round, terse prompts; sums of seven levels,
        from one digit plus one to products plus two digits. {TAUGHT.steps} steps of teaching on an
        expert that is right half of the time, then groups of 8, 16 questions an update, rate 1e-5,
        until {BUDGET} tokens are sampled, those of guided attempts included. Guidance names the
        expert's answer, behind the question. `imitate` learns successes as they are, `pairs`
        prefers them to failures by DPO.""",
    measured="""Right answers to 140 held-out questions, without guidance, eight answers to each:
        of all seven levels, of the three easiest, of the four hardest. Guided attempts that
        succeed, over all updates.""",
    chosen="""Rate and episodes as in `sums_smollm2`. After an earlier run: taught for 25 steps, and
        told in a system message, the model followed no guidance (.00 to .06 of 48 hard sums, four
        wordings, three places), yet imitation ended at .33 of the hardest, GRPO at .30. Then the
        place was changed for all users of guidance, here the teaching, the control (own successes,
        was GRPO) and the bound (.03, was .05), before the first run of this setting.""",
    limits="""The expert is right, so that imitation is supervised learning where the model copies.
        It copies in one attempt of five. It does not hold: to be shown answers taught no more than
        own successes did, and pairs taught less of the easy sums.""",
    world=World(
        ENV,
        None,
        {"rounds": 1, "agents": 1, "questions": dict(SUMS)},
        settings={"budget_tokens": BUDGET},
        taught=TAUGHT,
    ),
    changes={"collect.episodes": 128, "collect.group_size": 8, "optim.lr": 1e-5},
    arms={
        "before": Arm("agent_rlvr", steps=0),
        "guided": Arm("agent_rlvr:imitate"),
        "unguided": Arm("agent_rlvr:imitate", {"cycle.guide.solved": 0.0}),
        "pairs": Arm("agent_rlvr"),
        "grpo": Arm("grpo"),
    },
    measure=_measure,
    expect=(
        *(
            Expect(f"{label}: right, {where}", f"{arm}.{key}")
            for arm, label in ARMS.items()
            for key, where in {"all": "all", "easy": "easiest", "hard": "hardest"}.items()
        ),
        Expect("guided attempts that succeed", "guided.solved", low=0.1),
        Expect(
            "right on the hardest, guided - own successes", "guided.hard - unguided.hard", low=0.03
        ),
        Expect("right on the hardest, guided - GRPO", "guided.hard - grpo.hard"),
        Expect("right on the hardest, pairs - GRPO", "pairs.hard - grpo.hard"),
    ),
    seeds=1,
)
