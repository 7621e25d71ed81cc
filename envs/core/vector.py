"""Numbers instead of text: one seat of a text environment for stable-baselines3 and the like.

A view, not another game: the text environment inside gets a reply for every action, so rules,
deals, illegal moves, rewards and the record of the play are its own.

Observation   Box: what the seat knows as numbers, see `coevo.envs.games.tensors`; zeros at the end
Action        Discrete: OpenSpiel's distinct actions; `action_masks()` tells which are legal now
Reward        everything that the seat was paid since its last action
Ends          as the text environment; truncated only by max_cycles
Illegal       an action that is not legal is said as a reply that is no legal move, so the policy of
              the environment decides: by default the seat forfeits at the lowest payoff. `actions`
              and `illegal_actions` count over the life of the view, infos within the play
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import gymnasium
import numpy as np
from gymnasium import spaces

from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.opponents import opponent
from coevo.envs.core.parsing import answer
from coevo.envs.core.registry import make
from coevo.envs.games.openspiel import OpenSpielEnv
from coevo.envs.games.tensors import encode, size

Policy = Callable[[np.ndarray, np.ndarray, np.random.Generator], int]
"""(observation, mask of legal actions, generator) -> action; a player that reads numbers."""
LEARNER = "learner"
"""Name of the learning seat's player in records."""
BOUND = 1e9
"""No tensor has larger numbers; Gymnasium's checker warns about infinite bounds."""


@runtime_checkable
class Drawn(Protocol):
    """Players of whom one is drawn for every play, such as past selves of a learner."""

    def draw(self, rng: np.random.Generator) -> Policy:
        """Give the player of one seat for one play."""


Player = str | Policy | Drawn


@dataclass(frozen=True)
class _Seated:
    """Who sits in another seat for one play."""

    name: str
    acts: Policy | None = None
    """None for a named player, who reads text."""


def vector_env(
    env_id: str,
    *,
    seat: int | None = None,
    opponents: Player | Sequence[Player] = "random",
    on_end: Callable[[Episode], None] | None = None,
    render_mode: str | None = None,
    **options: Any,
) -> VectorView:
    """Make the vector view of a registered environment.

    Args:
        env_id: registered id; its moves must be numbered, as OpenSpiel's are.
        seat: index of the learner's seat; None changes it with every reset. A seeded reset draws
            the seat, from which later ones rotate on.
        opponents: in all other seats: a name as in `gymnasium.make`, a policy that reads numbers,
            or players to draw from; or one of these per other seat, in order.
        on_end: told the record of every finished play.
        render_mode: as in the environment.
        **options: of the environment; `prompt_style` is terse unless it is given, since nobody
            but a named opponent could read the prompts.

    Raises:
        ConfigError: the environment has no numbered actions, or an argument makes no sense.
    """
    options = {"prompt_style": "terse", **options}
    env = make(env_id, render_mode=render_mode, **options)
    return VectorView(env, seat=seat, opponents=opponents, on_end=on_end)


class VectorView(gymnasium.Env[np.ndarray, np.int64]):
    """One seat as numbers; made by `vector_env`."""

    metadata: dict[str, Any] = {  # noqa: RUF012  # as Gymnasium declares it
        "render_modes": ["ansi", "human"],
        "render_fps": 4,
    }

    def __init__(
        self,
        env: TextEnv,
        *,
        seat: int | None = None,
        opponents: Player | Sequence[Player] = "random",
        on_end: Callable[[Episode], None] | None = None,
    ) -> None:
        self.env = numbered(env)
        self.render_mode = env.render_mode
        self._seats = list(env.possible_agents)
        self._seat = _checked_seat(seat, len(self._seats))
        self._opponents = _per_seat(opponents, len(self._seats) - 1)
        self._on_end = on_end
        self._resets = 0
        self.player = self._seat or 0
        self.turns = 0
        """Replies of all seats, over the life of the view."""
        self.actions = 0
        """Actions of the learning seat."""
        self.illegal_actions = 0
        """How many of them were not legal."""
        shape = (size(self.env.game),)
        self.observation_space = spaces.Box(-BOUND, BOUND, shape, np.float32)
        self._size = int(self.env.game.num_distinct_actions())
        self.action_space = spaces.Discrete(self._size)

    @property
    def seat(self) -> str:
        """Name of the learning seat."""
        return self._seats[self.player]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start a play; a seed gives the same deal as in the text environment."""
        super().reset(seed=seed)
        drawn = self.np_random.integers(2**31, size=3)
        self.env.reset(seed=int(drawn[0]) if seed is None else seed, options=options)
        if seed is not None:
            self._resets = int(drawn[1])
        self.player = self._resets % len(self._seats) if self._seat is None else self._seat
        self._resets += 1
        # Opponents have a stream of their own: the environment deals from the seed itself.
        self._rng = np.random.default_rng([int(drawn[2]), 7])
        self._players = self._drawn_players()
        self._paid, self._told, self._illegal = 0.0, False, 0
        self._play_others()
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Act, let the others move, and give what this seat was paid in between.

        Where the others ended the play before this seat's first turn, the first step ends it.
        """
        if self._over and self._told:
            raise ConfigError("the play is over: call reset before the next step")
        if not self._over:
            self._act(int(action))
            self._play_others()
        self._told = self._over
        total = self.env.episode.total(self.seat)
        reward, self._paid = total - self._paid, total
        ended, cut = self.env.terminations[self.seat], self.env.truncations[self.seat]
        return self._observation(), float(reward), ended, cut, self._info()

    def action_masks(self) -> np.ndarray:
        """Tell which actions are legal now; all where this seat has nothing to decide."""
        mask = legal_mask(self.env, self.player) if not self._over else np.zeros(0, dtype=bool)
        return mask if mask.any() else np.ones(self._size, dtype=bool)

    def render(self) -> str | None:
        """Draw the state as the text environment does."""
        return self.env.render()

    def close(self) -> None:
        """Release nothing; may be called again."""
        self.env.close()

    @property
    def _over(self) -> bool:
        return self.env.terminations[self.seat] or self.env.truncations[self.seat]

    def _act(self, action: int) -> None:
        if not 0 <= action < self._size:
            raise ConfigError(f"action={action} must be from 0 to {self._size - 1}")
        reply = reply_of(self.env, self.player, action)
        self._say(reply or illegal_reply(action), LEARNER)
        self.actions += 1
        self._illegal += reply is None
        self.illegal_actions += reply is None

    def _play_others(self) -> None:
        while not self._over and self.env.agent_selection != self.seat:
            mover = self._seats.index(self.env.agent_selection)
            self._say(self._reply(mover), self._players[mover].name)
        if self._over and self._on_end is not None:
            self._on_end(self.env.episode)

    def _say(self, text: str, name: str) -> None:
        self.env.step(text)
        self.env.episode.turns[-1].player = name
        self.turns += 1

    def _drawn_players(self) -> dict[int, _Seated]:
        others = [p for p in range(len(self._seats)) if p != self.player]
        return {p: self._seated(o) for p, o in zip(others, self._opponents, strict=True)}

    def _seated(self, given: Player) -> _Seated:
        if isinstance(given, str):
            return _Seated(given)
        policy = given.draw(self._rng) if isinstance(given, Drawn) else given
        return _Seated(str(getattr(policy, "name", "opponent")), acts=policy)

    def _reply(self, mover: int) -> str:
        by, seat = self._players[mover], self._seats[mover]
        if by.acts is None:
            return opponent(by.name)(self.env.chat(seat), self.env.infos[seat], self._rng)
        mask = legal_mask(self.env, mover)
        action = int(by.acts(encode(self.env.state, mover), mask, self._rng))
        return reply_of(self.env, mover, action) or illegal_reply(action)

    def _observation(self) -> np.ndarray:
        if self.env.state.is_terminal() or self.env.terminations[self.seat]:
            return np.zeros(self.observation_space.shape or (), dtype=np.float32)
        return encode(self.env.state, self.player)

    def _info(self) -> dict[str, Any]:
        task = self.env.infos[self.seat]["task_id"]
        return {"seat": self.seat, "task_id": task, "illegal_actions": self._illegal}


def numbered(env: TextEnv) -> OpenSpielEnv:
    """Give an environment whose actions are numbered; raise ConfigError for any other."""
    if not isinstance(env, OpenSpielEnv):
        raise ConfigError(
            f"{env} has no vector view: its moves are no fixed set of numbered actions. "
            "Environments on OpenSpiel rules have one"
        )
    return env


def legal_mask(env: OpenSpielEnv, player: int) -> np.ndarray:
    """Tell for every action of a game whether a player may take it now."""
    return np.array(env.state.legal_actions_mask(player), dtype=bool)


def reply_of(env: OpenSpielEnv, player: int, action: int) -> str | None:
    """Give the reply that takes an action; None where the action is not legal now."""
    legal = env.state.legal_actions(player)
    if action not in legal:
        return None
    names = env.infos[env.possible_agents[player]]["legal_actions"]
    return answer(names[legal.index(action)])


def illegal_reply(action: int) -> str:
    """Give what is said for an action that is not legal: no legal move is called so.

    >>> illegal_reply(3)
    '[illegal action 3]'
    """
    return answer(f"illegal action {action}")


def _checked_seat(seat: int | None, seats: int) -> int | None:
    whole = isinstance(seat, int) and not isinstance(seat, bool)
    if seat is None or (whole and 0 <= seat < seats):
        return seat
    raise ConfigError(f"seat={seat!r} must be None (a new one every reset) or 0..{seats - 1}")


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
