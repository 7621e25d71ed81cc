"""Lattice dilemma: players on a torus play the prisoner's dilemma with their four neighbours.

Agents        player_0 to player_8: side x side, row by row
Observation   text or array: the own last move, and how many neighbours cooperated; no names, no
              payoffs
Action        [cooperate] or [defect], all at once, for all four neighbours
Reward        each round the mean over the four games: both cooperate 1, both defect 0, who defects
              against a cooperator 1 + strength, and that one -strength
Ends          after `rounds` rounds
Options       side=3 (3 to 30); strength=0.25; rounds=10; mixing=local (random: four others, drawn
              anew in every round)
References    random 5, oracle 10, exact: all cooperate

The dilemma in which exploration breaks cooperation between agents that share one network (Weng and
Lee 2026, arXiv 2601.05509): a player's next payoff depends on what its random moves make of its
neighbours. Strength is the gain of a defector above a cooperator against either move, so that to
defect is always better in a single round.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.factories import simultaneous
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import All, Pay, Protocol, ProtocolTask
from coevo.envs.core.task import Replies, mostly

COOPERATE, DEFECT = MOVES = ("cooperate", "defect")
NEIGHBOURS = 4


@config
class LatticeDilemmaConfig:
    side: Annotated[int, whole(3, 30)] = 3
    """Players in a row, and rows."""
    strength: Annotated[float, real(0, 10)] = 0.25
    """What a defector gains above a cooperator, against either move."""
    rounds: Annotated[int, whole(1, 1000)] = 10
    mixing: Literal["local", "random"] = "local"
    """Whether the neighbours are those on the torus, or drawn anew in every round."""


class LatticeDilemma(ProtocolTask[LatticeDilemmaConfig]):
    env_id = "coevo/lattice_dilemma-v0"
    config_class = LatticeDilemmaConfig
    simultaneous = True

    def __init__(self, config: LatticeDilemmaConfig) -> None:
        super().__init__(config)
        count, most = config.side**2, config.rounds * (1 + config.strength)
        self.seats = tuple(f"player_{i}" for i in range(count))
        self.payoff_range = (-config.rounds * config.strength, most)
        at = np.arange(count).reshape(config.side, config.side)
        around = [np.roll(at, step, axis) for axis in (0, 1) for step in (1, -1)]
        self.torus = np.stack(around, axis=-1).reshape(count, NEIGHBOURS)
        self.draws = config.mixing == "random"

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        count, strength = len(self.seats), self.config.strength
        self.cooperated: list[bool] = []
        self.friends = [0] * count
        self.shares: list[float] = []
        for number in range(self.config.rounds):
            self.number = number
            near = self.torus
            if self.draws:
                drawn = [rng.choice(count - 1, NEIGHBOURS, replace=False) for _ in self.seats]
                near = np.stack([others + (others >= i) for i, others in enumerate(drawn)])
            moves = yield All(self.seats, moves=MOVES)
            own = np.array([moves[seat] == COOPERATE for seat in self.seats])
            others = own[near].mean(axis=1)
            paid = others + strength * np.where(own, others - 1, others)
            self.cooperated, self.shares = own.tolist(), [*self.shares, float(own.mean())]
            self.friends = own[near].sum(axis=1).tolist()
            yield Pay(dict(zip(self.seats, paid.tolist(), strict=True)))

    @property
    def array_space(self) -> spaces.Box:
        return spaces.Box(0.0, 1.0, (3,), np.float32)

    def array(self, seat: str) -> np.ndarray:
        """Return whether a round was played, the own last move, the share that cooperated."""
        if seat not in self.to_move() or not self.cooperated:
            return self.no_array()
        i = self.seats.index(seat)
        known = (1.0, float(self.cooperated[i]), self.friends[i] / NEIGHBOURS)
        return np.array(known, dtype=np.float32)

    def expert(self, seat: str, skill: float) -> Replies:
        """Cooperate, as is best for all."""
        return mostly(MOVES, {COOPERATE: 1.0}, skill)

    # ---- Prompts ---------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        gain, others = f"{self.config.strength:g}", "four neighbours"
        if self.config.mixing == "random":
            others = "four others, who are drawn anew in every round"
        return (
            f"{len(self.seats)} players play {self.config.rounds} rounds. In each round you play "
            f"with {others}, with one move for all four: cooperate or defect. You earn the mean "
            "over the four games: 1 each if both cooperate, 0 if both defect; if one defects "
            f"alone, it gets 1 + {gain} and the other -{gain}.\nYou are {seat}."
        )

    def situation(self, seat: str) -> str:
        moves = ", ".join(map(answer, MOVES))
        number = f"Round {self.number + 1} of {self.config.rounds}."
        return f"{number} {self._seen(seat)}\nWhat do you do? Legal moves: {moves}"

    def terse(self, seat: str) -> str:
        moves = " ".join(map(answer, MOVES))
        return f"Dilemma, gain {self.config.strength:g}. {self._seen(seat)} Answer {moves}"

    def _seen(self, seat: str) -> str:
        if not self.cooperated:
            return "No move was made yet."
        i = self.seats.index(seat)
        own = MOVES[not self.cooperated[i]]
        return f"Last: you {own}, {self.friends[i]} of 4 cooperate."

    def draw(self) -> str:
        if not self.cooperated:
            return "no move was made yet"
        side, signs = self.config.side, ["C" if own else "D" for own in self.cooperated]
        return "\n".join(" ".join(signs[i : i + side]) for i in range(0, len(signs), side))

    def outcome(self) -> dict[str, float]:
        """Return the share of moves that cooperate, in all rounds and in the last."""
        if not self.shares:
            return {}
        return {"cooperation": float(np.mean(self.shares)), "cooperation/last": self.shares[-1]}


raw_env, env, parallel_env = simultaneous(LatticeDilemma)
