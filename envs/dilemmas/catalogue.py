"""The canonical games: two-player tables, and families with parameters.

Cells are (row player, column player). Where a paper or a suite has numbers of its own the name
says whose they are; the others are the textbook's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np

from coevo.envs.core.config import choice, config, read
from coevo.envs.core.errors import ConfigError
from coevo.envs.dilemmas.matrices import MatrixGame, game_of_payoffs
from coevo.envs.dilemmas.n_player import (
    Actions,
    CommonPool,
    Coopetition,
    NPlayerPrisonersDilemma,
    Positive,
    PublicGoods,
    ThresholdPublicGoods,
    VolunteersDilemma,
    check_worth,
)
from coevo.envs.dilemmas.ordinal import Ordinal

Cell = tuple[float, float]
CD, STAG, DOVE, SIDES = ("C", "D"), ("stag", "hare"), ("dove", "hawk"), ("first", "second")


def _two_by_two(name: str, actions: Sequence[str], *cells: Cell) -> MatrixGame:
    """Return a 2x2 game from its cells (0,0), (0,1), (1,0), (1,1)."""
    return game_of_payoffs([cells[:2], cells[2:]], name, actions)


def _symmetric(
    name: str, actions: Sequence[str], r: float, s: float, t: float, p: float
) -> MatrixGame:
    """Return a symmetric 2x2 game from reward, sucker, temptation and punishment."""
    return _two_by_two(name, actions, (r, r), (s, t), (t, s), (p, p))


_TABLES = (
    _symmetric("prisoners_dilemma", CD, 3, 0, 5, 1),  # Axelrod
    _symmetric("prisoners_dilemma_repeated_llm", CD, 8, 0, 10, 5),  # Akata et al.
    _symmetric("prisoners_dilemma_partner_selection", CD, 3, 0, 4, 1),  # Dasgupta, Musolesi
    _symmetric("prisoners_dilemma_centred", CD, 1, -1, 2, 0),  # Weis et al.
    _symmetric("stag_hunt", STAG, 4, 1, 3, 2),
    _symmetric("stag_hunt_melting_pot", STAG, 4, 0, 2, 2),
    _symmetric("stag_hunt_risky", STAG, 4, 0, 3, 2),
    _symmetric("chicken", ("swerve", "straight"), 3, 2, 4, 1),
    _symmetric("chicken_melting_pot", DOVE, 3, 2, 5, 0),
    _two_by_two("battle_of_sexes_melting_pot", SIDES, (3, 2), (0, 0), (0, 0), (2, 3)),
    _two_by_two("matching_pennies", ("heads", "tails"), (1, -1), (-1, 1), (-1, 1), (1, -1)),
    _symmetric("harmony", CD, 4, 3, 2, 1),
    _symmetric("no_conflict", CD, 4, 2, 3, 1),
    _symmetric("deadlock", CD, 2, 1, 4, 3),
    _symmetric("assurance", CD, 4, 1, 2, 3),
    _symmetric("coordination", SIDES, 4, 2, 1, 3),
    _symmetric("battle", SIDES, 2, 3, 4, 1),
    _symmetric("hero", SIDES, 1, 3, 4, 2),
    _symmetric("pure_coordination", SIDES, 1, 0, 0, 1),
    _two_by_two("commitment", (), (2, 1), (4, 0), (1, 0), (3, 1)),  # Conitzer, Sandholm 2006
)
TABLES: dict[str, MatrixGame] = {game.name: game for game in _TABLES}
"""Games without parameters by name."""


@config
class Table:
    """A game without parameters."""

    name: Literal[tuple(TABLES)]  # type: ignore[valid-type]

    def make(self) -> MatrixGame:
        return TABLES[self.name]


@config
class Donation:
    """Pay a cost to give the other a benefit: a prisoner's dilemma with equal gains."""

    name: Literal["donation"] = "donation"
    benefit: Positive = 2.0
    cost: Positive = 1.0

    def __post_init__(self) -> None:
        check_worth(self.benefit, self.cost)

    def make(self) -> MatrixGame:
        return _symmetric(self.name, CD, self.benefit - self.cost, -self.cost, self.benefit, 0)


@config
class HawkDove:
    """Share or fight over a value; stable at P(hawk) = value / cost while value < cost."""

    name: Literal["hawk_dove"] = "hawk_dove"
    value: Positive = 2.0
    cost: Positive = 4.0

    def make(self) -> MatrixGame:
        fight = (self.value - self.cost) / 2
        return _symmetric(self.name, DOVE, self.value / 2, 0, self.value, fight)


@config
class BattleOfSexes:
    """Meet at one of two places, of which each player likes another one better."""

    name: Literal["battle_of_sexes"] = "battle_of_sexes"
    high: Positive = 10.0
    low: Positive = 7.0

    def __post_init__(self) -> None:
        if self.high < self.low:
            raise ConfigError(f"high={self.high} must be at least low={self.low}")

    def make(self) -> MatrixGame:
        cells = (self.high, self.low), (0, 0), (0, 0), (self.low, self.high)
        return _two_by_two(self.name, SIDES, *cells)


@config
class RationalizableCoordination:
    """Choose the same, which is worth its number; nothing otherwise."""

    name: Literal["rationalizable_coordination"] = "rationalizable_coordination"
    actions: Actions = 3

    def make(self) -> MatrixGame:
        worth = np.diag(np.arange(1.0, self.actions + 1))
        return game_of_payoffs(np.stack([worth, worth], axis=-1), self.name)


@config
class RockPaperScissors:
    """Win or lose the stake; Melting Pot's stake is 10."""

    name: Literal["rock_paper_scissors"] = "rock_paper_scissors"
    win: Positive = 1.0

    def make(self) -> MatrixGame:
        own = self.win * np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
        hands = ("rock", "paper", "scissors")
        return game_of_payoffs(np.stack([own, -own], axis=-1), self.name, hands)


Matrix = Annotated[
    BattleOfSexes
    | CommonPool
    | Coopetition
    | Donation
    | HawkDove
    | NPlayerPrisonersDilemma
    | Ordinal
    | PublicGoods
    | RationalizableCoordination
    | RockPaperScissors
    | Table
    | ThresholdPublicGoods
    | VolunteersDilemma,
    choice(),
]
"""A matrix game in a configuration."""


def matrix_game(given: Any) -> MatrixGame:
    """Return a matrix game.

    Args:
        given: a configuration of it, a mapping with `name` and further fields, or a bare name.

    >>> matrix_game({"name": "volunteers_dilemma", "players": 4}).sizes
    (2, 2, 2, 2)
    """
    game: MatrixGame = read(Matrix, given, "game").make()
    return game
