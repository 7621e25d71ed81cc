"""Gymnasium views: one seat learns, the other seats are played by others."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, TypeVar

import gymnasium
import numpy as np

from coevo.envs.core.chat import Chat
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.opponents import Opponent, opponent
from coevo.envs.core.registry import make

Obs = TypeVar("Obs")
Act = TypeVar("Act")


class SeatView(gymnasium.Env[Obs, Act]):
    """One seat of a text environment, whatever its observations and actions look like.

    Args:
        env: the environment.
        seat: name or index of the learner's seat, or `rotate` to change it with every reset; a
            seeded reset draws the seat, from which later ones rotate on.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # as Gymnasium declares it
        "render_modes": ["ansi", "human", "rgb_array"],
        "render_fps": 4,
    }

    def __init__(self, env: TextEnv, seat: str | int) -> None:
        self.env = env
        self.render_mode = env.render_mode
        self._seat_arg = seat
        self._resets = 0
        self.seat = self._seat_now()

    def _seat_now(self) -> str:
        seats, given = self.env.possible_agents, self._seat_arg
        if given == "rotate":
            return seats[self._resets % len(seats)]
        if given in seats:
            return str(given)
        number = isinstance(given, int) and not isinstance(given, bool)
        if number and -len(seats) <= int(given) < len(seats):
            return seats[int(given)]
        numbers = f"0..{len(seats) - 1}"
        raise ConfigError(f"seat={given!r} must be 'rotate', {numbers} or one of {seats}")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Obs, dict[str, Any]]:
        """Start an episode; the others move until it is this seat's turn.

        A seed gives the same initial state as in the text environment.
        """
        super().reset(seed=seed)
        drawn = self.np_random.integers(2**31, size=3)
        self.env.reset(seed=int(drawn[0]) if seed is None else seed, options=options)
        if seed is not None:
            self._resets = int(drawn[1])
        self.seat = self._seat_now()
        self._resets += 1
        # Opponents have a stream of their own: the environment draws from the seed itself.
        self._rng = np.random.default_rng([int(drawn[2]), 7])
        self._paid, self._told = 0.0, False
        self._seat_others([a for a in self.env.possible_agents if a != self.seat])
        self._play_others()
        return self._observation(), self._info()

    def step(self, action: Act) -> tuple[Obs, float, bool, bool, dict[str, Any]]:
        """Act, let the others move, and return what this seat was paid in between.

        Where the others ended the episode before this seat's first turn, the first step ends it.
        """
        if self._over and self._told:
            raise ConfigError("the episode is over: call reset before the next step")
        if not self._over:
            self._act(action)
            self._play_others()
        self._told = self._over
        total = self.env.episode.total(self.seat)
        reward, self._paid = total - self._paid, total
        ended, cut = self.env.terminations[self.seat], self.env.truncations[self.seat]
        return self._observation(), float(reward), ended, cut, self._info()

    def render(self) -> Any:
        """Draw the state as the text environment does."""
        return self.env.render()

    def close(self) -> None:
        """Release nothing; may be called again."""
        self.env.close()

    @property
    def _over(self) -> bool:
        return self.env.terminations[self.seat] or self.env.truncations[self.seat]

    def _play_others(self) -> None:
        while not self._over and self.env.agent_selection != self.seat:
            self._play_other(self.env.agent_selection)

    @abstractmethod
    def _seat_others(self, seats: list[str]) -> None:
        """Choose who plays the other seats in this episode."""

    @abstractmethod
    def _play_other(self, seat: str) -> None:
        """Take the reply of an opponent."""

    @abstractmethod
    def _act(self, action: Act) -> None:
        """Let the learner reply."""

    @abstractmethod
    def _observation(self) -> Obs:
        """Return what the seat sees."""

    @abstractmethod
    def _info(self) -> dict[str, Any]:
        """Return the further entries of the seat's info."""


class SingleAgentEnv(SeatView[dict[str, Chat], str]):
    """One seat in text, as `gymnasium.make` makes it.

    Args:
        env_id: registered id of the multi-agent environment.
        seat: as in SeatView.
        opponents: who has all other seats, or one for each of them in order: names of agents, or
            functions as in `opponents.Opponent`.
        render_mode: as in the environment.
        **kwargs: further arguments of the environment.
    """

    def __init__(
        self,
        env_id: str,
        *,
        seat: str | int = 0,
        opponents: str | Opponent | list[str | Opponent] = "random",
        render_mode: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(make(env_id, render_mode=render_mode, **kwargs), seat)
        others = len(self.env.possible_agents) - 1
        given = list(opponents) if isinstance(opponents, list | tuple) else [opponents] * others
        if len(given) != others:
            raise ConfigError(f"opponents={given}: {env_id} needs {others}, one per other seat")
        self._opponents = [opponent(o) for o in given]
        self.observation_space = self.env.observation_space(self.seat)
        self.action_space = self.env.action_space(self.seat)

    def _seat_others(self, seats: list[str]) -> None:
        self._players = dict(zip(seats, self._opponents, strict=True))

    def _play_other(self, seat: str) -> None:
        self.env.step(self._players[seat](self.env, seat, self._rng))

    def _act(self, action: str) -> None:
        self.env.step(action)

    def _observation(self) -> dict[str, Chat]:
        return self.env.observe(self.seat)

    def _info(self) -> dict[str, Any]:
        # An episode that others ended stays as it is: every call gives copies all the same.
        return {**copy.deepcopy(self.env.infos[self.seat]), "seat": self.seat}
