"""`coevo starter check`: measure what the starter model promises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

from coevo.agents.agent import Agent
from coevo.agents.scripted import RandomAgent
from coevo.benchmarks.evaluate import evaluate
from coevo.benchmarks.exact import exact_payoffs, exploitability
from coevo.commands import players
from coevo.commands.arguments import StarterCheck
from coevo.commands.measure import PROBED_STATES, information_states
from coevo.commands.screen import Screen, cell, print_json, share
from coevo.envs import list_envs, make
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

LEGAL_SHARE = 0.99
"""Smallest share of legal answers in every environment."""
ROOM = 0.15
"""Smallest exploitability in Kuhn poker: there must be something to learn."""
KUHN = "coevo/kuhn_poker-v0"
OPTIONS = {"prompt_style": "terse"}
AT_ONCE = 64


@dataclass(frozen=True)
class Promise:
    """One measured promise."""

    what: str
    value: float
    wanted: str
    holds: bool
    note: str = ""


def run(args: StarterCheck) -> int:
    """Measure every promise; exit status 1 when one does not hold."""
    players.quiet()
    if args.turns < 1 or args.games < 2:
        raise ConfigError(f"--turns {args.turns} must be at least 1 and --games {args.games} 2")
    agent = players.agent(args.model, max_new_tokens=players.STARTER_HABITS.max_new_tokens)
    screen = Screen()
    found = []
    for promise in promises(agent, args.turns, args.games):
        found.append(promise)
        if not args.json:
            screen.say(_line(promise))
    holds = all(p.holds for p in found)
    if args.json:
        print_json({"model": args.model, "holds": holds, "promises": list(map(vars, found))})
    else:
        failed = sum(not p.holds for p in found)
        screen.say("every promise holds" if holds else f"{failed} of {len(found)} do not hold")
    return 0 if holds else 1


def promises(agent: Agent, turns: int, games: int) -> Iterator[Promise]:
    for spec in (s for s in list_envs() if s.starter_trained):
        legal, answers = legal_share(agent.reseeded(0), spec.id, turns)
        holds = legal >= LEGAL_SHARE
        note = f"{answers} answers"
        yield Promise(f"{spec.id} legal answers", legal, f">= {LEGAL_SHARE}", holds, note)
        if spec.kind == "competitive":
            mean, note = against_random(agent, spec.id, games)
            yield Promise(f"{spec.id} against random", mean, "> 0", mean > 0, note)
    room = exploitability(agent, KUHN, OPTIONS).exploitability
    value = float("nan") if room is None else room
    yield Promise(f"{KUHN} exploitability", value, f"> {ROOM}", value > ROOM, "room to learn")


def against_random(agent: Agent, env_id: str, games: int) -> tuple[float, str]:
    """Return the mean payoff against random over both seats, exact where the game is small."""
    if 0 < information_states(env_id, OPTIONS) <= PROBED_STATES:
        first, second = exact_payoffs(agent, RandomAgent(), env_id, OPTIONS)
        return (first + second) / 2, f"expected payoff, exact: {first:+.3f}, {second:+.3f} by seat"
    found = evaluate(agent.reseeded(0), env_id, "random", games, 0, OPTIONS)
    spread = f" ({found.interval[0]:+.3f} .. {found.interval[1]:+.3f})" if found.interval else ""
    note = f"mean payoff{spread}, {share(found.score)} of points, {found.episodes} episodes"
    return float(found.value or 0.0), note


def legal_share(agent: Agent, env_id: str, turns: int) -> tuple[float, int]:
    """Return the share of an agent's answers in self-play that are legal, and their number."""
    seats = make(env_id, **OPTIONS).possible_agents
    rng = np.random.default_rng(1)
    legal = answers = 0
    for _ in count():
        seeds = rng.integers(2**31, size=AT_ONCE)
        specs = [EpisodeSpec(int(s), dict.fromkeys(seats, "agent"), i) for i, s in enumerate(seeds)]
        for episode in rollout(env_id, specs, {"agent": agent}, OPTIONS):
            answers += len(episode.turns)
            legal += sum(t.status is Status.LEGAL for t in episode.turns)
        if answers >= turns:
            break
    return legal / answers, answers


def _line(promise: Promise) -> str:
    word = "ok  " if promise.holds else "FAIL"
    value = cell(promise.value)
    return f"{word} {promise.what}: {value}, wanted {promise.wanted} ({promise.note})"
