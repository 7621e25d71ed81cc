"""Dr. MAS on SmolLM2-135M: sums in sentences, answered by one, by a vote and after a debate."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from coevo.agents.agent import Agent
from coevo.agents.models.seated import stream_seed
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.benchmarks.reproductions.taught import Taught
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

ENV, UPDATES, HELD_OUT = "coevo/debate-v0", 30, 100
TAUGHT = Taught(by="expert:0.5", steps=25)
SUMS: Mapping[str, Any] = {"name": "word_problems", "task": "sums", "hardest": 0.34}
SETTINGS = {"independent": (6, 1), "debate": (3, 2)}
"""Name -> agents and rounds: six answers to a question either way."""
LABELS = {
    "before": "taught",
    "after": "trained",
    "unpaid": "paid for form alone",
    "debated": "trained in debates",
}


def _answers(agent: Agent, seed: int, agents: int, rounds: int) -> dict[str, float]:
    """Return the share of held-out questions that one and the vote have right, and the tokens."""
    agent.reseed(stream_seed(seed, agents))
    agent.forget()
    players = {f"debater_{i}": "policy" for i in range(agents)}
    matches = [EpisodeSpec(i, players, stream=i) for i in range(HELD_OUT)]
    questions = {**SUMS, "split": "test"}
    options = {"prompt_style": "terse", "agents": agents, "rounds": rounds, "questions": questions}
    episodes = rollout(ENV, matches, {"policy": agent}, options)
    replies = [turn.token_ids or () for episode in episodes for turn in episode.turns]
    return {
        "single": fmean(e.outcome["individual"] for e in episodes),
        "vote": fmean(e.outcome["accuracy"] for e in episodes),
        "tokens": sum(map(len, replies)) / HELD_OUT,
    }


def _measure(end: Trained) -> dict[str, float]:
    agent = end.policy()
    return {
        f"{setting}_{key}": value
        for setting, size in SETTINGS.items()
        for key, value in _answers(agent, end.seed, *size).items()
    }


def _rows(arm: str) -> list[Expect]:
    label = LABELS[arm]
    return [
        Expect(f"{label}: one answer", f"{arm}.independent_single"),
        Expect(f"{label}: vote of six", f"{arm}.independent_vote"),
        Expect(f"{label}: vote of three after a debate", f"{arm}.debate_vote"),
        Expect(f"{label}: tokens a question, vote of six", f"{arm}.independent_tokens"),
        Expect(f"{label}: tokens a question, debate", f"{arm}.debate_tokens"),
    ]


CLAIM = Claim(
    property="""A pretrained model that was taught the form of replies answers held-out sums better
        after `dr_mas` paid its debaters for right answers, and not after they were paid for form
        alone.""",
    source="Feng et al. 2026, Dr. MAS, arXiv 2602.08847 (mathematics); bounds are ours",
    minutes=115.0,
    on="model",
    setting=f"""`coevo/debate-v0` with one round, terse prompts, three debaters that share
        SmolLM2-135M; sums of three levels (one digit plus and minus one, two digits plus one).
        {TAUGHT.steps} steps of teaching on an expert that is right half of the time, then `dr_mas`:
        {UPDATES} updates of 16 questions times 8 episodes, rate 1e-5. In the control the payoff
        has no weight. In debates: the same teaching and training with two rounds and half as many
        episodes, so with as many replies.""",
    measured=f"""Shares of {HELD_OUT} held-out questions: one answer, the vote of six independent
        answers, the vote of three after two rounds, which are six answers as well.""",
    chosen="""Rate and updates, as in `aa_smollm2`; the levels, by what the untaught model can do.
        Nothing was chosen after looking at this claim.""",
    limits="""Episodes of one round teach nothing about a second. Debate and majority compare as the
        vote of three that learnt to debate, and that of six that learnt to answer alone.""",
    world=World(ENV, UPDATES, {"rounds": 1, "questions": dict(SUMS)}, taught=TAUGHT),
    changes={"collect.episodes": 128, "optim.lr": 1e-5},
    arms={
        "before": Arm("dr_mas", steps=0),
        "after": Arm("dr_mas"),
        "unpaid": Arm("dr_mas", {"advantage.reward_weights": {"payoff": 0.0}}),
        "debated": Arm("dr_mas", {"collect.episodes": 64}, options={"rounds": 2}),
    },
    measure=_measure,
    expect=(
        *(row for arm in LABELS for row in _rows(arm)),
        Expect(
            "one answer, trained - taught",
            "after.independent_single - before.independent_single",
            low=0.05,
        ),
        Expect(
            "one answer, trained - form alone",
            "after.independent_single - unpaid.independent_single",
            low=0.05,
        ),
        Expect("vote, debate - six independent", "debated.debate_vote - after.independent_vote"),
    ),
    seeds=3,
)
