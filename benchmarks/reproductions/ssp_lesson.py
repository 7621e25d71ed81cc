"""Search self-play on a language model that can propose: with the gate both sides keep their craft.

Lesson     the starter model imitates experts of `coevo/search_self_play-v0` in one world, a fixed
           corpus as the source has it (`coevo starter lesson`, 30,000 turns, five passes), until
           its sampled proposals pass the gate; the shipped model's hardly ever do.
Runs       record `ssp` in that world, 30 updates of 24 episodes, questions of two hops: with the
           gate, and with every question let through (`tag`). Of the seeds that are given the first
           three are run: the lesson alone takes half an hour of a busy machine.
Measured   over 120 plays each, sampled: the share of its proposals that pass the gate, and of an
           expert's questions that its solvers answer.
Chosen     Sizes, and the bounds after one seed: a quarter of proposals valid at the start is what
           makes a start; without the gate a tenth of the proposals or more is lost, with it nothing
           but noise (0.05).
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from coevo.agents.load import load_agent
from coevo.agents.policy import Policy
from coevo.agents.strategies.expert import ExpertAgent
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, gaps
from coevo.benchmarks.reproductions.ssp_starter import ENV, EPISODES, REPLY, STEPS, begun
from coevo.envs.search.proposals import VALID
from coevo.trainers.collect.rollout import EpisodeSpec, rollout
from coevo.trainers.loop import finish
from coevo.trainers.run import output_policy
from coevo.trainers.starter.corpus import Source
from coevo.trainers.starter.lesson import SKILLS, LessonConfig, teach

WORLD = {"prompt_style": "terse", "world_seed": 0}
LESSON = LessonConfig(
    source=Source(ENV, skills=SKILLS, label=1.0, options={"solvers": 1, "world_seed": 0}),
    turns=30_000,
    epochs=5.0,
    minutes=120.0,
)
MOST = 3
"""Seeds that are run."""
PLAYS, FIRST = 120, 70_000
"""Plays that are measured, and the seed of the first."""


def run(seeds: Sequence[int]) -> Outcome:
    """Give the lesson once, and train with the gate and without it."""
    with tempfile.TemporaryDirectory() as name:
        model = str(teach(LESSON, Path(name) / "taught"))
        shipped, taught = (craft(_loaded(source)) for source in ("starter", model))
        gated = [craft(trained(model, seed, "full")) for seed in seeds[:MOST]]
        opened = [craft(trained(model, seed, "tag")) for seed in seeds[:MOST]]
    gated_valid, gated_right = zip(*gated, strict=True)
    open_valid, open_right = zip(*opened, strict=True)
    return Outcome(
        (
            Row("valid proposals: shipped model", (shipped[0],)),
            Row("valid proposals: after the lesson", (taught[0],), low=0.25),
            Row("valid proposals: with the gate", gated_valid, low=taught[0] - 0.05),
            Row("valid proposals: without it", open_valid),
            Row("valid proposals that the gate keeps", gaps(gated_valid, open_valid), low=0.1),
            Row("expert's questions solved: shipped model", (shipped[1],)),
            Row("expert's questions solved: after the lesson", (taught[1],)),
            Row("expert's questions solved: with the gate", gated_right, low=taught[1] - 0.05),
            Row("expert's questions solved: without it", open_right),
        ),
        note=f"{STEPS} updates of {EPISODES} episodes, one world throughout: what is learnt of it "
        "is memory of its facts as well",
    )


def trained(model: str, seed: int, gate: str) -> Policy:
    """Train from a model by the shipped loop, and return the policy."""
    with begun(seed, {**WORLD, "gate": gate}, model) as run:
        finish(run)
        return output_policy(run.learners["policy"])


def craft(policy: Policy) -> tuple[float, float]:
    """Return the shares of valid proposals and of an expert's questions that are solved."""
    policy.reseed(1)
    players = {"policy": policy, "expert": ExpertAgent(1.0)}
    options = {**WORLD, "solvers": 1}

    def plays(proposer: str, solver: str, outcome: str) -> list[float]:
        seated = {"proposer_0": proposer, "solver_0": solver}
        specs = [EpisodeSpec(FIRST + i, seated) for i in range(PLAYS)]
        found = rollout(ENV, specs, players, options)
        return [e.outcome[outcome] for e in found if outcome in e.outcome]

    valid = sum(plays("policy", "expert", f"gate/{VALID}")) / PLAYS
    return valid, fmean(plays("expert", "policy", "success"))


def _loaded(source: str) -> Policy:
    agent = load_agent(source, sampling=REPLY)
    assert isinstance(agent, Policy)  # a folder with a language model
    return agent


REPRODUCTION = Reproduction(
    name="ssp_lesson",
    property="A language model that proposes valid questions goes on doing so, and solves an "
    "expert's, where a gate checks questions; paid for whatever nobody solves, it proposes fewer.",
    source="Lu et al. 2025, Search Self-play, arXiv 2510.18821 (proposer and solver improve "
    "together behind the check by retrieval, and degrade without it); bounds are ours",
    minutes=30.0,
    run=run,
    on="model",
)
