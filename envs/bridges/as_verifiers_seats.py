r"""Our environments as verifiers' multi-agent environments: every seat is an agent with a trace.

A project has a file such as `seats.py` that holds `from coevo.envs.bridges.as_verifiers_seats
import *` (see as_verifiers), and then

    vf-eval seats --env.taskset.env coevo/kuhn_poker-v0 --env.frozen '[1]' -m MODEL

The agents are `seat_0`, `seat_1`, ..., each with a model, sampling and limits of its own
(`--env.seat_1.model OTHER`). Every seat that was asked has one trace, with its payoff; the traces
of frozen seats are not trainable. This module needs verifiers.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf

from coevo.envs.bridges.as_verifiers import CoevoData, CoevoTask, messages_of
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.registry import make

__all__ = ["CoevoSeatsEnv", "CoevoSeatsEnvConfig", "CoevoSeatsTaskset", "CoevoSeatsTasksetConfig"]

MOST = 6
"""Seats that have an agent; as many fields has `CoevoSeatsEnvConfig`."""


class CoevoSeatsTasksetConfig(vf.TasksetConfig):
    """Which environment."""

    env: str = "coevo/kuhn_poker-v0"
    """Registered id."""
    options: dict[str, Any] = {}  # noqa: RUF012  # pydantic copies defaults
    """Arguments of the environment."""


class CoevoSeatsTaskset(vf.Taskset[CoevoTask, CoevoSeatsTasksetConfig]):
    """Seeds 0, 1, 2, ... of an environment."""

    INFINITE = True

    def load(self) -> Iterator[CoevoTask]:
        """Yield a task per seed; what its seats are shown is the environment's affair.

        Raises:
            ConfigError: the environment has more seats than there are agents.
        """
        config = self.config
        seats = make(config.env, **config.options).possible_agents
        if len(seats) > MOST:
            raise ConfigError(f"{config.env} has {len(seats)} seats, at most {MOST} have agents")
        for seed in itertools.count():
            info = {"env_id": config.env, "options": dict(config.options), "seed": seed}
            data = CoevoData(name=f"{config.env}#{seed}", prompt=None, info=info)
            yield CoevoTask(data, config.task)


def _seat() -> vf.AgentConfig:
    return vf.AgentConfig(harness={"id": "null"}, runtime={"type": "subprocess"})


class CoevoSeatsEnvConfig(vf.EnvConfig):
    """Who plays; agents beyond the seats of the environment are not used."""

    seat_0: vf.AgentConfig = _seat()
    seat_1: vf.AgentConfig = _seat()
    seat_2: vf.AgentConfig = _seat()
    seat_3: vf.AgentConfig = _seat()
    seat_4: vf.AgentConfig = _seat()
    seat_5: vf.AgentConfig = _seat()
    frozen: list[int] = []  # noqa: RUF012  # pydantic copies defaults
    """Numbers of the seats whose tokens train nothing."""


class CoevoSeatsEnv(vf.Env[CoevoSeatsEnvConfig]):
    """Play an episode: the environment passes what is said from seat to seat."""

    async def setup(self, agents: Any) -> None:
        """Freeze seats.

        Raises:
            ConfigError: there is no such seat.
        """
        for number in self.config.frozen:
            if number not in range(MOST):
                raise ConfigError(f"frozen={self.config.frozen}: seats are 0 to {MOST - 1}")
            getattr(agents, f"seat_{number}").trainable = False

    async def run(self, task: CoevoTask, agents: Any) -> None:
        """Ask seat after seat; record every seat's payoff at the end."""
        info = task.data.info
        env: TextEnv = make(info["env_id"], **info["options"])
        env.reset(seed=info["seed"])
        lines: dict[str, Any] = {}
        seen: dict[str, int] = {}
        async with contextlib.AsyncExitStack() as stack:
            while env.awaiting:
                seat = env.agent_selection
                chat = env.chat(seat)
                if seat not in lines:
                    agent = getattr(agents, f"seat_{env.possible_agents.index(seat)}")
                    own = _task_of(task, seat, messages_of(chat, "system"))
                    lines[seat] = await stack.enter_async_context(agent.interaction(own))
                full = env.prompt_style == "full" and seat in seen
                new = chat[seen[seat] + 1 :] if full else chat
                seen[seat] = len(chat)
                segment = await lines[seat].turn(messages_of(new, "user"))
                if segment.terminated:
                    break
                env.step(segment.last_reply)
        for seat, line in lines.items():
            if env.awaiting:
                line.trace.record_metric("unfinished", 1.0)
                continue
            line.trace.record_reward("payoff", float(env.episode.total(seat)), 1.0)
            line.trace.info |= {"seat": seat, "outcome": dict(env.episode.outcome)}


def _task_of(task: CoevoTask, seat: str, system: str) -> CoevoTask:
    """Return what one seat is given: its rules; its turns come one by one."""
    change = {"name": f"{task.data.name}/{seat}", "system_prompt": system or None}
    return CoevoTask(task.data.model_copy(update=change), task.config)
