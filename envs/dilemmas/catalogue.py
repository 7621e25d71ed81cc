"""The canonical games: two-player tables, and families with parameters.

Cells are (row player, column player). Where a paper or a suite has numbers of its own the name
says whose they are; the others are the textbook's.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np

from coevo.envs.core.config import choice, config, named, read, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.dilemmas.matrices import CELLS, MatrixGame, game_of_payoffs
from coevo.envs.dilemmas.ordinal import Ordinal

Cell = tuple[float, float]
Positive = Annotated[float, real(above=0)]
Players = Annotated[int, whole(2, 10)]
Actions = Annotated[int, whole(2, 26)]
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
)
TABLES: dict[str, MatrixGame] = {game.name: game for game in _TABLES}
"""Games without parameters by name."""


@config
class Table:
    """A game without parameters."""

    name: Literal[tuple(TABLES)]  # type: ignore[valid-type]

    def make(self) -> MatrixGame:
        """Return the game."""
        return TABLES[self.name]


@config
class Donation:
    """Pay a cost to give the other a benefit: a prisoner's dilemma with equal gains."""

    name: Literal["donation"] = "donation"
    benefit: Positive = 2.0
    cost: Positive = 1.0

    def __post_init__(self) -> None:
        _check_worth(self.benefit, self.cost)

    def make(self) -> MatrixGame:
        """Return the game."""
        return _symmetric(self.name, CD, self.benefit - self.cost, -self.cost, self.benefit, 0)


@config
class HawkDove:
    """Share or fight over a value; stable at P(hawk) = value / cost while value < cost."""

    name: Literal["hawk_dove"] = "hawk_dove"
    value: Positive = 2.0
    cost: Positive = 4.0

    def make(self) -> MatrixGame:
        """Return the game."""
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
        """Return the game."""
        cells = (self.high, self.low), (0, 0), (0, 0), (self.low, self.high)
        return _two_by_two(self.name, SIDES, *cells)


@config
class RationalizableCoordination:
    """Choose the same, which is worth its number; nothing otherwise."""

    name: Literal["rationalizable_coordination"] = "rationalizable_coordination"
    actions: Actions = 3

    def make(self) -> MatrixGame:
        """Return the game."""
        worth = np.diag(np.arange(1.0, self.actions + 1))
        return game_of_payoffs(np.stack([worth, worth], axis=-1), self.name)


@config
class RockPaperScissors:
    """Win or lose the stake; Melting Pot's stake is 10."""

    name: Literal["rock_paper_scissors"] = "rock_paper_scissors"
    win: Positive = 1.0

    def make(self) -> MatrixGame:
        """Return the game."""
        own = self.win * np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
        hands = ("rock", "paper", "scissors")
        return game_of_payoffs(np.stack([own, -own], axis=-1), self.name, hands)


@config
class NPlayerPrisonersDilemma:
    """Play the prisoner's dilemma with everybody at once and get the average.

    With k of N-1 others cooperating: R_C(k) = 3k/(N-1), R_D(k) = 1 + 4k/(N-1).
    """

    name: Literal["n_player_prisoners_dilemma"] = "n_player_prisoners_dilemma"
    players: Players = 3

    def make(self) -> MatrixGame:
        """Return the game."""
        others = self.players - 1
        give = [3 * k / others for k in range(self.players)]
        keep = [1 + 4 * k / others for k in range(self.players)]
        return _binary(self.name, self.players, give, keep, CD)


@config
class PublicGoods:
    """Give to a pot that grows and is shared: u_i = e - c_i + (r/N) sum(c).

    Action 0 gives the whole endowment, the last one nothing; those between are equal steps.
    """

    name: Literal["public_goods"] = "public_goods"
    players: Players = 3
    multiplier: Annotated[float, real(above=1)] = 1.8
    endowment: Positive = 2.0
    levels: Actions = 2

    def __post_init__(self) -> None:
        if self.multiplier >= self.players:
            raise ConfigError(
                f"multiplier={self.multiplier} must be less than players={self.players}, or it is "
                "no dilemma"
            )
        if self.levels**self.players > CELLS:
            raise ConfigError(
                f"players={self.players} with levels={self.levels}: too many joint moves"
            )

    def make(self) -> MatrixGame:
        """Return the game."""
        gift = np.linspace(self.endowment, 0.0, self.levels)
        given = np.stack(np.meshgrid(*[gift] * self.players, indexing="ij"), axis=-1)
        pot = given.sum(axis=-1, keepdims=True)
        payoffs = self.endowment - given + self.multiplier / self.players * pot
        return game_of_payoffs(payoffs, self.name)


@config
class ThresholdPublicGoods:
    """Everybody gets the benefit if enough give; what too few give is lost, or paid back.

    A giver pays c; with t or more givers all get b.
    """

    name: Literal["threshold_public_goods"] = "threshold_public_goods"
    players: Players = 3
    threshold: Annotated[int, whole(1)] = 2
    benefit: Positive = 3.0
    cost: Positive = 1.0
    refund: bool = False

    def __post_init__(self) -> None:
        _check_worth(self.benefit, self.cost)
        if self.threshold > self.players:
            raise ConfigError(f"threshold={self.threshold} must be at most {self.players}")

    def make(self) -> MatrixGame:
        """Return the game."""
        enough = np.arange(self.players + 1) >= self.threshold
        paid = np.where(enough, 1.0, 0.0 if self.refund else 1.0) * self.cost
        give = [enough[k + 1] * self.benefit - paid[k + 1] for k in range(self.players)]
        keep = [float(enough[k] * self.benefit) for k in range(self.players)]
        return _binary(self.name, self.players, give, keep, ("give", "keep"))


@config
class VolunteersDilemma:
    """One volunteer is enough for all: b - c for volunteers, b for the others, 0 without any."""

    name: Literal["volunteers_dilemma"] = "volunteers_dilemma"
    players: Players = 3
    benefit: Positive = 2.0
    cost: Positive = 1.0

    def __post_init__(self) -> None:
        _check_worth(self.benefit, self.cost)

    def make(self) -> MatrixGame:
        """Return the game."""
        give = [self.benefit - self.cost] * self.players
        keep = [0.0, *[self.benefit] * (self.players - 1)]
        return _binary(self.name, self.players, give, keep, ("volunteer", "wait"))


Matrix = Annotated[
    BattleOfSexes
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
    named(),
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


def _binary(
    name: str, players: int, give: Sequence[float], keep: Sequence[float], actions: Sequence[str]
) -> MatrixGame:
    """Return a symmetric game of two actions from its payoffs with k other cooperators."""
    tensor = np.empty((2,) * players + (players,))
    for joint in itertools.product(range(2), repeat=players):
        givers = joint.count(0)
        tensor[joint] = [keep[givers] if a else give[givers - 1] for a in joint]
    return game_of_payoffs(tensor, name, actions)


def _check_worth(benefit: float, cost: float) -> None:
    if benefit <= cost:
        raise ConfigError(f"benefit={benefit} must be more than cost={cost}")
