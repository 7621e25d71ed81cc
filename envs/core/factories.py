"""The three ways to make an environment that PettingZoo users expect of a module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import wrappers
from pettingzoo.utils.conversions import aec_to_parallel_wrapper

from coevo.envs.core.chat import Chat
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError, arguments_of, check_arguments

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

    @property
    def max_cycles(self) -> int | None:
        """Rounds after which play is truncated; None for no limit."""
        return self.aec_env.unwrapped.max_cycles

    @max_cycles.setter
    def max_cycles(self, rounds: int | None) -> None:
        self.aec_env.unwrapped.max_cycles = rounds

    def step(self, actions: Mapping[str, str]) -> Results:
        """Carry out one reply of each waiting seat, until one of them ends the play.

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


def construct(raw: type[TextEnv], kwargs: Mapping[str, Any]) -> TextEnv:
    """Make an environment; an argument it does not take is a ConfigError that lists the others."""
    check_arguments(raw.env_id or raw.__name__, kwargs, arguments_of(raw))
    return raw(**kwargs)


def aec_factory(raw: type[TextEnv]) -> AECFactory:
    """Give `env(**kwargs)`: the raw environment behind PettingZoo's order check."""

    def env(**kwargs: Any) -> AECEnv[str, Any, str]:
        return wrappers.OrderEnforcingWrapper(construct(raw, kwargs))

    env.__doc__ = f"Make a {raw.__name__} behind PettingZoo's order check."
    return env


def parallel_factory(raw: type[TextEnv]) -> ParallelFactory:
    """Give `parallel_env(**kwargs)` for a task whose moves are simultaneous."""

    def parallel_env(**kwargs: Any) -> ParallelEnv[str, Any, str]:
        return ParallelView(construct(raw, kwargs))

    parallel_env.__doc__ = f"Make a {raw.__name__} as a ParallelEnv."
    return parallel_env
