"""Search self-play on the starter model: what holds in every episode, what a short run brings.

Run        record `ssp`, `coevo/search_self_play-v0` in its terse style, questions of two hops in
           invented worlds of the `train` half of names; one run per seed.
Invariants over the episodes of the first update: the loss reads exactly the tokens that were
           sampled; a proposer is paid for its own solvers and has that payment as its advantage; a
           rejected one has none, whatever the solvers of the slot do; every proposal has a reason;
           no question that passed names its answer or a bridge. A weak proposer passes the gate
           seldom: the same is looked at with the gate open (`tag`), where every question is solved.
Held out   worlds of the `test` half, which share no name with those of training; questions by a
           scripted proposer, answered greedily by the policy, before and after.
Bounds     on the invariants alone: a model of this size learns the form of searching from
           transcripts, and its runs are too short for a claim about accuracy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from coevo.agents.policy import Policy
from coevo.agents.sampling import SamplingConfig
from coevo.agents.strategies.expert import ExpertAgent
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row
from coevo.benchmarks.reproductions.table_run import started
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.search.proposals import REASONS, VALID
from coevo.envs.search.world import World
from coevo.envs.search.worlds import world
from coevo.trainers.algorithms import algorithm
from coevo.trainers.collect.collector import Collected
from coevo.trainers.collect.rollout import EpisodeSpec, rollout
from coevo.trainers.estimators import AdvantageConfig, advantages
from coevo.trainers.items.sequences import Batch, build
from coevo.trainers.loop import finish
from coevo.trainers.run import Run, output_policy

ENV = "coevo/search_self_play-v0"
STEPS, EPISODES, HELD_OUT = 30, 24, 60
REPLY = SamplingConfig(max_new_tokens=24)
TRAIN = {"name": "fictional", "split": "train"}
TEST = {"name": "fictional", "split": "test"}
OPEN = {"world": TRAIN, "gate": "tag"}
MODEL = "starter"


@dataclass(frozen=True)
class HeldOut:
    """What the policy does in worlds that it has not seen."""

    accuracy: float
    """Share of the questions answered rightly."""
    valid: float
    """Share of its own proposals that pass the gate."""


@dataclass(frozen=True)
class Invariants:
    """What must hold in the episodes of an update; all but the first three are shares of faults."""

    episodes: int
    valid: int
    """Questions that passed."""
    solving: int
    """Turns of solvers."""
    tokens: float
    """Tokens of the loss that were not sampled, or the other way round."""
    links: float
    """Solver turns that name another turn than the question they answer."""
    payments: float
    """Proposers whose payment is not 1 - s of their own solvers, or 0 after a rejection."""
    credits: float
    """Proposers whose advantage is not what they were paid."""
    reasons: float
    """Finished proposals without a reason that the gate knows."""
    leaks: float
    """Accepted questions that name their answer or a bridge."""


def run(seeds: Sequence[int]) -> Outcome:
    """Look at the first update of every seed, and train."""
    faults: list[Invariants] = []
    opened: list[Invariants] = []
    before, after = [], []
    for seed in seeds:
        for found, options in ((faults, None), (opened, OPEN)):
            with begun(seed, options) as first:
                found.append(first_update(first))
        began, ended = trained(seed)
        before.append(began)
        after.append(ended)
    named = ("tokens", "links", "payments", "credits", "reasons", "leaks")
    rows = [
        Row(f"faults, {gate}: {name}", _each(found, name), 0.0, high=0.0)
        for gate, found in (("gate full", faults), ("gate open", opened))
        for name in named
        if name != "leaks" or found is faults
    ]
    return Outcome(
        (
            Row("questions that passed the gate, first update", _each(faults, "valid")),
            Row("turns of solvers, gate full", _each(faults, "solving")),
            Row("turns of solvers, gate open", _each(opened, "solving"), low=1.0),
            *rows,
            Row("held out, two hops: before", _each(before, "accuracy")),
            Row("held out, two hops: after", _each(after, "accuracy")),
            Row("valid proposals, held out: before", _each(before, "valid")),
            Row("valid proposals, held out: after", _each(after, "valid")),
        ),
        note=f"{STEPS} updates of {EPISODES} episodes; {HELD_OUT} held-out episodes each, greedy.",
    )


def _each(found: Sequence[Any], name: str) -> tuple[float, ...]:
    return tuple(float(getattr(f, name)) for f in found)


def begun(
    seed: int, options: Mapping[str, Any] | None = None, model: str | None = None
) -> AbstractContextManager[Run]:
    """Start the run of a seed.

    Args:
        seed: of the run.
        options: arguments of the environment; None takes worlds of training.
        model: where its policy starts; None takes `MODEL`.
    """
    return started(
        algorithm("ssp", changes={"collect.episodes": EPISODES}),
        ENV,
        options or {"world": TRAIN},
        model=model or MODEL,
        sampling=REPLY,
        seed=seed,
        steps=STEPS,
        threads=1,
    )


def trained(seed: int) -> tuple[HeldOut, HeldOut]:
    """Train; give what the policy does in held-out worlds before and after."""
    with begun(seed) as run:
        before = held_out(run.learners["policy"].agent, HELD_OUT)
    with begun(seed) as run:
        finish(run)
        return before, held_out(output_policy(run.learners["policy"]), HELD_OUT)


def held_out(policy: Policy, episodes: int, seed: int = 50_000) -> HeldOut:
    """Let a policy solve what a scripted proposer asks, and propose what nobody has to solve.

    Args:
        policy: answers greedily.
        episodes: of either kind.
        seed: of the first episode; the next ones count up.
    """
    greedy = policy.greedy("policy")
    players = {"policy": greedy, "expert": ExpertAgent(1.0)}
    options = {"prompt_style": "terse", "world": TEST, "solvers": 1}
    solving = {"proposer_0": "expert", "solver_0": "policy"}
    matches = [EpisodeSpec(seed + i, solving) for i in range(episodes)]
    asked = [e.outcome["success"] for e in rollout(ENV, matches, players, options) if _opened(e)]
    proposing = {"proposer_0": "policy", "solver_0": "expert"}
    matches = [EpisodeSpec(seed + i, proposing) for i in range(episodes)]
    passed = [e.outcome[f"gate/{VALID}"] for e in rollout(ENV, matches, players, options)]
    return HeldOut(float(np.mean(asked)), float(np.mean(passed)))


def _opened(episode: Episode) -> bool:
    return "success" in episode.outcome


# ---- Invariants -------------------------------------------------------------------------------


def first_update(run: Run) -> Invariants:
    """Play the first update of a run and look at it; nothing is learnt."""
    gathered = run.collector.collect(0)
    batch = build(gathered.episodes, gathered.groups, run.learners)
    assert batch is not None  # every episode has a proposer that speaks
    return invariants(gathered, batch, run.config.algorithm.advantage)


def invariants(gathered: Collected, batch: Batch, spec: AdvantageConfig) -> Invariants:
    """Count what must not be.

    Args:
        gathered: episodes of one update in one kind of world.
        batch: its rows.
        spec: the advantages of the record.
    """
    episodes = [e for e in gathered.episodes if e.stop is not StopReason.ERROR]
    proposals = [t for e in episodes for t in e.turns if "gate" in t.notes]
    accepted = [(e, t) for e in episodes for t in e.turns if t.notes.get("gate") == VALID]
    solving = [(e, t) for e in episodes for t in e.turns if t.role == "solver"]
    every = {VALID, *REASONS}
    return Invariants(
        episodes=len(episodes),
        valid=len(accepted),
        solving=len(solving),
        tokens=_strange_tokens(episodes, batch),
        links=_share(not _linked(e, t) for e, t in solving),
        payments=_share(not _paid_rightly(e) for e in episodes),
        credits=_strange_credits(episodes, batch, spec),
        reasons=_share(t.notes["gate"] not in every for t in proposals)
        + abs(len(proposals) - len(episodes)),
        leaks=_share(_leaks(e, t) for e, t in accepted),
    )


def _share(faults: Any) -> float:
    found = [float(fault) for fault in faults]
    return sum(found) / len(found) if found else 0.0


def _strange_tokens(episodes: Sequence[Episode], batch: Batch) -> float:
    """Compare the tokens that the loss reads with those that were sampled, in order."""
    read: dict[int, list[int]] = {}
    order = sorted(
        range(len(batch.sequences.span_C)), key=lambda c: int(batch.sequences.offset_C[c])
    )
    for c in order:
        span = batch.sequences.spans[int(batch.sequences.span_C[c])]
        ids = [i for a, b in zip(span.starts, span.ends, strict=True) for i in span.ids[a:b]]
        assert len(ids) == int(batch.sequences.mask_CL[c].sum())
        read.setdefault(int(batch.sequences.trajectory_C[c]), []).extend(ids)
    wrong = [
        read.get(b, []) != [i for t in turns for i in t.token_ids or ()]
        for b, turns in enumerate(batch.turns_B)
    ]
    sampled = sum(len(t.token_ids or ()) for e in episodes for t in e.turns)
    counted = int(batch.trajectories.token_mask_BS.sum())
    return _share(wrong) + abs(sampled - counted)


def _linked(episode: Episode, turn: Turn) -> bool:
    """Return whether a solver's turn is about the accepted question of its episode."""
    about = episode.turns[turn.about] if turn.about >= 0 else None
    return about is not None and about.notes.get("gate") == VALID and about.role == "proposer"


def _paid_rightly(episode: Episode) -> bool:
    solvers = [a for a in episode.agents if a.startswith("solver")]
    opened = any(t.notes.get("gate") == VALID for t in episode.turns)
    share = sum(episode.total(a, "payoff") > 0 for a in solvers) / len(solvers)
    due = 1.0 - share if opened else 0.0
    return abs(episode.total("proposer_0", "payoff") - due) < 1e-9


def _strange_credits(episodes: Sequence[Episode], batch: Batch, spec: AdvantageConfig) -> float:
    """Compare the advantage of proposers with what they were paid."""
    a_BS = advantages(spec, batch.trajectories).advantage_BS
    faults = []
    for b, (at, seat) in enumerate(batch.origin_B):
        if seat.startswith("proposer"):
            tokens_S = batch.trajectories.token_mask_BS[b]
            wanted = torch.full_like(a_BS[b][tokens_S], episodes[at].total(seat))
            faults.append(not torch.allclose(a_BS[b][tokens_S], wanted, atol=1e-5))
    return _share(faults)


def _leaks(episode: Episode, turn: Turn) -> bool:
    """Return whether an accepted question names its answer or what lies between.

    One that leads nowhere should not have been accepted, and counts too; an open gate lets it pass.
    """
    here = _world_of(episode)
    path = here.parse(str(turn.answer))
    if path is None:
        return True
    try:
        _, *between, answer = here.trace(path)
    except ConfigError:
        return True
    said = f" {str(turn.answer).casefold()} "
    return any(f" {name.casefold()} " in said for name in (*between, answer))


def _world_of(episode: Episode) -> World:
    """Make the world of an episode again: its seed is the first that the episode drew."""
    from gymnasium.utils import seeding

    rng, _ = seeding.np_random(episode.seed)
    return world(episode.options.get("world", "fictional"), int(rng.integers(2**31)))


REPRODUCTION = Reproduction(
    name="ssp_starter",
    property="On the starter model the loss reads what was sampled, proposers are paid and "
    "credited for their own solvers alone, every rejection has a reason, and no "
    "accepted question leaks.",
    source="Lu et al. 2025, Search Self-play, arXiv 2510.18821 (who is paid for what, and the "
    "checks of a question); 0 faults is what these rules say, the published accuracies are of "
    "7B models",
    minutes=6.0,
    run=run,
    on="model",
)
