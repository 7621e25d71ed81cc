"""The three ways to make an environment that PettingZoo users expect of a module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import wrappers
from pettingzoo.utils.conversions import aec_to_parallel_wrapper

from coevo.envs.core.env import TextEnv

AECFactory = Callable[..., AECEnv[str, Any, str]]
ParallelFactory = Callable[..., ParallelEnv[str, Any, str]]


class ParallelView(aec_to_parallel_wrapper):  # type: ignore[misc]
    """A text environment with simultaneous moves, as a PettingZoo ParallelEnv."""

    @property
    def max_cycles(self) -> int | None:
        """Rounds after which play is truncated; None for no limit."""
        return self.aec_env.unwrapped.max_cycles  # type: ignore[no-any-return]

    @max_cycles.setter
    def max_cycles(self, rounds: int | None) -> None:
        self.aec_env.unwrapped.max_cycles = rounds


def aec_factory(raw: type[TextEnv]) -> AECFactory:
    """Give `env(**kwargs)`: the raw environment behind PettingZoo's order check."""

    def env(**kwargs: Any) -> AECEnv[str, Any, str]:
        return wrappers.OrderEnforcingWrapper(raw(**kwargs))

    env.__doc__ = f"Make a {raw.__name__} behind PettingZoo's order check."
    return env


def parallel_factory(raw: type[TextEnv]) -> ParallelFactory:
    """Give `parallel_env(**kwargs)` for a task whose moves are simultaneous."""

    def parallel_env(**kwargs: Any) -> ParallelEnv[str, Any, str]:
        return ParallelView(raw(**kwargs))

    parallel_env.__doc__ = f"Make a {raw.__name__} as a ParallelEnv."
    return parallel_env
