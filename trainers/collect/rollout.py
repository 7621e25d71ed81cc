"""From agents and seeds to episodes: many at once, every call to an agent batched.

Nobody waits for the slowest. Agents behind servers are asked at once and go on as they answer,
steps of slow environments are carried out in threads, and agents of this process are asked for
whatever waits for them at the time. Where all answer in this process the episodes go in step, and
what is asked together does not depend on the clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from coevo.agents.agent import Agent, Prefix, Reply, Request, Unanswered, request_of, sealed_rng
from coevo.agents.futures import drop, some_of
from coevo.agents.policy import Policy, act_together
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError
from coevo.trainers.collect.injected import Injected, moves_shown

STEPS = 64
"""Steps of slow environments that are carried out at the same time."""
GRACE = 20.0
"""Seconds that an interrupted rollout waits at most for what servers are writing. A second signal
ends the wait."""
UNUSED = np.random.default_rng(0)
"""What policies are given: they draw from generators of their own."""


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """What to play: the task, and the agent of every seat."""

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
    begins: Mapping[str, str] = field(default_factory=dict)
    """Seat -> what its first reply begins with; only policies can go on with it."""
    env: str = ""
    """Environment, where episodes of several are played at once."""
    prefix: Mapping[str, Prefix] = field(default_factory=dict)
    """Seat -> the first tokens of its first reply, which it wrote in another episode."""
    parents: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Seat -> seats whose moves it sees, and waits for, where they come before it in a round."""


class Variation(Protocol):
    """Decides what is added to prompts, or which variant of a policy plays."""

    @property
    def agents(self) -> Mapping[str, Agent]:
        """Players beside those of the population; `NAME@...` is a variant of the policy NAME."""

    def __call__(self, spec: EpisodeSpec, group: int, number: int) -> EpisodeSpec:
        """Return a spec as it is going to be played; `number` is its place in the group."""


@dataclass(slots=True)
class _Live:
    number: int
    spec: EpisodeSpec
    env: TextEnv
    rng: np.random.Generator
    own: dict[str, np.random.Generator] = field(default_factory=dict)
    """Agent -> its generator, which does not reveal the seed."""
    injected: dict[str, Injected] = field(default_factory=dict)
    """Seat -> what was added to its latest prompt."""
    asked: set[str] = field(default_factory=set)
    """Seats that have not answered yet."""
    waiting: dict[str, tuple[Request, Reply]] = field(default_factory=dict)
    """Replies of a simultaneous round that the environment has not taken yet."""
    stepping: tuple[Request, Reply] | None = None
    """What the environment is taking, in a thread."""

    def request(self, seat: str, agent: Agent) -> Request:
        """Return the request of a seat, with what is added to its prompts."""
        name, inside = f"{self.number}/{seat}", agent.insider
        rng = self.rng if inside else self._own(self.spec.players[seat], agent)
        plain = request_of(self.env, seat, rng, name, inside=inside, numbers=agent.reads_numbers)
        if self.spec.begins.get(seat) and all(t.agent != seat for t in self.env.episode.turns):
            plain = replace(plain, begins=self.spec.begins[seat])
        if seat in self.spec.prefix and all(t.agent != seat for t in self.env.episode.turns):
            plain = replace(plain, prefix=self.spec.prefix[seat])
        injected = self._injected(seat)
        if injected is None or injected.trained == "hidden":
            return plain
        return replace(plain, chat=injected.added(plain.chat))

    def _injected(self, seat: str) -> Injected | None:
        """Note and return what is added to what a seat sees now: a text, or moves of parents."""
        seen = {s: m for s, m in self.env.moved.items() if s in self.spec.parents.get(seat, ())}
        found = moves_shown(seen) if seen else self.spec.injected.get(seat)
        self.injected.pop(seat, None)
        if found is not None:
            self.injected[seat] = found
        return found

    def ready(self) -> list[str]:
        """Return the seats that can be asked: all whose parents before them have moved."""
        waiting = self.env.awaiting
        return [
            seat
            for place, seat in enumerate(waiting)
            if seat not in self.waiting
            and seat not in self.asked
            and not set(waiting[:place]).intersection(self.spec.parents.get(seat, ()))
        ]

    def _own(self, name: str, agent: Agent) -> np.random.Generator:
        if isinstance(agent, Policy):
            return UNUSED
        if name not in self.own:
            self.own[name] = sealed_rng(f"{name} {self.spec.seed} {self.spec.stream}")
        return self.own[name]

    def note(self, turn: Turn, request: Request, reply: Reply, agent: Agent) -> None:
        """Note the writer of a turn, its tokens, and what was added to its prompt."""
        turn.player, turn.version = self.spec.players[turn.agent], (reply.policy or agent).version
        turn.begins = request.begins
        turn.prompt_ids, turn.token_ids = reply.prompt_ids, reply.token_ids
        turn.logprobs, turn.choices = reply.logprobs, reply.choices
        turn.notes |= reply.notes
        injected = self.injected.get(turn.agent)
        if injected is None:
            return
        plain, turn.seen = turn.chat, request.chat
        turn.injected, turn.trained = [injected.id], injected.trained
        if injected.trained == "as_seen" or not isinstance(agent, Policy):
            return
        hidden, name = injected.trained == "hidden", f"{request.conversation}/other"
        other = replace(request, chat=injected.added(plain) if hidden else plain, conversation=name)
        ids = agent.reread(other, reply)
        turn.stripped_ids, turn.reference_ids = (None, ids) if hidden else (ids, None)


def rollout(
    env_id: str,
    specs: Sequence[EpisodeSpec],
    agents: Mapping[str, Agent],
    env_options: Mapping[str, Any] | None = None,
) -> list[Episode]:
    """Play episodes of a registered environment to their ends, all at once; see `rollout_of`."""
    template = make(env_id, **(env_options or {}))
    return rollout_of({spec.env: template for spec in specs}, specs, agents)


def rollout_of(
    templates: Mapping[str, TextEnv],
    specs: Sequence[EpisodeSpec],
    agents: Mapping[str, Agent],
    first: int = 0,
) -> list[Episode]:
    """Play episodes of several environments to their ends, all at once.

    Args:
        templates: what specs call it -> an environment that was never reset.
        specs: what to play.
        agents: name -> agent; every name in `specs` must be there.
        first: number of the first episode, where they are a part of more.

    Returns:
        One finished episode per spec, in order, with tokens where the agent is a policy. An
        episode in which an agent could not answer has stopped with `StopReason.ERROR`.
    """
    missing = {name for s in specs for name in s.players.values()} - agents.keys()
    if missing:
        raise ConfigError(f"no agent {sorted(missing)}; agents: {sorted(agents)}")
    _forget(agents)  # conversations of other rollouts have the same names
    every = [_start(number, templates[s.env].fresh(), s) for number, s in enumerate(specs, first)]
    with ThreadPoolExecutor(STEPS, thread_name_prefix="coevo-step") as threads:
        _Rollout(agents, threads).play(every)
    _forget(agents)
    return [e.env.episode for e in every]


def _forget(agents: Mapping[str, Agent]) -> None:
    for agent in agents.values():
        agent.forget()


def _start(number: int, env: TextEnv, spec: EpisodeSpec) -> _Live:
    env.applies_batch_rewards = False
    env.reset(seed=spec.seed, options=dict(spec.options))
    return _Live(number, spec, env, np.random.default_rng([spec.seed, spec.stream, 7]))


Asked = list[tuple[_Live, Request]]


@dataclass
class _Rollout:
    """Plays episodes, each as fast as it goes."""

    agents: Mapping[str, Agent]
    threads: ThreadPoolExecutor
    replies: dict[Future[Reply], Asked] = field(default_factory=dict)
    """What servers are asked for; several may wait for one reply."""
    steps: dict[Future[None], _Live] = field(default_factory=dict)

    @property
    def under_way(self) -> list[Future[Any]]:
        return [*self.replies, *self.steps]

    def play(self, every: Iterable[_Live]) -> None:
        ready = [one for one in every if one.env.awaiting]
        try:
            while ready or self.under_way:
                here = self._submitted(ready)
                moved = self._answered(here)
                if self.under_way:
                    moved |= self._arrived(wait_for_one=not moved)
                ready = [moved[n] for n in sorted(moved) if self._advance(moved[n])]
        except BaseException as error:  # servers may bill it: agents keep the replies
            wait(drop(self.under_way), None if isinstance(error, Exception) else GRACE)
            raise
        finally:
            drop(self.under_way)

    def _submitted(self, ready: Iterable[_Live]) -> dict[str, Asked]:
        """Ask the agents that answer elsewhere; return what the others are to be asked."""
        asked: dict[str, Asked] = {}
        for one in ready:
            for seat in one.ready():
                name = one.spec.players[seat]
                one.asked.add(seat)
                request = one.request(seat, self.agents[name])
                asked.setdefault(name, []).append((one, request))
        here: dict[str, Asked] = {}
        for name, those in asked.items():
            futures = self.agents[name].submit([request for _, request in those])
            if futures is None:
                here[name] = those
            else:
                for future, pair in zip(futures, those, strict=True):
                    self.replies.setdefault(future, []).append(pair)
        return here

    def _answered(self, here: Mapping[str, Asked]) -> dict[int, _Live]:
        moved = {}
        requests = {name: [request for _, request in asked] for name, asked in here.items()}
        for name, replies in self._replies(requests).items():
            for (one, request), reply in zip(here[name], replies, strict=True):
                moved[one.number] = _given(one, request, reply)
        return moved

    def _replies(self, requests: Mapping[str, Sequence[Request]]) -> dict[str, list[Reply]]:
        """Ask agents of this process; policies that share an engine ask it at once."""
        policies = {n: a for n in requests if isinstance(a := self.agents[n], Policy)}
        written = act_together([(policy, requests[n]) for n, policy in policies.items()])
        found = dict(zip(policies, written, strict=True))
        return {n: found[n] if n in found else self.agents[n].act(r) for n, r in requests.items()}

    def _arrived(self, *, wait_for_one: bool) -> dict[int, _Live]:
        """Take what has arrived from elsewhere; return the episodes that it is for, by number."""
        moved = {}
        for future in some_of(self.under_way, at_least=wait_for_one):
            if (one := self.steps.pop(future, None)) is not None:
                self._noted(one)
                moved[one.number] = one
            for one, request in self.replies.pop(future, ()):
                moved[one.number] = _given(one, request, future.result())
        return moved

    def _advance(self, one: _Live) -> bool:
        """Step with the replies at hand; return whether an agent can be asked."""
        env = one.env
        while one.stepping is None and env.awaiting and env.agent_selection in one.waiting:
            request, reply = one.waiting.pop(env.agent_selection)
            if isinstance(reply, Unanswered):
                env.abandon(f"{request.seat}: {reply.reason}")
                return False
            one.stepping = request, reply
            if env.task.slow:
                self.steps[self.threads.submit(env.step, reply.text)] = one
            else:
                env.step(reply.text)
                self._noted(one)
        return one.stepping is None and bool(env.awaiting)

    def _noted(self, one: _Live) -> None:
        """Note the writer of the turn that an environment has taken."""
        assert one.stepping is not None  # it has taken one
        request, reply = one.stepping
        one.stepping = None
        turn = one.env.episode.turns[-1]
        one.note(turn, request, reply, self.agents[one.spec.players[request.seat]])


def _given(one: _Live, request: Request, reply: Reply) -> _Live:
    one.asked.discard(request.seat)
    one.waiting[request.seat] = request, reply
    return one
