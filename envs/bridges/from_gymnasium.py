"""Any Gymnasium environment with numbered or written actions as a text environment of one seat.

Agents        player_0
Observation   chat: what its authors say of it, then the observation in words, or its drawing
Action        text: a legal action's number in square brackets, or any text for actions that are one
Reward        the environment's own
Ends          when the environment terminates or truncates
Options       name: an id of Gymnasium's registry, `FrozenLake-v1`; arguments of its maker;
              drawing: show the environment's `ansi` rendering instead of its observation; payoffs
References    none

Legal are the actions of `action_mask` in the info; without one all are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

import gymnasium
import numpy as np
from gymnasium import spaces
from pydantic import Field

from coevo.envs.bridges.about import about
from coevo.envs.bridges.observations import described
from coevo.envs.core.config import config, real
from coevo.envs.core.errors import ConfigError, MissingExtraError, unknown
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.quoting import visible
from coevo.envs.core.task import Task
from coevo.envs.games.states import listing, shorten

SEEN, TERSE = 4000, 160
"""Characters of an observation in full and in terse style."""
SEAT = "player_0"
_COLOURED = re.compile(r"(?:\x1b\[[0-9;]+m)+(.*?)(?:\x1b\[0?m)+")


@config
class GymnasiumConfig:
    """Which environment, and how it is made."""

    name: str = "FrozenLake-v1"
    """Id in Gymnasium's registry."""
    arguments: Mapping[str, Any] = Field(default_factory=dict)
    """Arguments of the environment's maker."""
    slow: bool = False
    """Whether its steps wait for something outside of this process; see `Task.slow`."""
    drawing: bool = False
    """Show the `ansi` rendering instead of the observation. It may hold what an observation does
    not."""
    payoffs: tuple[Annotated[float, real()], Annotated[float, real()]] = (-1.0, 1.0)
    """Lowest and highest return."""


class GymnasiumTask(Task[GymnasiumConfig]):
    env_id = "coevo/gymnasium-v0"
    config_class = GymnasiumConfig
    seats = (SEAT,)

    def __init__(self, config: GymnasiumConfig) -> None:
        super().__init__(config)
        self.world = _made(config)
        self.space = self.world.action_space
        if not isinstance(self.space, spaces.Discrete | spaces.Text):
            raise ConfigError(f"name={config.name!r}: actions are {self.space}, not Discrete, Text")
        self.payoff_range = config.payoffs
        self.slow = config.slow

    def __copy__(self) -> Self:
        return type(self)(self.config)

    # ---- Rules ---------------------------------------------------------------------------------

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        seed = int(rng.integers(2**31))
        self.space.seed(seed)
        self.seen, self.extra = self.world.reset(seed=seed)
        self.over = False

    def to_move(self) -> Sequence[str]:
        return () if self.over else (SEAT,)

    def legal(self, seat: str) -> Sequence[str] | None:
        if isinstance(self.space, spaces.Text):
            return None
        mask, start = self.extra.get("action_mask"), int(self.space.start)
        allowed = range(int(self.space.n)) if mask is None else np.flatnonzero(mask)
        return [str(int(a) + start) for a in allowed]

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        said = moves[SEAT]
        action = said if isinstance(self.space, spaces.Text) else int(said)
        self.seen, paid, ended, cut, self.extra = self.world.step(action)
        self.over = bool(ended or cut)
        return {SEAT: float(paid)}

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        how = "\nYour whole reply is the action." if self.legal(seat) is None else ""
        return (
            f"{self.config.name}, an environment of Gymnasium. You are {seat}. What its authors "
            f"say of it:\n{about(self.world)}{how}"
        )

    def situation(self, seat: str) -> str:
        legal = self.legal(seat)
        moves = "" if legal is None else f"\nLegal moves: {listing([*map(answer, legal)], 400)}"
        return shorten(self._text(), SEEN) + moves

    def terse(self, seat: str) -> str:
        legal = self.legal(seat)
        how = "Answer with the action"
        if legal is not None:
            how = f"Moves: {listing(legal, 30)}. Answer [move]"
        seen = shorten(" ".join(self._text().split()), TERSE)
        return f"{self.config.name}. {seen}. {how}"

    def _text(self) -> str:
        return uncoloured(str(self.world.render())) if self.config.drawing else described(self.seen)

    def draw(self) -> str:
        return self._text()

    def at_risk(self, seat: str) -> float:
        return max(0.0, -self.payoff_range[0])


def uncoloured(text: str) -> str:
    r"""Return a drawing with parentheses around what it marks by colours.

    >>> uncoloured("  (Up)\n\x1b[41mS\x1b[0mFF")
    '  (Up)\n(S)FF'
    """
    return visible(_COLOURED.sub(r"(\1)", text)).strip("\n")


def _made(config: GymnasiumConfig) -> Any:
    """Return an environment by its id; every way in which that fails is one line."""
    name, arguments = config.name, dict(config.arguments)
    if config.drawing:
        arguments["render_mode"] = "ansi"
    known = [known for known in gymnasium.registry if not known.startswith("coevo/")]
    if name not in known:
        raise unknown("Gymnasium environment", name, known)
    try:
        # Its checker writes warnings about spaces; an environment of others is taken as it is.
        return gymnasium.make(name, disable_env_checker=True, **arguments)
    except (ImportError, gymnasium.error.DependencyNotInstalled) as error:
        raise MissingExtraError(f"name={name!r} cannot be made: {_line(error)}") from None
    except (TypeError, gymnasium.error.Error) as error:
        raise ConfigError(f"name={name!r}, arguments={arguments}: {_line(error)}") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


raw_env, env = turn_based(GymnasiumTask)
