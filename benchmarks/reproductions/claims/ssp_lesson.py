"""Search self-play on a language model that can propose: with the gate both sides keep their craft.

The lesson is given once, in one world, a fixed corpus as the source has it: the shipped model's
sampled proposals hardly ever pass the gate.
"""

import atexit
import functools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

from coevo.agents.load import load_agent
from coevo.agents.policy import Policy
from coevo.agents.strategies.expert import ExpertAgent
from coevo.benchmarks.reproductions.claim import Claim, Expect, Once
from coevo.benchmarks.reproductions.claims.ssp_starter import CHANGES, ENV, REPLY, search
from coevo.benchmarks.reproductions.run import Arm, trained
from coevo.benchmarks.starter.corpus import CorpusSource
from coevo.benchmarks.starter.lesson import SKILLS, LessonConfig, teach
from coevo.envs.search.proposals import VALID
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

LESSON = LessonConfig(
    source=CorpusSource(ENV, skills=SKILLS, label=1.0, options={"solvers": 1, "world_seed": 0}),
    turns=30_000,
    epochs=5.0,
    minutes=120.0,
)
PLAYS, FIRST = 120, 70_000
"""Plays that are measured, and the seed of the first."""


@functools.cache
def _lesson() -> str:
    """Give the lesson once; return the model's folder, which goes when the process ends."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return str(teach(LESSON, folder / "taught"))


def craft(policy: Policy) -> dict[str, float]:
    """Return the shares of valid proposals and of an expert's questions that are solved."""
    policy.reseed(1)
    players = {"policy": policy, "expert": ExpertAgent(1.0)}
    options = {"prompt_style": "terse", "world_seed": 0, "solvers": 1}

    def plays(proposer: str, solver: str, outcome: str) -> list[float]:
        seated = {"proposer_0": proposer, "solver_0": solver}
        specs = [EpisodeSpec(FIRST + i, seated) for i in range(PLAYS)]
        found = rollout(ENV, specs, players, options)
        return [e.outcome[outcome] for e in found if outcome in e.outcome]

    valid = sum(plays("policy", "expert", f"gate/{VALID}")) / PLAYS
    return {"valid": valid, "solved": fmean(plays("expert", "policy", "success"))}


def _loaded(source: str) -> dict[str, float]:
    agent = load_agent(source, sampling=REPLY)
    assert isinstance(agent, Policy)  # a folder with a language model
    return craft(agent)


def _under(gate: str) -> Callable[[int], dict[str, float]]:
    """Return what trains from the lesson, with a gate or with every question let through."""

    def measure(seed: int) -> dict[str, float]:
        world = search(_lesson(), world_seed=0, gate=gate)
        with trained(world, Arm("ssp"), seed, CHANGES) as end:
            return craft(end.policy())

    return measure


CLAIM = Claim(
    property="""A language model that proposes valid questions goes on doing so, and solves an
        expert's, where a gate checks questions; paid for questions that no solver solves, it
        proposes fewer.""",
    source="""Lu et al. 2025, Search Self-play, arXiv 2510.18821 (proposer and solver improve
        together behind the check by retrieval, and degrade without it); bounds are ours""",
    minutes=30.0,
    on="model",
    setting="""The lesson (30,000 turns of experts, five passes, as the starter model is built),
        then `ssp` in that world, 30 updates of 24 episodes, questions of two hops: with the gate,
        and with every question let through (`tag`). Of the seeds that are given the first three
        are run: the lesson alone takes half an hour of a busy machine.""",
    measured="""Over 120 plays each, sampled: the share of its proposals that pass the gate, and of
        an expert's questions that its solvers answer.""",
    chosen="""Sizes, and the bounds after one seed: a quarter of proposals valid at the start is
        what makes a start; without the gate a tenth of the proposals or more is lost, with it
        nothing but noise (0.05).""",
    note="""30 updates of 24 episodes, one world throughout: what is learnt of it is memory of its
        facts as well""",
    arms={
        "shipped": Once(lambda seed: _loaded("starter")),
        "taught": Once(lambda seed: _loaded(_lesson())),
        "gated": _under("full"),
        "open": _under("tag"),
    },
    expect=(
        Expect("valid proposals: shipped model", "shipped.valid"),
        Expect("valid proposals: after the lesson", "taught.valid", low=0.25),
        Expect("valid proposals: with the gate", "gated.valid"),
        Expect("valid proposals: without it", "open.valid"),
        Expect("valid proposals: gate minus lesson", "gated.valid - taught.valid", low=-0.05),
        Expect("valid proposals that the gate keeps", "gated.valid - open.valid", low=0.1),
        Expect("expert's questions solved: shipped model", "shipped.solved"),
        Expect("expert's questions solved: after the lesson", "taught.solved"),
        Expect("expert's questions solved: with the gate", "gated.solved"),
        Expect("expert's questions solved: without it", "open.solved"),
        Expect(
            "expert's questions solved: gate minus lesson",
            "gated.solved - taught.solved",
            low=-0.05,
        ),
    ),
    seeds=3,
)
