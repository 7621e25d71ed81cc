"""Search self-play on the starter model: what holds in every episode, what a short run brings."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium.utils import seeding

from coevo.agents.policy import Policy
from coevo.agents.sampling import SamplingConfig
from coevo.agents.strategies.expert import ExpertAgent
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import Arm, Trained, World, trained
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.search.proposals import REASONS, VALID
from coevo.envs.search.world import World as Graph
from coevo.envs.search.worlds import world
from coevo.trainers.advantage import AdvantageConfig, advantages
from coevo.trainers.batch import Batch
from coevo.trainers.build import build
from coevo.trainers.collect.collector import Collected
from coevo.trainers.collect.rollout import EpisodeSpec, rollout
from coevo.trainers.run import Run

ENV = "coevo/search_self_play-v0"
STEPS, EPISODES, HELD_OUT = 30, 24, 60
REPLY = SamplingConfig(max_new_tokens=24)
TRAIN = {"name": "fictional", "split": "train"}
TEST = {"name": "fictional", "split": "test"}
CHANGES = {"collect.episodes": EPISODES}
FAULTS = ("tokens", "links", "payments", "credits", "reasons", "leaks")


def search(model: str, **options: Any) -> World:
    """Return where `ssp` trains from a model."""
    settings = {"model": model, "sampling": REPLY, "threads": 1}
    return World(ENV, STEPS, options, settings=settings)


WORLD = search("starter", world=TRAIN)


def held_out(policy: Policy, episodes: int, seed: int = 50_000) -> dict[str, float]:
    """Let a policy solve what a scripted proposer asks, and propose what no solver has to solve."""
    players = {"policy": policy.greedy("policy"), "expert": ExpertAgent(1.0)}
    options = {"prompt_style": "terse", "world": TEST, "solvers": 1}
    solving = {"proposer_0": "expert", "solver_0": "policy"}
    matches = [EpisodeSpec(seed + i, solving) for i in range(episodes)]
    played = rollout(ENV, matches, players, options)
    asked = [e.outcome["success"] for e in played if "success" in e.outcome]
    proposing = {"proposer_0": "policy", "solver_0": "expert"}
    matches = [EpisodeSpec(seed + i, proposing) for i in range(episodes)]
    passed = [e.outcome[f"gate/{VALID}"] for e in rollout(ENV, matches, players, options)]
    return {"accuracy": float(np.mean(asked)), "valid": float(np.mean(passed))}


def _measure(end: Trained) -> dict[str, float]:
    return held_out(end.policy(), HELD_OUT)


# ---- Invariants -------------------------------------------------------------------------------


def _first_update(**options: Any) -> Callable[[int], dict[str, float]]:
    def measure(seed: int) -> dict[str, float]:
        with trained(WORLD, Arm("ssp", options=options), seed, CHANGES, steps=0) as end:
            return first_update(end.run)

    return measure


def first_update(run: Run) -> dict[str, float]:
    gathered = run.collector.collect(0)
    batch = build(gathered.episodes, gathered.groups, run.learners)
    assert batch is not None  # every episode has a proposer that speaks
    return invariants(gathered, batch, run.config.algorithm.advantage)


def invariants(gathered: Collected, batch: Batch, spec: AdvantageConfig) -> dict[str, float]:
    """Count what must not be: shares of faults, beside the number of what was looked at.

    `tokens` of the loss that were not sampled, or the other way round; `links`, turns of solvers
    that name another turn than the question they answer; `payments`, proposers whose payment is not
    1 - s of their own solvers, or 0 after a rejection; `credits`, proposers whose advantage is not
    their payment; `reasons`, finished proposals without a reason that the gate knows; `leaks`,
    accepted questions that name their answer or a bridge.
    """
    episodes = [e for e in gathered.episodes if e.stop is not StopReason.ERROR]
    proposals = [t for e in episodes for t in e.turns if "gate" in t.notes]
    accepted = [(e, t) for e in episodes for t in e.turns if t.notes.get("gate") == VALID]
    solving = [(e, t) for e in episodes for t in e.turns if t.role == "solver"]
    every = {VALID, *REASONS}
    return {
        "episodes": float(len(episodes)),
        "valid": float(len(accepted)),
        "solving": float(len(solving)),
        "tokens": _strange_tokens(episodes, batch),
        "links": _share(not _linked(e, t) for e, t in solving),
        "payments": _share(not _paid_rightly(e) for e in episodes),
        "credits": _strange_credits(episodes, batch, spec),
        "reasons": _share(t.notes["gate"] not in every for t in proposals)
        + abs(len(proposals) - len(episodes)),
        "leaks": _share(_leaks(e, t) for e, t in accepted),
    }


def _share(faults: Iterable[bool]) -> float:
    found = [float(fault) for fault in faults]
    return sum(found) / len(found) if found else 0.0


def _strange_tokens(episodes: Sequence[Episode], batch: Batch) -> float:
    """Compare the tokens that the loss reads with those that were sampled, in order."""
    read: dict[int, list[int]] = {}
    order = sorted(range(len(batch.span_C)), key=lambda c: int(batch.offset_C[c]))
    for c in order:
        span = batch.spans[int(batch.span_C[c])]
        ids = [i for a, b in zip(span.starts, span.ends, strict=True) for i in span.ids[a:b]]
        assert len(ids) == int(batch.mask_CL[c].sum())
        read.setdefault(int(batch.trajectory_C[c]), []).extend(ids)
    wrong = [
        read.get(b, []) != [i for t in turns for i in t.token_ids or ()]
        for b, turns in enumerate(batch.turns_B)
    ]
    sampled = sum(len(t.token_ids or ()) for e in episodes for t in e.turns)
    counted = int(batch.token_mask_BS.sum())
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
    a_BS = batch.joined(advantages(spec, batch)[0].advantage_CL)
    faults = []
    for b, (at, seat) in enumerate(batch.origin_B):
        if seat.startswith("proposer"):
            tokens_S = batch.token_mask_BS[b]
            wanted = torch.full_like(a_BS[b][tokens_S], episodes[at].total(seat))
            faults.append(not torch.allclose(a_BS[b][tokens_S], wanted, atol=1e-5))
    return _share(faults)


def _leaks(episode: Episode, turn: Turn) -> bool:
    """Return whether an accepted question names its answer or what lies between.

    One that leads nowhere should not have been accepted, and counts too; an open gate lets it pass.
    """
    here = world_of(episode)
    path = here.parse(str(turn.answer))
    if path is None:
        return True
    try:
        _, *between, answer = here.trace(path)
    except ConfigError:
        return True
    said = f" {str(turn.answer).casefold()} "
    return any(f" {name.casefold()} " in said for name in (*between, answer))


def world_of(episode: Episode) -> Graph:
    """Make the world of an episode again: its seed is the first that the episode drew."""
    rng, _ = seeding.np_random(episode.seed)
    return world(episode.options.get("world", "fictional"), int(rng.integers(2**31)))


CLAIM = Claim(
    property="""On the starter model the loss reads what was sampled, proposers are paid and
        credited for their own solvers alone, every rejection has a reason, and no accepted question
        leaks.""",
    source="""Lu et al. 2025, Search Self-play, arXiv 2510.18821 (who is paid for what, and the
        checks of a question); 0 faults is what these rules say, the published accuracies are of 7B
        models""",
    minutes=6.0,
    on="model",
    setting="""`ssp`, `coevo/search_self_play-v0` in its terse style, questions of two hops in
        invented worlds of the `train` half of names; one run per seed of 30 updates of 24
        episodes.""",
    measured="""Over the episodes of the first update: the loss reads exactly the tokens that were
        sampled; a proposer is paid for its own solvers and has that payment as its advantage; a
        rejected one has none, whatever the solvers of the slot do; every proposal has a reason; no
        question that passed names its answer or a bridge. A weak proposer passes the gate seldom:
        the same is looked at with the gate open (`tag`), where every question is solved. Held out:
        worlds of the `test` half, which share no name with those of training; questions by a
        scripted proposer, answered greedily by the policy, before and after, 60 episodes each.""",
    chosen="""Bounds on the invariants alone: a model of this size learns the form of searching from
        transcripts, and its runs are too short for a claim about accuracy.""",
    world=WORLD,
    changes=CHANGES,
    arms={
        "full": _first_update(),
        "open": _first_update(gate="tag"),
        "before": Arm("ssp", steps=0),
        "after": Arm("ssp"),
    },
    measure=_measure,
    expect=(
        Expect("questions that passed the gate, first update", "full.valid"),
        Expect("turns of solvers, gate full", "full.solving"),
        Expect("turns of solvers, gate open", "open.solving", low=1.0),
        *(
            Expect(f"faults, gate {gate}: {name}", f"{gate}.{name}", 0.0, high=0.0)
            for gate in ("full", "open")
            for name in FAULTS
            if (gate, name) != ("open", "leaks")
        ),
        Expect("held out, two hops: before", "before.accuracy"),
        Expect("held out, two hops: after", "after.accuracy"),
        Expect("valid proposals, held out: before", "before.valid"),
        Expect("valid proposals, held out: after", "after.valid"),
    ),
)
