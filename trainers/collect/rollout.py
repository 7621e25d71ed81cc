"""From agents and seeds to episodes: many at once, every call to an agent batched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from coevo.agents.agent import Agent, Reply, Request, request_of, sealed_rng
from coevo.agents.policy import Policy
from coevo.agents.unanswered import Unanswered
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError
from coevo.trainers.collect.injected import Injected


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """What to play: the task, and who sits where."""

    seed: int
    """Seed of the environment; equal seeds give equal tasks and equal chance."""
    players: Mapping[str, str]
    """Seat -> name of an agent."""
    stream: int = 0
    """Tells episodes of one seed apart in the randomness of scripted agents."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the reset, such as what earlier episodes have left."""
    injected: Mapping[str, Injected] = field(default_factory=dict)
    """Seat -> text that is added to what it sees."""
    env: str = ""
    """Environment, where episodes of several are played at once."""


@dataclass(slots=True)
class _Live:
    number: int
    spec: EpisodeSpec
    env: TextEnv
    rng: np.random.Generator
    waiting: dict[str, tuple[Request, Reply]] = field(default_factory=dict)
    """Replies of a simultaneous round that the environment has not taken yet."""

    def asked(self, seat: str, agent: Agent, own: np.random.Generator) -> Request:
        """Return the request of a seat, with what is added to its prompts."""
        name, inside = f"{self.number}/{seat}", agent.insider
        plain = request_of(self.env, seat, self.rng if inside else own, name, inside=inside)
        told = self.spec.injected.get(seat)
        return plain if told is None else replace(plain, chat=told.added(plain.chat))

    def note(self, turn: Turn, request: Request, reply: Reply, agent: Agent) -> None:
        """Write down who wrote a turn, from which tokens, and what was added to its prompt."""
        turn.player, turn.version = self.spec.players[turn.agent], (reply.policy or agent).version
        turn.prompt_ids, turn.token_ids = reply.prompt_ids, reply.token_ids
        turn.logprobs, turn.allowed = reply.logprobs, reply.allowed
        told = self.spec.injected.get(turn.agent)
        if told is None:
            return
        plain, turn.seen = turn.chat, request.chat
        turn.injected, turn.trained = [told.id], told.trained
        if told.trained == "stripped" and isinstance(agent, Policy):
            name = f"{request.conversation}/stripped"
            without = replace(request, chat=plain, conversation=name)
            turn.stripped_ids = agent.read_without(without, reply)


def rollout(
    env_id: str,
    specs: Sequence[EpisodeSpec],
    agents: Mapping[str, Agent],
    env_options: Mapping[str, Any] | None = None,
) -> list[Episode]:
    """Play episodes to their ends, all at once.

    Args:
        env_id: registered environment.
        specs: what to play.
        agents: name -> agent; every name in `specs` must be there.
        env_options: arguments of the environment.

    Returns:
        One finished episode per spec, in order, with tokens where the agent is a policy. An
        episode in which somebody could not answer has stopped with `StopReason.ERROR`.
    """
    template = make(env_id, **(env_options or {}))
    return rollout_of({spec.env: template for spec in specs}, specs, agents)


def rollout_of(
    templates: Mapping[str, TextEnv], specs: Sequence[EpisodeSpec], agents: Mapping[str, Agent]
) -> list[Episode]:
    """Play episodes of several environments to their ends, all at once; see `rollout`.

    Args:
        templates: what specs call it -> an environment that was never reset.
        specs: what to play.
        agents: name -> agent; every name in `specs` must be there.
    """
    missing = {name for s in specs for name in s.players.values()} - agents.keys()
    if missing:
        raise ConfigError(f"no agent {sorted(missing)}; agents: {sorted(agents)}")
    own = {name: sealed_rng(f"{name} {[(s.seed, s.stream) for s in specs[:1]]}") for name in agents}
    every = [_start(number, templates[s.env].fresh(), s) for number, s in enumerate(specs)]
    while live := [e for e in every if e.env.awaiting]:
        for name, asked in _requests(live, agents, own).items():
            replies = agents[name].act([request for _, request in asked])
            for (one, request), reply in zip(asked, replies, strict=True):
                one.waiting[request.seat] = (request, reply)
        for one in live:
            _advance(one, agents)
    return [e.env.episode for e in every]


def _start(number: int, env: TextEnv, spec: EpisodeSpec) -> _Live:
    env.applies_batch_rewards = False
    env.reset(seed=spec.seed, options=dict(spec.options))
    return _Live(number, spec, env, np.random.default_rng([spec.seed, spec.stream, 7]))


def _requests(
    live: list[_Live], agents: Mapping[str, Agent], own: Mapping[str, np.random.Generator]
) -> dict[str, list[tuple[_Live, Request]]]:
    """Return the open requests by agent, in the order of the episodes."""
    asked: dict[str, list[tuple[_Live, Request]]] = {}
    for one in live:
        for seat in one.env.awaiting:
            if seat not in one.waiting:
                name = one.spec.players[seat]
                asked.setdefault(name, []).append((one, one.asked(seat, agents[name], own[name])))
    return asked


def _advance(one: _Live, agents: Mapping[str, Agent]) -> None:
    """Step the environment with the replies at hand and note who wrote each turn."""
    env = one.env
    while env.awaiting and env.agent_selection in one.waiting:
        seat = env.agent_selection
        request, reply = one.waiting.pop(seat)
        if isinstance(reply, Unanswered):
            env.abandon(f"{seat}: {reply.reason}")
            return
        env.step(reply.text)
        one.note(env.episode.turns[-1], request, reply, agents[one.spec.players[seat]])
