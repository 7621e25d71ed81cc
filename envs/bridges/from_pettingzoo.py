"""Any PettingZoo environment with numbered actions as a text environment.

Agents        player_0 .. player_n-1, the environment's own agents in their order
Observation   chat: what its authors say of it, then at each turn what the seat observes, in words
Action        text ending in a legal action in square brackets: its number, or its name in the
              classic games that have words for them
Reward        the environment's own
Ends          when the environment has no agents left; a truncation ends it as well
Options       name: an id of PettingZoo's registry, `classic/chess-v6`; arguments of its maker;
              payoffs: lowest and highest return of a seat
References    none

Legal are the actions of the mask, in the observation or in the info; without a mask all are. What
is hidden is what the environment's observations leave out. Drawings are never shown to a seat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

import numpy as np
import pettingzoo
from gymnasium import spaces
from pettingzoo.env_registry.exceptions import FailedToImport
from pydantic import Field

from coevo.envs.bridges.about import about
from coevo.envs.bridges.classic import CLASSIC, Words
from coevo.envs.bridges.observations import described
from coevo.envs.core.config import config, real
from coevo.envs.core.errors import ConfigError, MissingExtraError, unknown
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.task import Task
from coevo.envs.games.states import distinct, listing, shorten

SEEN, TERSE = 4000, 160
"""Characters of an observation in full and in terse style."""


@config
class PettingZooConfig:
    """Which environment, and how it is made."""

    name: str = "classic/tictactoe-v3"
    """Id in PettingZoo's registry of turn-based (AEC) environments."""
    arguments: Mapping[str, Any] = Field(default_factory=dict)
    """Arguments of the environment's maker."""
    slow: bool = False
    """Whether its steps wait for something outside of this process; see `Task.slow`."""
    payoffs: tuple[Annotated[float, real()], Annotated[float, real()]] | None = None
    """Lowest and highest return of a seat; None for what is known of the classic games, else -1
    and 1."""


class PettingZooTask(Task[PettingZooConfig]):
    env_id = "coevo/pettingzoo-v0"
    config_class = PettingZooConfig

    def __init__(self, config: PettingZooConfig) -> None:
        super().__init__(config)
        self.world = _made(config.name, config.arguments)
        self.agents = list(self.world.possible_agents)
        self.seats = tuple(f"player_{i}" for i in range(len(self.agents)))
        for agent in self.agents:
            if not isinstance(self.world.action_space(agent), spaces.Discrete):
                space = self.world.action_space(agent)
                raise ConfigError(f"name={config.name!r}: actions are {space}, not Discrete")
        self.title = config.name.rpartition("/")[2]
        self.payoff_range = config.payoffs or self.words.payoffs
        self.slow = config.slow

    def __copy__(self) -> Self:
        return type(self)(self.config)

    @property
    def words(self) -> Words:
        """What is known of a classic game; a property, so that a task can be pickled."""
        return CLASSIC.get(self.title.rpartition("-v")[0], Words())

    # ---- Rules ---------------------------------------------------------------------------------

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        self.world.reset(seed=int(rng.integers(2**31)))
        self._leave()

    def to_move(self) -> Sequence[str]:
        if not self.world.agents:
            return ()
        return (self.seats[self.agents.index(self.world.agent_selection)],)

    def legal(self, seat: str) -> Sequence[str]:
        return list(self._actions(seat))

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        ((seat, move),) = moves.items()
        self.world.step(self._actions(seat)[move])
        paid = {self.seats[self.agents.index(a)]: float(r) for a, r in self.world.rewards.items()}
        self._leave()
        return paid

    def _leave(self) -> None:
        """Take agents that are done out of the environment, as PettingZoo asks for."""
        world = self.world
        while world.agents and (
            world.terminations[world.agent_selection] or world.truncations[world.agent_selection]
        ):
            world.step(None)

    def _agent(self, seat: str) -> str:
        return str(self.agents[self.seats.index(seat)])

    def _actions(self, seat: str) -> dict[str, int]:
        agent = self._agent(seat)
        space, seen = self.world.action_space(agent), self.world.observe(agent)
        mask = seen.get("action_mask") if isinstance(seen, Mapping) else None
        if mask is None:
            mask = self.world.infos.get(agent, {}).get("action_mask")
        allowed = range(int(space.n)) if mask is None else np.flatnonzero(mask)
        start = int(space.start)
        actions = [int(a) + start for a in allowed]
        names = distinct([self.words.move(self.world.unwrapped, agent, a) for a in actions])
        return dict(zip(names, actions, strict=True))

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        return (
            f"{self.title}, an environment of PettingZoo. You are {seat}, one of "
            f"{len(self.seats)}; its authors call you {self._agent(seat)}. What they say of it:\n"
            f"{self.words.rules or about(self.world)}"
        )

    def situation(self, seat: str) -> str:
        moves = [answer(m) for m in self._actions(seat)]
        return f"{shorten(self._seen(seat), SEEN)}\nLegal moves: {listing(moves, 400)}"

    def terse(self, seat: str) -> str:
        seen = shorten(" ".join(self._seen(seat).split()), TERSE)
        moves = listing(list(self._actions(seat)), 30)
        return f"{self.title}. You are {seat}. {seen}. Moves: {moves}. Answer [move]"

    def _seen(self, seat: str) -> str:
        agent = self._agent(seat)
        said = self.words.seen(self.world.unwrapped, agent)
        return described(self.world.observe(agent)) if said is None else said

    def draw(self) -> str:
        return "\n\n".join(f"{seat}:\n{self._seen(seat)}" for seat in self.seats)

    def at_risk(self, seat: str) -> float:
        return max(0.0, -self.payoff_range[0])


def _made(name: str, arguments: Mapping[str, Any]) -> Any:
    """Return an environment by its id; every way in which that fails is one line."""
    known = [known for known in pettingzoo.aec_registry if not known.startswith("coevo/")]
    if name not in known:
        raise unknown("PettingZoo environment", name, known)
    try:
        return pettingzoo.make("aec", name, **arguments)
    except FailedToImport as error:
        missing = getattr(error.__cause__, "name", None) or "of its own"
        raise MissingExtraError(
            f"name={name!r} needs the package {missing!r}, which is not installed: "
            f"pip install 'pettingzoo[{name.partition('/')[0]}]'"
        ) from None
    except TypeError as error:
        raise ConfigError(f"name={name!r}, arguments={dict(arguments)}: {error}") from None


raw_env, env = turn_based(PettingZooTask)
