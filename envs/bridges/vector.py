"""Numbers instead of text: one seat of a text environment for stable-baselines3 and the like.

A view, not another game: the text environment inside gets a reply for every action, so rules,
deals, illegal moves, rewards and the record of the episode are its own.

Observation   Box: `Task.array`, what the seat knows as numbers: planes of its window in a grid
              world, OpenSpiel's tensors in its games, elsewhere the words of its prompt, hashed;
              zeros at the end
Action        Discrete: the numbers of moves (`Task.numbered`): OpenSpiel's distinct actions,
              elsewhere places in the list of legal moves; `action_masks()` tells which are legal
Reward        everything that the seat was paid since its last action
Ends          as the text environment; truncated only by max_cycles
Illegal       an action that is not legal is said as a reply that is no legal move, so the policy of
              the environment decides: by default the seat forfeits at the lowest payoff. `actions`
              and `illegal_actions` count over the life of the view, infos within the episode
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from gymnasium import spaces

from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode, StopReason
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.opponents import opponent
from coevo.envs.core.parsing import answer
from coevo.envs.core.registry import make
from coevo.envs.core.single_agent import SeatView
from coevo.envs.core.task import Task

Policy = Callable[[np.ndarray, np.ndarray, np.random.Generator], int]
"""(observation, mask of legal actions, generator) -> action; a player that reads numbers."""
LEARNER = "learner"
"""Name of the learning seat's player in records."""


@runtime_checkable
class Drawn(Protocol):
    """Players of whom one is drawn for every episode, such as past selves of a learner."""

    def draw(self, rng: np.random.Generator) -> Policy:
        """Return the player of one seat for one episode."""


Player = str | Policy | Drawn


@dataclass(frozen=True)
class _Seated:
    """Who sits in another seat for one episode."""

    name: str
    acts: Policy | None = None
    """None for a named player, who reads text."""


def vector_env(
    env_id: str,
    *,
    seat: str | int = "rotate",
    opponents: Player | Sequence[Player] = "random",
    on_end: Callable[[Episode], None] | None = None,
    render_mode: str | None = None,
    **options: Any,
) -> VectorView:
    """Return the vector view of a registered environment.

    Args:
        env_id: registered id; its seats must choose among listed moves.
        seat: as in SeatView.
        opponents: in all other seats: a name as in `gymnasium.make`, a policy that reads numbers,
            or players to draw from; or one of these per other seat, in order.
        on_end: called with the record of every finished episode.
        render_mode: as in the environment.
        **options: of the environment; unless they say otherwise prompts are terse, since only a
            named opponent could read them, and an illegal action is a forfeit.

    Raises:
        ConfigError: replies are free text, or an argument makes no sense.
    """
    env = make(env_id, render_mode=render_mode, **quiet(options))
    return VectorView(env, seat=seat, opponents=opponents, on_end=on_end)


def quiet(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with short prompts and no second try: no model reads prompts or reasons."""
    return {"prompt_style": "terse", "illegal": "forfeit", **options}


class VectorView(SeatView[np.ndarray, np.int64]):
    """One seat as numbers; made by `vector_env`."""

    def __init__(
        self,
        env: TextEnv,
        *,
        seat: str | int = "rotate",
        opponents: Player | Sequence[Player] = "random",
        on_end: Callable[[Episode], None] | None = None,
    ) -> None:
        self.task = numbered(env)
        super().__init__(env, seat)
        self._opponents = _per_seat(opponents, len(env.possible_agents) - 1)
        self._on_end = on_end
        self.turns = 0
        """Replies of all seats, over the life of the view."""
        self.actions = 0
        """Actions of the learning seat."""
        self.illegal_actions = 0
        """How many of them were not legal."""
        self.observation_space = self.task.array_space
        self._size = self.task.numbers
        self.action_space = spaces.Discrete(self._size)

    def action_masks(self) -> np.ndarray:
        """Return which actions are legal now; all where this seat has nothing to decide."""
        if self._over or self.seat not in self.env.awaiting:
            return np.ones(self._size, dtype=bool)
        return legal_mask(self.task, self.seat)

    def _act(self, action: np.int64) -> None:
        number = int(action)
        if not 0 <= number < self._size:
            raise ConfigError(f"action={number} must be from 0 to {self._size - 1}")
        reply = reply_of(self.task, self.seat, number)
        self._say(reply or illegal_reply(number), LEARNER)
        self.actions += 1
        self._illegal += reply is None
        self.illegal_actions += reply is None

    def _play_others(self) -> None:
        super()._play_others()
        if self._over and self._on_end is not None:
            self._on_end(self.env.episode)

    def _say(self, text: str, name: str) -> None:
        self.env.step(text)
        self.env.episode.turns[-1].player = name
        self.turns += 1

    def _seat_others(self, seats: list[str]) -> None:
        self._illegal = 0
        self._players = {s: self._seated(o) for s, o in zip(seats, self._opponents, strict=True)}

    def _seated(self, given: Player) -> _Seated:
        if isinstance(given, str):
            return _Seated(given)
        policy = given.draw(self._rng) if isinstance(given, Drawn) else given
        return _Seated(str(getattr(policy, "name", "opponent")), acts=policy)

    def _play_other(self, seat: str) -> None:
        by = self._players[seat]
        if by.acts is None:
            self._say(opponent(by.name)(self.env, seat, self._rng), by.name)
            return
        mask = legal_mask(self.task, seat)
        action = int(by.acts(self.task.array(seat), mask, self._rng))
        self._say(reply_of(self.task, seat, action) or illegal_reply(action), by.name)

    def _observation(self) -> np.ndarray:
        ended = self._over and self.env.episode.stop is not StopReason.TURN_LIMIT
        return self.task.no_array() if ended else self.task.array(self.seat)

    def _info(self) -> dict[str, Any]:
        task = self.env.infos[self.seat]["task_id"]
        return {"seat": self.seat, "task_id": task, "illegal_actions": self._illegal}


def numbered(env: TextEnv) -> Task[Any]:
    """Return the task of an environment whose moves have numbers; else raise ConfigError."""
    first = env.fresh()
    first.reset(seed=0)
    if first.task.legal(first.agent_selection) is None:
        raise ConfigError(
            f"{env} has no vector view: its replies are free text, not moves of a list"
        )
    return env.task


def legal_mask(task: Task[Any], seat: str) -> np.ndarray:
    """Return for every action whether a seat that is asked may take it now."""
    mask = np.zeros(task.numbers, dtype=bool)
    mask[list(task.numbered(seat))] = True
    return mask


def reply_of(task: Task[Any], seat: str, action: int) -> str | None:
    """Return the reply that takes an action; None where the action is not legal now."""
    move = task.numbered(seat).get(action)
    return None if move is None else answer(move)


def illegal_reply(action: int) -> str:
    """Return what is said for an action that is not legal: no legal move is called so.

    >>> illegal_reply(3)
    '[illegal action 3]'
    """
    return answer(f"illegal action {action}")


def _per_seat(given: Player | Sequence[Player], others: int) -> list[Player]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        given = [given] * others
    if len(given) != others:
        raise ConfigError(f"opponents={list(given)}: {others} are needed, one per other seat")
    for player in given:
        if isinstance(player, str):
            opponent(player)
        elif not isinstance(player, Drawn) and not callable(player):
            raise ConfigError(f"opponents: {player!r} is no name, no policy and nothing to draw")
    return list(given)
