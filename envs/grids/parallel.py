"""Grid worlds as PettingZoo's parallel environments of arrays, without text: for small networks.

The same task as in the text environment, driven without chats and records: seats see
`GridWorld.array`, a test compares both plays. `coevo.envs.bridges.arrays` gives the same numbers
with a record of every episode, more slowly.

Observation   {"observation": planes of numbers from 0 to 1, see `coevo.envs.grids.world`;
              "action_mask": 1 for every action that is legal; a seat that is out may only stay}
Action        Discrete: places in `task.moves`
State         planes of the whole map
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import ParallelEnv

from coevo.envs.core.errors import ConfigError
from coevo.envs.core.registry import make
from coevo.envs.grids.world import STAY, GridWorld

Seen = dict[str, np.ndarray]
Results = tuple[dict[str, Seen], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]


class GridEnv(ParallelEnv[str, Seen, int]):
    """A grid world in numbers; made by `grid_env`."""

    def __init__(self, task: GridWorld[Any], render_mode: str | None = None) -> None:
        self.task, self.render_mode = task, render_mode
        self.metadata = {"name": task.env_id.rpartition("/")[2], "render_modes": ["rgb_array"]}
        self.possible_agents = list(task.seats)
        self.agents: list[str] = []
        mask = spaces.Box(0, 1, (task.numbers,), np.int8)
        seen: dict[str, spaces.Space[Any]] = {"observation": task.array_space, "action_mask": mask}
        self.observation_spaces = {a: spaces.Dict(seen) for a in task.seats}
        self.action_spaces: dict[str, spaces.Space[Any]] = {
            a: spaces.Discrete(task.numbers) for a in task.seats
        }
        self.state_space = task.state_space
        self._free = np.ones(task.numbers, dtype=np.int8)
        self._waits = np.array([move == STAY for move in task.moves], dtype=np.int8)
        self._rng: np.random.Generator | None = None

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of a seat's observations; the same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of a seat's actions; the same object at every call."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Seen], dict[str, Any]]:
        """Start an episode, that of the text environment with the same seed."""
        if seed is not None or self._rng is None:
            self._rng = seeding.np_random(seed)[0]
        self.task.reset(self._rng, options or {})
        self.agents = list(self.possible_agents)
        return self._seen(), {a: {} for a in self.agents}

    def step(self, actions: Mapping[str, int]) -> Results:
        """Carry out the actions of all seats; what seats that are out do does not matter."""
        moves = self.task.moves
        for seat, action in actions.items():
            if not 0 <= action < len(moves):
                raise ConfigError(f"action={action} of {seat} must be from 0 to {len(moves) - 1}")
        asked = {a: moves[int(actions[a])] for a in self.task.to_move()}
        rewards = self.task.play(asked)
        over, seats = not self.task.to_move(), self.agents
        seen, self.agents = self._seen(), [] if over else seats
        ended, cut = dict.fromkeys(seats, over), dict.fromkeys(seats, False)
        return seen, rewards, ended, cut, {a: {} for a in seats}

    def _seen(self) -> dict[str, Seen]:
        task = self.task
        return {
            a: {
                "observation": task.array(a),
                "action_mask": (self._waits if at is None else self._free).copy(),
            }
            for a, at in zip(task.seats, task.at, strict=True)
        }

    def state(self) -> np.ndarray:
        """Return the whole map as planes."""
        return self.task.state_array()

    def render(self) -> Any:
        """Return a picture of the map."""
        return self.task.image()

    def close(self) -> None:
        """Release nothing; may be called again."""


def grid_env(env_id: str, *, render_mode: str | None = None, **options: Any) -> GridEnv:
    """Return a grid world as a PettingZoo parallel environment of arrays.

    Raises:
        ConfigError: the environment is no grid world whose seats move at once.
    """
    task = make(env_id, **options).task
    if not isinstance(task, GridWorld) or not task.simultaneous:
        raise ConfigError(
            f"{env_id} is no grid world whose seats move at once; "
            "coevo.envs.bridges.arrays has a view of it"
        )
    return GridEnv(task, render_mode)
