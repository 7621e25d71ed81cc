"""Families of games for any number of players: public goods, common pools, volunteers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.dilemmas.matrices import CELLS, MatrixGame, game_of_payoffs

Positive = Annotated[float, real(above=0)]
Players = Annotated[int, whole(2, 10)]
Actions = Annotated[int, whole(2, 26)]


@config
class NPlayerPrisonersDilemma:
    """Play the prisoner's dilemma with all others at once and get the average.

    With k of N-1 others cooperating: R_C(k) = 3k/(N-1), R_D(k) = 1 + 4k/(N-1).
    """

    name: Literal["n_player_prisoners_dilemma"] = "n_player_prisoners_dilemma"
    players: Players = 3

    def make(self) -> MatrixGame:
        others = self.players - 1
        give = [3 * k / others for k in range(self.players)]
        keep = [1 + 4 * k / others for k in range(self.players)]
        return _binary(self.name, self.players, give, keep, ("C", "D"))


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
        _check_size(self.players, self.levels)

    def make(self) -> MatrixGame:
        gift = np.linspace(self.endowment, 0.0, self.levels)
        given = np.stack(np.meshgrid(*[gift] * self.players, indexing="ij"), axis=-1)
        pot = given.sum(axis=-1, keepdims=True)
        payoffs = self.endowment - given + self.multiplier / self.players * pot
        return game_of_payoffs(payoffs, self.name)


@config
class CommonPool:
    """Work outside for a wage or take from a pool that gives less to each the more all take.

    u_i = w (e - x_i) + x_i / X (a X - b X^2) with X = sum(x) (Ostrom, Gardner, Walker 1994). In
    equilibrium X = N / (N + 1) (a - w) / b; best for all is X = (a - w) / 2b. Action 0 takes the
    least, the last one the whole endowment; those between are equal steps. With the defaults,
    action 0 is best for all and the last one is the equilibrium.
    """

    name: Literal["common_pool"] = "common_pool"
    players: Players = 3
    endowment: Positive = 3.0
    least: Annotated[float, real(0)] = 2.0
    levels: Actions = 2
    wage: Annotated[float, real(0)] = 5.0
    first: Positive = 23.0
    """a: what the first unit gives."""
    decline: Positive = 1.5
    """b: how much less each further one gives to all."""

    def __post_init__(self) -> None:
        if self.first <= self.wage:
            raise ConfigError(f"first={self.first} must be more than wage={self.wage}")
        if self.endowment <= self.least:
            raise ConfigError(f"endowment={self.endowment} must be more than least={self.least}")
        _check_size(self.players, self.levels)

    def make(self) -> MatrixGame:
        taken = np.linspace(self.least, self.endowment, self.levels)
        own = np.stack(np.meshgrid(*[taken] * self.players, indexing="ij"), axis=-1)
        each = self.first - self.decline * own.sum(axis=-1, keepdims=True)
        return game_of_payoffs(self.wage * (self.endowment - own) + own * each, self.name)


@config
class ThresholdPublicGoods:
    """All get the benefit if enough give; what too few give is lost, or paid back.

    A giver pays c; with t or more givers all get b.
    """

    name: Literal["threshold_public_goods"] = "threshold_public_goods"
    players: Players = 3
    threshold: Annotated[int, whole(1)] = 2
    benefit: Positive = 3.0
    cost: Positive = 1.0
    refund: bool = False

    def __post_init__(self) -> None:
        check_worth(self.benefit, self.cost)
        if self.threshold > self.players:
            raise ConfigError(f"threshold={self.threshold} must be at most {self.players}")

    def make(self) -> MatrixGame:
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
        check_worth(self.benefit, self.cost)

    def make(self) -> MatrixGame:
        give = [self.benefit - self.cost] * self.players
        keep = [0.0, *[self.benefit] * (self.players - 1)]
        return _binary(self.name, self.players, give, keep, ("volunteer", "wait"))


@config
class Coopetition:
    """Invest alone and together, with a stake in what the other earns (Pant and Yu, 2510.18802).

    Of an investment a_i of the endowment e the own earnings are
    p_i = e - a_i + scale ln(1 + a_i) + synergy sqrt(a_1 a_2) / 2, and a seat is paid
    p_i + D_i p_j, D_i being how far it depends on the other. Action 0 invests everything, the last
    one nothing; those between are equal steps. Without dependence the equilibrium is below what is
    best for both, with the defaults action 1; the paper's dependence of Sony and Samsung lifts it
    to action 0.
    """

    name: Literal["coopetition"] = "coopetition"
    endowment: Positive = 27.0
    levels: Actions = 7
    scale: Positive = 20.0
    synergy: Positive = 0.65
    depends: tuple[Annotated[float, real(0, 100)], Annotated[float, real(0, 100)]] = (0.86, 0.64)
    """D: what the other's earnings count for each seat."""

    def make(self) -> MatrixGame:
        steps = np.linspace(self.endowment, 0.0, self.levels)
        spent = np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1)
        shared = self.synergy / 2 * np.sqrt(spent.prod(axis=-1, keepdims=True))
        own = self.endowment - spent + self.scale * np.log1p(spent) + shared
        return game_of_payoffs(own + np.array(self.depends) * own[..., ::-1], self.name)


def _binary(
    name: str, players: int, give: Sequence[float], keep: Sequence[float], actions: Sequence[str]
) -> MatrixGame:
    """Return a symmetric game of two actions from its payoffs with k other cooperators."""
    tensor = np.empty((2,) * players + (players,))
    for joint in itertools.product(range(2), repeat=players):
        givers = joint.count(0)
        tensor[joint] = [keep[givers] if a else give[givers - 1] for a in joint]
    return game_of_payoffs(tensor, name, actions)


def check_worth(benefit: float, cost: float) -> None:
    """Raise ConfigError where a benefit is not worth its cost."""
    if benefit <= cost:
        raise ConfigError(f"benefit={benefit} must be more than cost={cost}")


def _check_size(players: int, levels: int) -> None:
    if levels**players > CELLS:
        raise ConfigError(f"players={players} with levels={levels}: too many joint moves")
