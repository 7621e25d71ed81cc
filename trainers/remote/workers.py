"""Rollout workers: Ray actors with environments and engines of their own, which play parts.

A worker makes its environments and policies from the run's configuration, and is sent weights when
they have moved. A part is the same whichever worker plays it, so the speed of workers does not
matter, and a part whose worker dies is played by a new one.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock
from typing import Any

import torch
from safetensors.torch import load, save
from torch import nn

from coevo.agents.agent import Agent
from coevo.agents.models.adapters import load_own, own_tensors
from coevo.agents.models.copies import frozen_copy
from coevo.agents.policy import Policy, rest
from coevo.agents.population import Population
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import CoevoError, ConfigError
from coevo.trainers.collect.part import GREEDY, Part, play_part
from coevo.trainers.config import TrainConfig
from coevo.trainers.remote.origin import Origin
from coevo.trainers.seating import envs_of, own_sampling, policy_maker, population_of

TRIES = 3
"""Workers that may die of one part."""
START = 120.0
"""Seconds in which a process starts that the cluster has room for."""
Say = Callable[[str], None]


class WorkerError(CoevoError):
    """Rollout workers die one after the other."""

    exit_code = 1


@dataclass(frozen=True)
class Sent:
    """Weights on their way."""

    number: int
    """Other weights have another one."""
    version: int
    """Updates that have moved them."""
    tensors: Any
    """Reference to their bytes in the object store."""


class Worker:
    """One rollout worker; equal results need equal numbers of threads."""

    def __init__(
        self, config: TrainConfig, threads: int, trust_remote_code: bool, origin: Origin
    ) -> None:
        self.config, self.threads, self.trust = config, threads, trust_remote_code
        self.origin = origin
        self._made: tuple[Mapping[str, TextEnv], Population] | None = None
        self._variants: dict[str, Policy] = {}
        self._held: dict[str, int] = {}

    def pid(self) -> int:
        return os.getpid()

    def load(self) -> None:
        """Make environments and agents, if there are none yet."""
        if self._made is None:
            torch.set_num_threads(self.threads)
            self.origin.adopt(self.config)
            envs = envs_of(self.config.environments)
            maker = policy_maker(self.config, trust_remote_code=self.trust)
            population = population_of(self.config, envs, maker)
            own_sampling(self.config, population.agents)
            self._made = envs, population

    def play(self, part: Part, sent: Mapping[str, Sent]) -> list[Episode]:
        """Return the episodes of a part, played by policies with the weights that were sent."""
        self.load()
        assert self._made is not None
        envs, population = self._made
        self._forget(population, sent)
        agents: dict[str, Agent] = {}
        for name in sorted({n.removesuffix(GREEDY) for n in part.players}):
            agents[name] = self._agent(name, population)
            if name in sent:
                self._take(name, agents[name], sent[name])
        played = play_part(part, envs, agents)
        rest(agents.values())  # a rank may compute on the same device
        return played

    def _agent(self, name: str, population: Population) -> Agent:
        """Return an agent; variants of learners and past selves are made when they first play."""
        if name in population.agents:
            return population.agents[name]
        if "@" not in name:
            return population.restore_snapshot(name)
        if name not in self._variants:
            learner = population.learners[name.partition("@")[0]]
            self._variants[name] = learner.having(frozen_copy(learner.model), name)
        return self._variants[name]

    def _take(self, name: str, agent: Agent, sent: Sent) -> None:
        import ray

        assert isinstance(agent, Policy)  # only policies have weights to send
        if self._held.get(name) != sent.number:
            load_own(agent.model, load(ray.get(sent.tensors)))
            self._held[name] = sent.number
            agent.publish(sent.version)

    def _forget(self, population: Population, sent: Mapping[str, Sent]) -> None:
        """Let go of past selves and variants that do not play any more."""
        past = population.snapshots()
        for name in [n for n in (*past, *self._variants) if n not in sent]:
            self._held.pop(name, None)
            agent = self._variants.pop(name, None) or population.fixed.pop(name)
            assert isinstance(agent, Policy)
            agent.retire()


class Workers:
    """Plays parts on rollout workers, which `start` makes; `say` tells that one was replaced.

    Raises:
        ConfigError: a policy cannot play in another process.
    """

    def __init__(
        self, ray: Any, start: Callable[[], Any], count: int, population: Population, say: Say
    ) -> None:
        for name, agent in population.agents.items():
            if isinstance(agent, Policy) and not agent.plays_ahead:
                raise ConfigError(
                    f"{name} is a {type(agent).__name__}, which plays in the process that learns "
                    "alone; leave --rollout-workers out"
                )
        self.ray, self.say, self.count = ray, say, count
        self._lock = Lock()
        self._start, self._numbers = start, itertools.count()
        self._learners, self._still = {*population.learners}, {*population.fixed}
        self._sent: dict[str, tuple[nn.Module, Sent]] = {}
        self._closed, self._living = False, list[Any]()
        self._idle: SimpleQueue[Any] = SimpleQueue()
        for _ in range(count):
            self._idle.put(self._new())
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="coevo-worker")

    def __call__(
        self, parts: Sequence[Part], agents: Mapping[str, Agent]
    ) -> Sequence[list[Episode]]:
        """Return the episodes of every part; a worker takes one after the other."""
        sent = self._all_sent({n.removesuffix(GREEDY) for p in parts for n in p.players}, agents)
        return list(self._pool.map(lambda part: self._asked(part, sent), parts))

    def close(self) -> None:
        """End all workers; what is under way is lost."""
        self._closed = True
        for worker in self._living:
            self.ray.kill(worker)
        # A caller that waits for a worker gets its death as an error, but not the end of Ray.
        self._pool.shutdown(cancel_futures=True)

    def _new(self) -> Any:
        worker = self._start()
        self._living.append(worker)
        worker.load.remote()  # all of them load at the same time
        return worker

    def _another(self) -> Any:
        """Return the replacement of a worker that died: a new one, or else another idle one.

        Raises:
            WorkerError: none is left, and the cluster has no room for a new one.
        """
        worker = self._new()
        there, _ = self.ray.wait([worker.pid.remote()], timeout=START)
        if there:
            return worker
        self.ray.kill(worker)
        with self._lock:
            self.count -= 1
            left = self.count
        if not left:
            raise WorkerError(
                f"no rollout worker is left, and the cluster has had no room for one in {START:g} "
                "s; continue from the last checkpoint with --resume"
            )
        self.say(f"the cluster has had no room for it in {START:g} s; {left} go on without it")
        return self._idle.get()

    def _asked(self, part: Part, sent: Mapping[str, Sent]) -> list[Episode]:
        worker, deaths = self._idle.get(), 0
        try:
            while True:
                try:
                    found: list[Episode] = self.ray.get(worker.play.remote(part, sent))
                    return found
                except self.ray.exceptions.RayTaskError as error:
                    raise error.cause from None
                except self.ray.exceptions.RayError as error:
                    _check_installed(error)
                    deaths += 1
                    if self._closed or deaths == TRIES:
                        raise WorkerError(
                            f"{deaths} rollout workers died of the same episodes, the last one so: "
                            f"{_reason(error)}; continue from the last checkpoint with --resume"
                        ) from None
                    self.say(
                        f"a rollout worker died ({_reason(error)}); another one takes its place "
                        f"and plays its {len(part.specs)} episodes again"
                    )
                    worker = self._another()
        finally:
            self._idle.put(worker)

    def _all_sent(self, names: set[str], agents: Mapping[str, Agent]) -> dict[str, Sent]:
        """Put the weights of the policies that move, or have moved, where workers read them.

        Those of past selves are put once, as they stay what they are.
        """
        kept = {n: held for n, held in self._sent.items() if n in agents}
        found: dict[str, Sent] = {}
        for name in sorted(names):
            agent = agents[name]
            if name in self._still or not isinstance(agent, Policy):
                continue
            model, known = kept.get(name, (None, None))
            found[name] = known if known and model is agent.model else self._put(agent)
            if name not in self._learners and "@" not in name:
                kept[name] = agent.model, found[name]
        self._sent = kept
        return found

    def _put(self, agent: Policy) -> Sent:
        own = own_tensors(agent.model).items()
        packed = save({n: t.detach().to("cpu", copy=True).contiguous() for n, t in own})
        return Sent(next(self._numbers), agent.version, self.ray.put(packed))


def begun(ray: Any, asked: Sequence[Any]) -> list[Any]:
    """Return the first answers of processes.

    Raises:
        WorkerError: one does not answer.
        CoevoError: one has answered with this error.
    """
    try:
        found: list[Any] = ray.get(list(asked), timeout=START)
        return found
    except ray.exceptions.GetTimeoutError:
        raise WorkerError(
            f"the cluster has not started {len(asked)} processes within {START:g} s"
        ) from None
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        _check_installed(error)
        raise


def _check_installed(error: Exception) -> None:
    """Raise ConfigError where a process ended because its machine lacks a package."""
    said = str(error)
    missing, machine = (
        re.search(r"No module named '([^']+)'", said),
        re.search(r"ip=([^,)]+)", said),
    )
    if missing and "failed to import" in said:
        raise ConfigError(
            f"machine {machine[1] if machine else ''} has no module {missing[1]!r} in the Python "
            "that Ray runs there: install coevo on all machines, for the Python of `ray start`"
        ) from None


def _reason(error: Exception) -> str:
    """Return the first line of what Ray says of a death that names a cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    cause = [line for line in lines if "died" in line or "exit" in line.lower()]
    return (cause or lines or [type(error).__name__])[0].rstrip(".")
