"""From agents and seeds to episodes: many plays in step, every call to an agent batched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coevo.agents.agent import Agent, Reply, Request
from coevo.agents.unanswered import Unanswered
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Match:
    """One play to be played: the start state and who sits where."""

    seed: int
    """Seed of the environment; equal seeds give equal start states and equal chance."""
    players: Mapping[str, str]
    """Seat -> player name."""
    stream: int = 0
    """Tells plays of one seed apart in the randomness of scripted players."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the reset, such as what earlier plays have left."""


@dataclass(slots=True)
class _Play:
    match: Match
    env: TextEnv
    rng: np.random.Generator
    waiting: dict[str, Reply] = field(default_factory=dict)
    """Replies of a simultaneous round that the environment has not taken yet."""


def play(
    env_id: str,
    matches: Sequence[Match],
    players: Mapping[str, Agent],
    env_options: Mapping[str, Any] | None = None,
) -> list[Episode]:
    """Play matches to their ends, all at once.

    Args:
        env_id: registered environment.
        matches: what to play.
        players: player name -> agent; every name in `matches` must be there.
        env_options: arguments of the environment.

    Returns:
        One finished episode per match, in order, with tokens where the player is a policy. A play
        in which somebody could not answer has stopped with `Stop.ERROR`.
    """
    missing = {p for m in matches for p in m.players.values()} - players.keys()
    if missing:
        raise ConfigError(f"no agent for player {sorted(missing)}; players: {sorted(players)}")
    template = make(env_id, **(env_options or {}))
    template.pays_plays = False
    plays = [_start(template.fresh(), match) for match in matches]
    while live := [(i, p) for i, p in enumerate(plays) if p.env.awaiting]:
        for name, asked in _requests(live).items():
            replies = players[name].act([request for _, request in asked])
            for (play_, request), reply in zip(asked, replies, strict=True):
                play_.waiting[request.seat] = reply
        for _, play_ in live:
            _advance(play_, players)
    return [p.env.episode for p in plays]


def _start(env: TextEnv, match: Match) -> _Play:
    env.reset(seed=match.seed, options=dict(match.options))
    return _Play(match, env, np.random.default_rng([match.seed, match.stream, 7]))


def _requests(live: list[tuple[int, _Play]]) -> dict[str, list[tuple[_Play, Request]]]:
    """Collect the open requests by player, in the order of the plays."""
    asked: dict[str, list[tuple[_Play, Request]]] = {}
    for i, p in live:
        for seat in p.env.awaiting:
            if seat not in p.waiting:
                chat, info = p.env.chat(seat), p.env.infos[seat]
                masked = p.env.illegal.masked
                request = Request(seat, chat, info, p.rng, f"{i}/{seat}", masked)
                asked.setdefault(p.match.players[seat], []).append((p, request))
    return asked


def _advance(play_: _Play, players: Mapping[str, Agent]) -> None:
    """Step the environment with the replies at hand and note who wrote each turn."""
    env = play_.env
    while env.awaiting and env.agent_selection in play_.waiting:
        seat = env.agent_selection
        reply = play_.waiting.pop(seat)
        if isinstance(reply, Unanswered):
            env.abandon(f"{seat}: {reply.reason}")
            return
        env.step(reply.text)
        turn = env.episode.turns[-1]
        turn.player = play_.match.players[seat]
        turn.version = players[turn.player].version
        turn.prompt_ids, turn.token_ids = reply.prompt_ids, reply.token_ids
        turn.logprobs, turn.allowed = reply.logprobs, reply.allowed
