"""The canonical games: two-player tables, and families that parameters choose from.

Cells are (row player, column player). Where a paper or a suite has numbers of its own the name
says whose they are; the others are the textbook's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from coevo.envs.core.errors import ConfigError
from coevo.envs.dilemmas.matrices import CELLS, MatrixGame, game_of_payoffs

Cell = tuple[float, float]
CD, STAG, DOVE, SIDES = ("C", "D"), ("stag", "hare"), ("dove", "hawk"), ("first", "second")


def two_by_two(name: str, actions: Sequence[str], *cells: Cell) -> MatrixGame:
    """Make a 2x2 game from its cells (0,0), (0,1), (1,0), (1,1)."""
    return game_of_payoffs([cells[:2], cells[2:]], name, actions)


def _symmetric(
    name: str, actions: Sequence[str], r: float, s: float, t: float, p: float
) -> MatrixGame:
    """Make a symmetric 2x2 game from reward, sucker, temptation and punishment."""
    return two_by_two(name, actions, (r, r), (s, t), (t, s), (p, p))


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
    two_by_two("battle_of_sexes_melting_pot", SIDES, (3, 2), (0, 0), (0, 0), (2, 3)),
    two_by_two("matching_pennies", ("heads", "tails"), (1, -1), (-1, 1), (-1, 1), (1, -1)),
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


def donation(benefit: float = 2, cost: float = 1) -> MatrixGame:
    """Pay a cost to give the other a benefit: a prisoner's dilemma with equal gains."""
    _check(benefit > cost > 0, f"donation(benefit={benefit},cost={cost}) needs benefit > cost > 0")
    return _symmetric("donation", CD, benefit - cost, -cost, benefit, 0)


def hawk_dove(value: float = 2, cost: float = 4) -> MatrixGame:
    """Share or fight over a value; stable at P(hawk) = value / cost while value < cost."""
    _check(value > 0 and cost > 0, f"hawk_dove(value={value},cost={cost}): both must be over 0")
    return _symmetric("hawk_dove", DOVE, value / 2, 0, value, (value - cost) / 2)


def battle_of_sexes(high: float = 10, low: float = 7) -> MatrixGame:
    """Meet at one of two places, of which each player likes another one better."""
    _check(high >= low > 0, f"battle_of_sexes(high={high},low={low}) needs high >= low > 0")
    return two_by_two("battle_of_sexes", SIDES, (high, low), (0, 0), (0, 0), (low, high))


def rationalizable_coordination(actions: int = 3) -> MatrixGame:
    """Choose the same, which is worth its number; nothing otherwise."""
    _check_whole("actions", actions, 2, 26)
    worth = np.diag(np.arange(1.0, actions + 1))
    return game_of_payoffs(np.stack([worth, worth], axis=-1), "rationalizable_coordination")


def rock_paper_scissors(win: float = 1) -> MatrixGame:
    """Win or lose the stake; Melting Pot's stake is 10."""
    _check(win > 0, f"rock_paper_scissors(win={win}): win must be over 0")
    own = win * np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
    hands = ("rock", "paper", "scissors")
    return game_of_payoffs(np.stack([own, -own], axis=-1), "rock_paper_scissors", hands)


def n_player_prisoners_dilemma(players: int = 3) -> MatrixGame:
    """Play the prisoner's dilemma with everybody at once and get the average.

    With k of N-1 others cooperating: R_C(k) = 3k/(N-1), R_D(k) = 1 + 4k/(N-1).
    """
    _check_players(players)
    others = players - 1
    return _binary(
        "n_player_prisoners_dilemma",
        players,
        [3 * k / others for k in range(players)],
        [1 + 4 * k / others for k in range(players)],
        CD,
    )


def public_goods(
    players: int = 3, multiplier: float = 1.8, endowment: float = 2, levels: int = 2
) -> MatrixGame:
    """Give to a pot that grows and is shared: u_i = e - c_i + (r/N) sum(c).

    Action 0 gives the whole endowment, the last one nothing; those between are equal steps.
    """
    _check_players(players, levels)
    _check(endowment > 0, f"public_goods(endowment={endowment}) must be over 0")
    _check(
        1 < multiplier < players,
        f"public_goods(players={players},multiplier={multiplier}): the multiplier must lie between "
        "1 and the number of players, or it is no dilemma",
    )
    gift = np.linspace(endowment, 0.0, levels)
    given = np.stack(np.meshgrid(*[gift] * players, indexing="ij"), axis=-1)
    pot = given.sum(axis=-1, keepdims=True)
    return game_of_payoffs(endowment - given + multiplier / players * pot, "public_goods")


def threshold_public_goods(
    players: int = 3, threshold: int = 2, benefit: float = 3, cost: float = 1, refund: int = 0
) -> MatrixGame:
    """Everybody gets the benefit if enough give; what too few give is lost, or paid back.

    A giver pays c; with t or more givers all get b.
    """
    _check_players(players)
    _check_whole("threshold", threshold, 1, players)
    _check(
        benefit > cost > 0, f"threshold_public_goods: benefit={benefit} > cost={cost} > 0 needed"
    )
    enough = np.arange(players + 1) >= threshold
    paid = np.where(enough, 1.0, 0.0 if refund else 1.0) * cost
    give = [enough[k + 1] * benefit - paid[k + 1] for k in range(players)]
    keep = [float(enough[k] * benefit) for k in range(players)]
    return _binary("threshold_public_goods", players, give, keep, ("give", "keep"))


def volunteers_dilemma(players: int = 3, benefit: float = 2, cost: float = 1) -> MatrixGame:
    """One volunteer is enough for all: b - c for volunteers, b for the others, 0 without any."""
    _check_players(players)
    _check(benefit > cost > 0, f"volunteers_dilemma: benefit={benefit} > cost={cost} > 0 needed")
    keep = [0.0, *[float(benefit)] * (players - 1)]
    names = ("volunteer", "wait")
    return _binary("volunteers_dilemma", players, [benefit - cost] * players, keep, names)


MAKERS: dict[str, Callable[..., MatrixGame]] = {
    maker.__name__: maker
    for maker in (
        donation,
        hawk_dove,
        battle_of_sexes,
        rationalizable_coordination,
        rock_paper_scissors,
        n_player_prisoners_dilemma,
        public_goods,
        threshold_public_goods,
        volunteers_dilemma,
    )
}
"""Families by name; their arguments are the parameters of a game string."""


def _binary(
    name: str, players: int, give: Sequence[float], keep: Sequence[float], actions: Sequence[str]
) -> MatrixGame:
    """Make a symmetric game of two actions from its payoffs with k other cooperators."""
    tensor = np.empty((2,) * players + (players,))
    for joint in itertools.product(range(2), repeat=players):
        givers = joint.count(0)
        tensor[joint] = [keep[givers] if a else give[givers - 1] for a in joint]
    return game_of_payoffs(tensor, name, actions)


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise ConfigError(message)


def _check_whole(name: str, given: float, low: int, high: int) -> None:
    whole = isinstance(given, int) and not isinstance(given, bool)
    _check(whole and low <= given <= high, f"{name}={given!r} must be a whole number {low}..{high}")


def _check_players(players: int, levels: int = 2) -> None:
    _check_whole("levels", levels, 2, 26)
    _check_whole("players", players, 2, 10)
    _check(levels**players <= CELLS, f"players={players} with {levels} actions: too many cells")
