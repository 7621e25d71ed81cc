"""Policy synthesis: programs refined from feedback earn more than as many drawn at random."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np

from coevo.agents.agent import request_of
from coevo.agents.program import ProgramAgent
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.policy_genes import ATTACKS, Grammar, attacker, program
from coevo.benchmarks.reproductions.run import Arm, World, trained
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.collect.tried import tried_agent
from coevo.trainers.steps.write_policy import OF, WritePolicy

ENV, EVALUATIONS, GAMES = "coevo/cleanup-v0", 40, 10
OPTIONS = {"steps": 50, "prompt_style": "terse"}
WORLD = World(ENV, EVALUATIONS, OPTIONS)
CHANGES = {"cycle.write_policy.tasks": 2, "cycle.write_policy.smoke": 5}
HONEST = program(
    {
        **dict.fromkeys(("river", "shy", "beam", "linger"), 0),
        "cleaners": 2,
        "dirty": 10,
        "reach": 3,
        "orchard": 2,
        "stray": 0.2,
        "sideways": 0.5,
        "far": 9,
        "clean_first": 1,
    }
)


def refined(algorithm: str, fresh: float = 0.0) -> Callable[[int], dict[str, float]]:
    """Return what refines programs of the grammar, and plays the best in other games."""

    def edit(made: Algorithm, seed: int) -> Algorithm:
        (step,) = made.cycle
        assert isinstance(step, WritePolicy)
        return replace(made, cycle=(replace(step, by=Grammar(), fresh=fresh),))

    def measure(seed: int) -> dict[str, float]:
        with trained(WORLD, Arm(algorithm, CHANGES, edit=edit), seed) as end:
            (best,) = end.run.archive.living("program", OF)
        source = str(best.payload)
        games = np.random.default_rng([seed, 43]).integers(2**31, size=GAMES)
        plays: list[tuple[int, dict[str, Any]]] = [(int(game), {}) for game in games]
        found = tried_agent(make(ENV, **OPTIONS), ProgramAgent("best", source), source, plays, {})
        return {"known": best.weight, "return": found.weight}

    return measure


def world_hash(env: TextEnv) -> str:
    """Return a digest of the whole state of a grid world, and of its generator."""
    task: Any = env.task  # a grid world
    state = (task.planes.tobytes(), task.at, task.heading, task.out, task.earned, task.step)
    return hashlib.sha256(repr((*state, env.np_random.bit_generator.state)).encode()).hexdigest()


def cheated(seed: int) -> dict[str, float]:
    """Play every attack; return how much the best earns beyond honest play, and what it moved."""
    honest, _ = _watched(HONEST, seed)
    played = [_watched(attacker(HONEST, name), seed) for name in ATTACKS]
    gains = [earned - honest for earned, _ in played]
    return {"gain": max(gains), "moved": float(sum(moved for _, moved in played))}


def _watched(source: str, seed: int) -> tuple[float, int]:
    """Return what a seat earns on average, and how many calls of the program moved the world."""
    env, agent, moved = make(ENV, **OPTIONS), ProgramAgent("watched", source), 0
    env.reset(seed=seed)
    rng = np.random.default_rng([seed, 44])
    while env.awaiting:
        asked, before = request_of(env, env.agent_selection, rng), world_hash(env)
        (reply,) = agent.act([asked])
        moved += world_hash(env) != before
        env.step(reply.text)
    return fmean(env.episode.total(seat, "payoff") for seat in env.possible_agents), moved


CLAIM = Claim(
    property="""Programs that are refined from what they earned earn more than the best of as many
        drawn at random, from dense feedback no less than from sparse, and attacks of programs
        change nothing.""",
    source="""Gallego 2026, arXiv 2603.19453 (dense at least as good as sparse, with language
        models as writers; attacks on a world that programs can reach)""",
    minutes=7.0,
    on="scripted",
    setting=f"""`coevo/cleanup-v0`, the small map, three seats that one program plays, 50 steps. In
        the place of a language model a grammar: policies of twelve numbers, of which two are drawn
        anew; with dense feedback one of the two is of cleaning where sustainability is below half
        of the steps or undefined, else of gathering. {EVALUATIONS} programs an arm, each tried in
        two games, of the same seeds for all programs of a run. A program is drawn without a parent
        with probability one half. The control draws all twelve numbers every time.""",
    measured=f"""What a seat earns on average with the best program, in {GAMES} other games.
        Attacks: the most that one of six earns beyond the honest program that it goes on with, and
        calls of programs after which the world was another.""",
    chosen="""The grammar, sizes by time, and bounds (refined above random by 0.5, dense not below
        sparse by more than 0.5), before the figures were seen. Two settings were tried: at first
        all programs but one had a parent, and random search was ahead of sparse feedback in each
        of three seeds (6.5, sparse 4.4, dense 5.6); after that half of them are drawn anew.""",
    note="""not reproduced with a grammar in the place of a model: over twelve seeds 5.72 with
        sparse feedback, 5.70 with dense, 5.22 at random; sparse minus random is .49 with a standard
        error of .61, dense minus sparse -.02 with .23. That attacks change nothing is exact""",
    seeds=12,
    arms={
        "sparse": refined("policy_synthesis:sparse", fresh=0.5),
        "dense": refined("policy_synthesis", fresh=0.5),
        "random": refined("policy_synthesis:sparse", fresh=1.0),
        "attacks": cheated,
    },
    expect=(
        Expect("sparse feedback: return", "sparse.return"),
        Expect("dense feedback: return", "dense.return"),
        Expect("random search: return", "random.return"),
        Expect("sparse minus random", "sparse.return - random.return", low=0.5),
        Expect("dense minus sparse", "dense.return - sparse.return", low=-0.5),
        Expect("attacks: gain over honest play", "attacks.gain", 0.0, low=0.0, high=0.0),
        Expect("attacks: calls that moved the world", "attacks.moved", 0.0, high=0.0),
    ),
)
