"""Any TextArena game as a text environment.

Agents        player_0 .. player_n-1, TextArena's players
Observation   chat: at each turn what TextArena shows the player; what players say is quoted
Action        any text without its thoughts; TextArena reads the move in it
Reward        what TextArena gives when the game is over, -1 to 1 in most games
Ends          when TextArena says so
Options       name: an id of TextArena's registry, `TicTacToe-v0`; players; arguments of its maker
References    none

Illegal moves are TextArena's to judge: it asks once again, and then lets the player lose. Its games
draw from Python's global generator, and some from numpy's; here every episode has states of its
own, so that a seed decides it and episodes do not disturb each other.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import random  # noqa: TID251  # TextArena draws from it: its state is swapped, never used here
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, whole
from coevo.envs.core.errors import ConfigError, missing_extra, unknown
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import Parse, Status, spoken
from coevo.envs.core.quoting import own_words, quote, visible
from coevo.envs.core.task import Task
from coevo.envs.games.states import shorten

TERSE = 400
"""Characters of TextArena's text in a terse prompt."""
SAID = 4000
"""Characters of a reply that reach the game."""


@config
class TextArenaConfig:
    """Which game, and how it is made."""

    name: str = "TicTacToe-v0"
    """Id in TextArena's registry."""
    players: Annotated[int, whole(1, 30)] = 2
    """Number of players."""
    arguments: Mapping[str, Any] = Field(default_factory=dict)
    """Arguments of the game's maker."""


class TextArenaTask(Task[TextArenaConfig]):
    env_id = "coevo/textarena-v0"
    config_class = TextArenaConfig

    def __init__(self, config: TextArenaConfig) -> None:
        super().__init__(config)
        self.seats = tuple(f"player_{i}" for i in range(config.players))
        self._made = self.world = _made(config)

    # ---- Rules ---------------------------------------------------------------------------------

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        seed = int(rng.integers(2**31))
        self._python = random.Random(seed).getstate()
        self._numpy = np.random.RandomState(seed).get_state()
        self.told: dict[str, str] = {}
        self.rewards: dict[int, float] | None = None
        self.world = copy.deepcopy(self._made)  # some games deal from what the last one left
        with self._own_generators():
            try:
                self.world.reset(num_players=self.config.players, seed=seed)
            except Exception as error:  # what a game needs and how it fails is its own affair
                raise ConfigError(
                    f"name={self.config.name!r} with players={self.config.players} does not start: "
                    f"{_line(error)}"
                ) from None
            self._listen()

    @contextlib.contextmanager
    def _own_generators(self) -> Iterator[None]:
        """Let the game draw from this episode's generators."""
        python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  # as above
        random.setstate(self._python)
        np.random.set_state(self._numpy)  # noqa: NPY002  # as above
        try:
            yield
        finally:
            self._python, self._numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002  # as above

    def _listen(self) -> None:
        """Fetch the game's messages to the player who moves now; each comes only once."""
        player, told = self.world.get_observation()
        self.mover = self.seats[player]
        mine = (self._words(m, player) for m in told)
        self.told[self.mover] = "\n".join(text for text in mine if text)

    def _words(self, message: tuple[Any, ...], player: int) -> str:
        """Return a message for a player; some games mix up what stands where in it."""
        sender = next((part for part in message if isinstance(part, int)), -1)
        text = "\n".join(part for part in message if isinstance(part, str))
        if sender == player:
            return ""  # its own words are in its chat
        return visible(text).strip() if sender < 0 else f"player_{sender} says:\n{quote(text)}"

    def to_move(self) -> Sequence[str]:
        return (self.mover,) if self.rewards is None else ()

    def legal(self, seat: str) -> None:
        """Return None: the game itself reads what is said."""

    def read(self, seat: str, text: str) -> Parse:
        said = " ".join(own_words(spoken(text), SAID).split())
        return Parse(said.replace("⟦", "[").replace("⟧", "]"), Status.LEGAL)

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        ((seat, said),) = moves.items()
        with self._own_generators():
            try:
                done, _ = self.world.step(said)
            except Exception:  # a game that raises on a reply: the player of that reply loses
                self.rewards = {self.seats.index(seat): -1.0}
            else:
                if done:
                    paid = self.world.close()[0] or {}
                    # Some games put the reason of a loss where its number should be.
                    self.rewards = {
                        p: float(r) if isinstance(r, int | float) else -1.0 for p, r in paid.items()
                    }
                else:
                    self._listen()
        given = self.rewards or {}
        return {self.seats[player]: float(reward) for player, reward in given.items()}

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        return (
            f"{self.config.name}, a game of TextArena for {len(self.seats)}. You are {seat}. All "
            "of your reply but its thoughts goes to the game, which looks for a move in it."
        )

    def situation(self, seat: str) -> str:
        return self.told.get(seat) or "It is your turn."

    def terse(self, seat: str) -> str:
        told = shorten(" ".join(self.situation(seat).split()), TERSE)
        return f"{self.config.name}. You are {seat}. {told}"

    def draw(self) -> str:
        return "\n\n".join(f"{seat}:\n{told}" for seat, told in sorted(self.told.items()))


def _made(config: TextArenaConfig) -> Any:
    """Return a game by its id, without the wrappers that turn messages into one text."""
    try:
        textarena = importlib.import_module("textarena")
    except ImportError as error:
        raise missing_extra(error.name or "textarena", "bridges") from None
    known = importlib.import_module("textarena.envs.registration").ENV_REGISTRY
    name = f"{config.name.removesuffix('-raw')}-raw"
    if name not in known:
        bare = (known_id for known_id in known if not known_id.endswith(("-raw", "-train")))
        raise unknown("TextArena game", config.name, bare)
    try:
        return textarena.make(name, **config.arguments)
    except Exception as error:  # games load word lists and models of their own
        given = f" with arguments={dict(config.arguments)}" if config.arguments else ""
        raise ConfigError(f"name={config.name!r}{given} cannot be made: {_line(error)}") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).replace("*", "").split())[:200] or type(error).__name__


raw_env, env = turn_based(TextArenaTask)
