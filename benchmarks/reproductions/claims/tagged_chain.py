"""Chain-of-Agents: a seat that imitated a team in tags goes on to answer more questions right."""

import functools
import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from coevo.agents.population import MakePolicy
from coevo.agents.strategies.expert import ExpertAgent
from coevo.agents.table import Rows, Table, TabularPolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import ADAM, Arm, Trained, World
from coevo.envs import make
from coevo.envs.core.episode import Episode, write_episodes
from coevo.envs.search.relations import COMPACT
from coevo.envs.search.router_words import ANSWERER, ROUTER, SEARCHER
from coevo.envs.search.tagged_single import SOLVER
from coevo.envs.search.team_tags import distilled
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

TEAM, SINGLE = "coevo/search_router-v0", "coevo/tagged_single-v0"
OPTIONS: dict[str, Any] = {"world_seed": 0, "hops": (1, 2)}
LISTED = {**OPTIONS, "prompt_style": "terse", "replies": "listed"}
SKILL, PLAYS = 0.6, 400
FIRST, HALF, UPDATES = 40, 80, 160
TWO_STAGES = {"cycle.demonstrate.until": FIRST}
_WORD = re.compile("|".join([r"[A-Z][a-z]+", *(rf"\b{relation.name}\b" for relation in COMPACT)]))


class Places(Rows):
    """Sees names and relations by the order in which they come, so that questions are alike."""

    def key(self, messages: Sequence[str], legal: Sequence[str]) -> str:
        met: dict[str, str] = {}
        text = json.dumps([messages[-1], *legal])
        return _WORD.sub(lambda found: met.setdefault(found[0], f"w{len(met)}"), text)


def _maker(seed: int) -> MakePolicy:
    known = Places()

    def made(name: str, **given: Any) -> TabularPolicy:
        return TabularPolicy(Table(), known, name=name)

    return made


def _team(first: int, count: int) -> list[Episode]:
    players = {seat: ExpertAgent(SKILL) for seat in (ROUTER, SEARCHER, ANSWERER)}
    specs = [EpisodeSpec(first + i, {seat: seat for seat in players}) for i in range(count)]
    return rollout(TEAM, specs, players, OPTIONS)


@functools.cache
def _place() -> tempfile.TemporaryDirectory[str]:
    """Return where records of teams lie until the process ends."""
    return tempfile.TemporaryDirectory(prefix="coevo-team-")


def _shown(made: Algorithm, seed: int) -> Algorithm:
    """Let a team's record, one for each seed, be what is imitated."""
    record = Path(_place().name) / f"{seed}.jsonl"
    if not record.exists():
        env = make(SINGLE, **LISTED)
        told = [distilled(episode, env) for episode in _team(100_000 * (seed + 1), PLAYS)]
        write_episodes(record, [episode for episode in told if episode is not None])
    steps = [replace(s, recorded=str(record)) if s.name == "demonstrate" else s for s in made.cycle]
    return replace(made, cycle=tuple(steps))


def _measure(end: Trained) -> dict[str, float]:
    """Let the policy play in another world, whose names it has never met."""
    specs = [EpisodeSpec(5_000 + i, {SOLVER: SOLVER}) for i in range(PLAYS)]
    played = rollout(SINGLE, specs, {SOLVER: end.policy()}, {**LISTED, "world_seed": 1})
    return {
        name: fmean(e.outcome[name] for e in played) for name in ("accuracy", "illegal_share")
    } | {"calls": fmean(len(e.turns) for e in played)}


def _teams(seed: int) -> dict[str, float]:
    return {"accuracy": fmean(e.outcome["accuracy"] for e in _team(100_000 * (seed + 1), PLAYS))}


CLAIM = Claim(
    property="""A single seat that has imitated right episodes of a team in tags, and then learns
        by GRPO, answers more questions than with more of the imitation, about as many as a team
        that never errs, and puts hardly a segment in a wrong place.""",
    source="""Li et al. 2025, Chain-of-Agents, arXiv 2508.13167 (distillation of teams, then
        reinforcement); references: a team that never errs is right, and a seat that searches once
        for each fact calls 1.5 times and once more to answer; the world and the bounds are
        ours""",
    minutes=8.0,
    on="table",
    setting=f"""`coevo/tagged_single-v0` with listed replies, questions of one or two facts in one
        world; a table that sees names and relations by their order. The team is that of
        `coevo/search_router-v0` with experts of skill {SKILL}; {PLAYS} of its episodes, those that
        are right and legal, are imitated for {FIRST} updates of 64; then GRPO to update {UPDATES}.
        Controls: imitation to the end, and GRPO from the start. Adam, 0.05.""",
    measured=f"""Over {PLAYS} sampled episodes in another world, whose names the table has never
        met: right answers, segments in wrong places among all segments, and replies of the policy.
        Halfway is update {HALF}.""",
    chosen="""Sizes, skill and learning rate, before anything was run; that GRPO alone is measured
        halfway too, after one seed.""",
    limits="""The list of replies holds every tag, so that GRPO alone finds them by chance: what
        the distillation is worth to a policy that has to write them is not shown.""",
    world=World(SINGLE, UPDATES, LISTED, _maker),
    changes={**ADAM, "optim.lr": 0.05},
    arms={
        "team": _teams,
        "imitated": Arm("chain_of_agents:distilled", edit=_shown, steps=FIRST),
        "longer": Arm("chain_of_agents:distilled", edit=_shown),
        "half": Arm("chain_of_agents", TWO_STAGES, edit=_shown, steps=HALF),
        "chain": Arm("chain_of_agents", TWO_STAGES, edit=_shown),
        "early": Arm("chain_of_agents:undistilled", steps=HALF),
        "alone": Arm("chain_of_agents:undistilled"),
    },
    measure=_measure,
    expect=(
        Expect("right, the team that is imitated", "team.accuracy"),
        Expect("right, after the imitation", "imitated.accuracy"),
        Expect("right, imitation to the end", "longer.accuracy"),
        Expect("right, imitation and GRPO, halfway", "half.accuracy"),
        Expect("right, imitation and GRPO", "chain.accuracy", 1.0, low=0.95),
        Expect("right, GRPO alone, halfway", "early.accuracy"),
        Expect("right, GRPO alone", "alone.accuracy"),
        Expect("GRPO after imitation - more imitation", "chain.accuracy - longer.accuracy", low=0),
        Expect("segments in wrong places, after the imitation", "imitated.illegal_share"),
        Expect("segments in wrong places, at the end", "chain.illegal_share", high=0.02),
        Expect("replies an episode, at the end", "chain.calls", 2.5, high=2.75),
    ),
)
