"""Gymnasium view: one seat learns, the other seats are played by named players."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium

from coevo.envs.core.chat import Chat
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.opponents import opponent
from coevo.envs.core.registry import make


class SingleAgentEnv(gymnasium.Env[dict[str, Chat], str]):
    """One seat of a text environment.

    Args:
        env_id: registered id of the multi-agent environment.
        seat: name or index of the learner's seat, or `rotate` to change it with every reset; a
            seeded reset draws the seat, from which later ones rotate on.
        opponents: name of the player in all other seats, or one name per other seat in order.
        render_mode: as in the environment.
        **kwargs: further arguments of the environment.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # as Gymnasium declares it
        "render_modes": ["ansi", "human"],
        "render_fps": 4,
    }

    def __init__(
        self,
        env_id: str,
        *,
        seat: str | int = 0,
        opponents: str | list[str] = "random",
        render_mode: str | None = None,
        **kwargs: Any,
    ) -> None:
        self.env = make(env_id, render_mode=render_mode, **kwargs)
        self.render_mode = render_mode
        self._seat_arg = seat
        self.seat = self._seat(0)
        others = len(self.env.possible_agents) - 1
        names = [opponents] * others if isinstance(opponents, str) else list(opponents)
        if len(names) != others:
            raise ConfigError(f"opponents={names}: {env_id} needs {others}, one per other seat")
        self._opponents = [opponent(n) for n in names]
        self._resets = 0
        self.observation_space = self.env.observation_space(self.seat)
        self.action_space = self.env.action_space(self.seat)

    def _seat(self, reset: int) -> str:
        seats = self.env.possible_agents
        if self._seat_arg == "rotate":
            return seats[reset % len(seats)]
        if isinstance(self._seat_arg, int) and -len(seats) <= self._seat_arg < len(seats):
            return seats[self._seat_arg]
        if self._seat_arg in seats:
            return str(self._seat_arg)
        numbers = f"0..{len(seats) - 1}"
        raise ConfigError(f"seat={self._seat_arg!r} must be 'rotate', {numbers} or one of {seats}")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Chat], dict[str, Any]]:
        """Start a play and let the other seats move until it is this seat's turn."""
        super().reset(seed=seed)
        self.env.reset(seed=int(self.np_random.integers(2**31)), options=options)
        if seed is not None and self._seat_arg == "rotate":
            self._resets = int(self.np_random.integers(len(self.env.possible_agents)))
        self.seat = self._seat(self._resets)
        self._resets += 1
        others = [a for a in self.env.possible_agents if a != self.seat]
        self._players = dict(zip(others, self._opponents, strict=True))
        self._paid, self._told = 0.0, False
        self._play_others()
        return self.env.observe(self.seat), self._info()

    def step(self, action: str) -> tuple[dict[str, Chat], float, bool, bool, dict[str, Any]]:
        """Reply, let the others move, and give what this seat was paid in between.

        Where the others ended the play before this seat's first turn, the first step ends it.
        """
        if self._over() and self._told:
            raise ConfigError("the play is over: call reset before the next step")
        if not self._over():
            self.env.step(action)
            self._play_others()
        self._told = self._over()
        total = self.env.episode.total(self.seat)
        reward, self._paid = total - self._paid, total
        terminated, truncated = self.env.terminations[self.seat], self.env.truncations[self.seat]
        return self.env.observe(self.seat), reward, terminated, truncated, self._info()

    def _over(self) -> bool:
        return self.env.terminations[self.seat] or self.env.truncations[self.seat]

    def _play_others(self) -> None:
        while not self._over() and self.env.agent_selection != self.seat:
            mover = self.env.agent_selection
            chat, info = self.env.chat(mover), self.env.infos[mover]
            self.env.step(self._players[mover](chat, info, self.np_random))

    def _info(self) -> dict[str, Any]:
        # A play that others ended stays as it is: every call gives copies all the same.
        return {**copy.deepcopy(self.env.infos[self.seat]), "seat": self.seat}

    def render(self) -> str | None:
        """Draw the state as the multi-agent environment does."""
        return self.env.render()

    def close(self) -> None:
        """Release nothing; may be called again."""
        self.env.close()
