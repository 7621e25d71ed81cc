"""The three ways to make an environment that PettingZoo users expect of a module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import wrappers
from pettingzoo.utils.conversions import aec_to_parallel_wrapper

from coevo.envs.core.chat import Chat
from coevo.envs.core.config import read
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError, check_arguments
from coevo.envs.core.settings import Settings
from coevo.envs.core.task import Task

RawFactory = Callable[..., TextEnv]
AECFactory = Callable[..., AECEnv[str, Any, str]]
ParallelFactory = Callable[..., ParallelEnv[str, Any, str]]
Results = tuple[
    dict[str, dict[str, Chat]], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]
]


class ParallelView(aec_to_parallel_wrapper):
    """A text environment with simultaneous moves, as a PettingZoo ParallelEnv.

    One step takes one reply of every waiting seat. Where a seat has to try again, the seats
    after it go on waiting and reply once more with it; other seats' replies are not read.
    """

    def __init__(self, env: TextEnv) -> None:
        if not env.task.simultaneous:
            raise ConfigError(f"{env} has no parallel form with these arguments: seats take turns")
        super().__init__(env)

    @property
    def max_cycles(self) -> int | None:
        """Rounds after which play is truncated; None for no limit."""
        return self.aec_env.unwrapped.max_cycles

    @max_cycles.setter
    def max_cycles(self, rounds: int | None) -> None:
        self.aec_env.unwrapped.max_cycles = rounds

    def step(self, actions: Mapping[str, str]) -> Results:
        """Carry out one reply of each waiting seat, until one of them ends the episode.

        Returns:
            observations, rewards (added up over the replies), terminations, truncations, infos:
            each by seat, for all seats that were alive before the step.
        """
        env: TextEnv = self.aec_env
        rewards = dict.fromkeys(env.agents, 0.0)
        missing = [a for a in env.awaiting if a not in actions]
        if missing:
            raise ConfigError(f"actions for {list(actions)}: {missing[0]} has to reply as well")
        for agent in env.awaiting:
            if env.awaiting[:1] != (agent,):
                break
            env.step(actions[agent])
            for seat, reward in env.rewards.items():
                rewards[seat] += reward
        results = (
            {a: env.observe(a) for a in rewards},
            rewards,
            dict(env.terminations),
            dict(env.truncations),
            dict(env.infos),
        )
        while env.agents and not env.awaiting:
            env.step(None)  # type: ignore[arg-type]
        self.agents = env.agents[:]
        return results


def construct(kind: type[Task[Any]], arguments: Mapping[str, Any]) -> TextEnv:
    """Return the environment of a task.

    Raises:
        ConfigError: an argument that neither has, with those they have; or a value out of range.
    """
    own = [field.name for field in fields(kind.config_class)]
    name = kind.env_id or kind.__name__
    check_arguments(name, arguments, [*own, *(field.name for field in fields(Settings))])
    given = {key: value for key, value in arguments.items() if key in own}
    settings = {key: value for key, value in arguments.items() if key not in own}
    return TextEnv(kind(read(kind.config_class, given)), **settings)


def turn_based(kind: type[Task[Any]]) -> tuple[RawFactory, AECFactory]:
    """Return `raw_env(**kwargs)` and `env(**kwargs)` of a task.

    The first gives the bare environment, as rollouts use it; the second puts it behind PettingZoo's
    order check.
    """

    def raw_env(**kwargs: Any) -> TextEnv:
        return construct(kind, kwargs)

    def env(**kwargs: Any) -> AECEnv[str, Any, str]:
        return wrappers.OrderEnforcingWrapper(construct(kind, kwargs))

    raw_env.__doc__ = f"Return the environment of {kind.__name__}."
    env.__doc__ = f"Return the environment of {kind.__name__} behind PettingZoo's order check."
    return raw_env, env


def simultaneous(kind: type[Task[Any]]) -> tuple[RawFactory, AECFactory, ParallelFactory]:
    """Return `raw_env`, `env` and `parallel_env(**kwargs)` of a task whose seats move at once."""

    def parallel_env(**kwargs: Any) -> ParallelEnv[str, Any, str]:
        return ParallelView(construct(kind, kwargs))

    parallel_env.__doc__ = f"Return {kind.__name__} as a ParallelEnv."
    return *turn_based(kind), parallel_env
