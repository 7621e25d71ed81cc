"""`coevo seed-model check`: what the seed model promises, measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from coevo.agents.agent import Agent
from coevo.agents.scripted import RandomAgent
from coevo.agents.seated import reseed
from coevo.benchmarks.evaluate import evaluate
from coevo.benchmarks.exploitability import exact_payoffs, exploitability
from coevo.commands import players
from coevo.commands.arguments import SeedModelCheck
from coevo.commands.measure import is_small
from coevo.commands.screen import Screen, cell, print_json, share
from coevo.envs import list_envs, make
from coevo.envs.core.episode import Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status
from coevo.trainers.rollout import Match, play

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
    """Environment and measure."""
    value: float
    wanted: str
    """The bound, in words."""
    holds: bool
    note: str = ""


def run(args: SeedModelCheck) -> int:
    """Measure every promise; exit status 1 when one does not hold."""
    players.quiet()
    if args.turns < 1 or args.games < 2:
        raise ConfigError(f"--turns {args.turns} must be at least 1 and --games {args.games} 2")
    agent = players.agent(args.model, max_new_tokens=players.SEED_HABITS.max_new_tokens)
    screen = Screen()
    found = []
    for promise in promises(agent, args.turns, args.games):
        found.append(promise)
        if not args.json:
            screen.say(_line(promise))
    holds = all(p.holds for p in found)
    if args.json:
        print_json({"model": args.model, "holds": holds, "promises": [_plain(p) for p in found]})
    else:
        failed = sum(not p.holds for p in found)
        screen.say("every promise holds" if holds else f"{failed} of {len(found)} do not hold")
    return 0 if holds else 1


def promises(agent: Agent, turns: int, games: int) -> Iterator[Promise]:
    """Measure one promise after the other.

    Args:
        agent: the seed model.
        turns: sampled answers per environment, at least.
        games: plays against random in each competitive environment.
    """
    for spec in list_envs():
        reseed(agent, 0)
        legal, answers = legal_share(agent, spec.id, turns)
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
    """Give the mean payoff against random over both seats, exact where the game is small."""
    if is_small(env_id, OPTIONS):
        first, second = exact_payoffs(agent, RandomAgent(), env_id, OPTIONS)
        return (first + second) / 2, f"expected payoff, exact: {first:+.3f}, {second:+.3f} by seat"
    score = evaluate(agent, env_id, "random", games, 0, OPTIONS, samples=0).total
    spread = f" ({score.interval[0]:+.3f} .. {score.interval[1]:+.3f})" if score.interval else ""
    note = f"mean payoff{spread}, {share(score.points)} of points, {score.plays} plays"
    return score.mean_return, note


def legal_share(agent: Agent, env_id: str, turns: int) -> tuple[float, int]:
    """Give the share of an agent's answers in self-play that are legal moves, and their number."""
    seats = make(env_id, **OPTIONS).possible_agents
    rng = np.random.default_rng(1)
    legal = answers = 0
    for _ in count():
        seeds = rng.integers(2**31, size=AT_ONCE)
        matches = [Match(int(s), dict.fromkeys(seats, "agent"), i) for i, s in enumerate(seeds)]
        for episode in play(env_id, matches, {"agent": agent}, OPTIONS):
            answers += len(episode.turns)
            legal += sum(map(_well_formed, episode.turns))
        if answers >= turns:
            break
    return legal / answers, answers


def _well_formed(turn: Turn) -> bool:
    """Tell whether a reply is a legal move; where any text is, whether it could be read."""
    return turn.status is Status.LEGAL and "unread" not in turn.notes


def _line(promise: Promise) -> str:
    word = "ok  " if promise.holds else "FAIL"
    value = cell(promise.value)
    return f"{word} {promise.what}: {value}, wanted {promise.wanted} ({promise.note})"


def _plain(promise: Promise) -> dict[str, Any]:
    return vars(promise)
