"""Numbers instead of text for all seats at once: what learners of many agents expect.

A view of a text environment, as `vector` is for one seat: PettingZoo's AEC or parallel form with
`Discrete` actions and masks, so that the tutorials of TorchRL, RLlib, Tianshou and others run on it
as on PettingZoo's own board games.

Observation   {"observation": `Task.array`, what the seat knows (see `coevo.envs.bridges.vector`);
              "action_mask": 1 for every action that is legal now, zeros where the seat has nothing
              to decide}
Action        Discrete: the numbers of moves (`Task.numbered`)
State         `Task.state_array`, for a critic that sees everything: the whole map of a grid world,
              elsewhere the observations of all seats in order
Reward        as the text environment pays it; so are ends and what an illegal action costs
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv

from coevo.envs.bridges.vector import illegal_reply, legal_mask, numbered, quiet, reply_of
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import ParallelView
from coevo.envs.core.registry import make

Seen = dict[str, np.ndarray]
Results = tuple[dict[str, Seen], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]


class _Numbers:
    """Spaces, observations and replies of a text environment whose actions are numbered."""

    def __init__(self, env: TextEnv) -> None:
        self.env, self.task = env, numbered(env)
        self.action_spaces: dict[str, spaces.Space[Any]] = {
            a: spaces.Discrete(self.task.numbers) for a in env.possible_agents
        }
        mask = spaces.Box(0, 1, (self.task.numbers,), np.int8)
        self.observation_spaces = {
            a: spaces.Dict({"observation": self.task.array_space, "action_mask": mask})
            for a in env.possible_agents
        }
        self.state_space = self.task.state_space

    def observe(self, seat: str) -> Seen:
        """Return fresh arrays of what a seat knows and may do."""
        mask = np.zeros(self.task.numbers, dtype=np.int8)
        if seat in self.env.awaiting:
            mask[:] = legal_mask(self.task, seat)
        return {"observation": self._known(seat), "action_mask": mask}

    def _known(self, seat: str) -> np.ndarray:
        ended = self.env.terminations.get(seat, True)  # what is cut off has a value
        return self.task.no_array() if ended else self.task.array(seat)

    def state(self) -> np.ndarray:
        """Return the whole state; zeros at the end."""
        over = not self.env.awaiting
        return np.zeros_like(self.state_space.low) if over else self.task.state_array()

    def reply(self, seat: str, action: int) -> str:
        """Return what a seat says for an action."""
        number, most = int(action), self.task.numbers
        if not 0 <= number < most:
            raise ConfigError(f"action={number} of {seat} must be from 0 to {most - 1}")
        return reply_of(self.task, seat, number) or illegal_reply(number)


class ArrayEnv(AECEnv[str, Seen, int]):
    """A text environment as numbers, seat after seat; made by `array_env`."""

    def __init__(self, env: TextEnv) -> None:
        super().__init__()
        self.text, self._numbers = env, _Numbers(env)
        self.metadata = env.metadata
        self.render_mode = env.render_mode
        self.possible_agents = list(env.possible_agents)
        self.agents: list[str] = []
        self.observation_spaces = self._numbers.observation_spaces
        self.action_spaces = self._numbers.action_spaces
        self.state_space = self._numbers.state_space

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of a seat's observations; the same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of a seat's actions; the same object at every call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode; equal seeds give the initial states of the text environment."""
        self.text.reset(seed=seed, options=options)
        self._follow()

    def step(self, action: int | None) -> None:
        """Take the action of `agent_selection`; None where it has left the game."""
        seat = self.agent_selection
        gone = self.terminations[seat] or self.truncations[seat]
        if gone or action is None:
            self.text.step(action)  # type: ignore[arg-type]  # the text environment checks it
        else:
            self.text.step(self._numbers.reply(seat, action))
        self._follow()

    def observe(self, agent: str) -> Seen:
        """Return fresh arrays of what a seat knows and may do."""
        return self._numbers.observe(agent)

    def state(self) -> np.ndarray:
        """Return the whole state as numbers."""
        return self._numbers.state()

    def render(self) -> Any:
        """Draw the state as the text environment does."""
        return self.text.render()

    def close(self) -> None:
        """Release nothing; may be called again."""

    def __str__(self) -> str:
        return str(self.text)

    def _follow(self) -> None:
        text = self.text
        self.agents, self.agent_selection = text.agents, text.agent_selection
        self.rewards, self._cumulative_rewards = text.rewards, text._cumulative_rewards
        self.terminations, self.truncations = text.terminations, text.truncations
        # Empty, since learners turn infos into tensors; `text.episode` has the record.
        self.infos: dict[str, dict[str, Any]] = {a: {} for a in text.agents}


class ParallelArrayEnv(ParallelEnv[str, Seen, int]):
    """A text environment with simultaneous moves as numbers; made by `parallel_array_env`."""

    def __init__(self, env: TextEnv) -> None:
        self._view, self._numbers = ParallelView(env), _Numbers(env)
        self.text = env
        self.metadata = env.metadata
        self.render_mode = env.render_mode
        self.possible_agents = list(env.possible_agents)
        self.agents: list[str] = []
        self.observation_spaces = self._numbers.observation_spaces
        self.action_spaces = self._numbers.action_spaces
        self.state_space = self._numbers.state_space

    @property
    def max_cycles(self) -> int | None:
        """Rounds after which play is truncated; None for no limit."""
        return self.text.max_cycles

    @max_cycles.setter
    def max_cycles(self, rounds: int | None) -> None:
        self.text.max_cycles = rounds

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of a seat's observations; the same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of a seat's actions; the same object at every call."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Seen], dict[str, Any]]:
        """Start an episode; return observations and infos by seat."""
        self._view.reset(seed=seed, options=options)
        self.agents = list(self.text.agents)
        return {a: self._numbers.observe(a) for a in self.agents}, {a: {} for a in self.agents}

    def step(self, actions: Mapping[str, int]) -> Results:
        """Carry out the actions of all seats; where one has to try again, so do those after it."""
        said = {a: self._numbers.reply(a, actions[a]) for a in self.text.awaiting if a in actions}
        seats = list(self.text.agents)
        _, rewards, ended, cut, _ = self._view.step(said)
        self.agents = list(self.text.agents)
        seen = {a: self._numbers.observe(a) for a in seats}
        return seen, rewards, ended, cut, {a: {} for a in seats}

    def state(self) -> np.ndarray:
        """Return the whole state as numbers."""
        return self._numbers.state()

    def render(self) -> Any:
        """Draw the state as the text environment does."""
        return self.text.render()

    def close(self) -> None:
        """Release nothing; may be called again."""

    def __str__(self) -> str:
        return str(self.text)


def array_env(env_id: str, *, render_mode: str | None = None, **options: Any) -> ArrayEnv:
    """Return a registered environment as a PettingZoo AEC environment of numbers.

    Args:
        env_id: its seats must choose among listed moves.
        render_mode: as in the environment.
        **options: of the environment; unless they say otherwise prompts are terse and an illegal
            action is a forfeit.

    Raises:
        ConfigError: replies are free text, or an argument makes no sense.
    """
    return ArrayEnv(make(env_id, render_mode=render_mode, **quiet(options)))


def parallel_array_env(
    env_id: str, *, render_mode: str | None = None, **options: Any
) -> ParallelArrayEnv:
    """Return the same for an environment in which all seats move at once.

    Raises:
        ConfigError: as `array_env`, or seats take turns with these arguments.
    """
    return ParallelArrayEnv(make(env_id, render_mode=render_mode, **quiet(options)))
