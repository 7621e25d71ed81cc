"""Dr. MAS with the language model that ships with the package, on a team that searches.

Setting   `coevo/search_router-v0` in terse prompts: router, searcher and answerer with a copy of
          the starter model each. The record `dr_mas` with statistics per start and agent, and its
          variant `pooled`, from the same start and on the same questions; 8 questions times 8
          episodes per update. Of the seeds that are given the first two are run: a run trains for
          minutes.
Measured  Per agent, the gradient norm over the updates: its peak over its median. Accuracy on
          questions that no run has seen, before and after; how often each agent is asked, and how
          many of its replies cannot be read.
Chosen    Settings and bounds: the paper has no figure at this size. Statistics per start calm
          nothing in the tables of `dr_mas_spikes`, so the norms are reported and not asserted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, median
from typing import Any

from coevo.agents.agent import Agent
from coevo.agents.models.seated import stream_seed
from coevo.agents.population import Separate
from coevo.agents.sampling import SamplingConfig
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row
from coevo.benchmarks.reproductions.table_run import started
from coevo.envs import make
from coevo.trainers.algorithms import algorithm
from coevo.trainers.collect.rollout import EpisodeSpec, rollout
from coevo.trainers.loop import updates

ENV, OPTIONS = "coevo/search_router-v0", {"prompt_style": "terse"}
UPDATES, EPISODES, GROUP, LR = 40, 64, 8, 3e-4
HELD_OUT, FAR = 300, 2**30
"""Episodes of an evaluation, and the first of their seeds: far from those that runs draw."""
MOST = 2
"""Seeds that are run."""
ARMS = {"pooled": "pooled", "per agent": None}


@dataclass(frozen=True)
class Found:
    """What one run left behind."""

    before: float
    after: float
    spikes: Mapping[str, float]
    """Seat -> peak over median of its gradient norms."""
    asked: Mapping[str, float]
    unread: Mapping[str, float]
    """Seat -> mean over the last ten updates."""


def run(seeds: Sequence[int]) -> Outcome:
    """Train the team of every seed with pooled statistics and with statistics per agent."""
    found = {arm: [trained(variant, s) for s in seeds[:MOST]] for arm, variant in ARMS.items()}
    own, pooled = found["per agent"], found["pooled"]
    rows = [Row("accuracy before", tuple(f.before for f in own))]
    for arm, runs in found.items():
        rows.append(Row(f"accuracy after, {arm}", tuple(f.after for f in runs)))
    gain = tuple(f.after - f.before for f in own)
    beside = tuple(f.after - g.after for f, g in zip(own, pooled, strict=True))
    rows += [
        Row("gain in accuracy, per agent", gain, low=-0.02),
        Row("accuracy, per agent - pooled", beside, low=-0.05),
    ]
    for seat in own[0].spikes:
        for arm, runs in found.items():
            rows.append(Row(f"{seat}: peak / median norm, {arm}", _of(runs, "spikes", seat)))
    for seat in own[0].spikes:
        rows.append(Row(f"{seat}: share of the replies, per agent", _of(own, "asked", seat)))
        rows.append(Row(f"{seat}: replies not read, per agent", _of(own, "unread", seat)))
    return Outcome(tuple(rows), f"{UPDATES} updates of {EPISODES} episodes, {len(own)} seeds")


def _of(runs: Sequence[Found], what: str, seat: str) -> tuple[float, ...]:
    return tuple(getattr(f, what)[seat] for f in runs)


def trained(variant: str | None, seed: int) -> Found:
    """Train one team and measure it before and after."""
    changes: dict[str, Any] = {
        "population": Separate(),
        "collect.episodes": EPISODES,
        "collect.group_size": GROUP,
        "optim.lr": LR,
    }
    made, reply = algorithm("dr_mas", variant, changes), SamplingConfig(max_new_tokens=16)
    begin = partial(
        started, made, ENV, OPTIONS, model="starter", sampling=reply, seed=seed, steps=UPDATES
    )
    with begin() as team:
        before = accuracy(team.policies(), seed)
    with begin() as team:
        log = [done.metrics for done in updates(team)]
        after = accuracy(team.policies(), seed)
    seats = make(ENV, **OPTIONS).possible_agents
    late = log[-10:]
    return Found(
        before,
        after,
        {s: _spike([m.get(f"{s}/grad_norm", 0.0) for m in log]) for s in seats},
        {s: fmean(m[f"invocation/{s}"] for m in late) for s in seats},
        {s: fmean(m[f"parse_fail/{s}"] for m in late) for s in seats},
    )


def _spike(norms: Sequence[float]) -> float:
    """Peak over median; a seat that is seldom asked has a median of 0, which is left out."""
    moved = [norm for norm in norms if norm > 0]
    return max(moved) / median(moved) if moved else 0.0


def accuracy(policies: Mapping[str, Agent], seed: int) -> float:
    """Return the share of unseen questions that the team answers."""
    for number, agent in enumerate(policies.values()):
        agent.reseed(stream_seed(seed, number))
        agent.forget()
    players = {seat: seat for seat in policies}
    matches = [EpisodeSpec(FAR + i, players, stream=i) for i in range(HELD_OUT)]
    episodes = rollout(ENV, matches, policies, OPTIONS)
    return fmean(e.total(e.agents[0], "payoff") for e in episodes)


REPRODUCTION = Reproduction(
    name="dr_mas_starter",
    property="A team of language models learns with statistics per agent no worse than with pooled "
    "ones; the norms of its gradients stand beside each other.",
    source="Feng et al. 2026, Dr. MAS, arXiv 2602.08847 (search orchestration: agent-wise "
    "statistics against global ones); bounds are ours",
    minutes=8,
    run=run,
    on="model",
)
