"""Matrix games as payoff tensors, played without any text.

A game of N players is one array [actions of player 0, ..., actions of player N-1, N]: the last axis
is who is paid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coevo.envs.core.errors import ConfigError

CELLS = 4096
"""Joint moves that a payoff tensor may have."""


@dataclass(frozen=True, eq=False)
class MatrixGame:
    """A game in normal form; action 0 is the cooperative one where there is one."""

    name: str
    """Never shown to players, who could know what is usually said about the game."""
    payoffs: NDArray[np.float64]
    """[actions of player 0, ..., actions of player N-1, N]."""
    actions: tuple[str, ...] = ()
    """Names of the actions in the literature; empty where there are none."""

    @property
    def players(self) -> int:
        return int(self.payoffs.shape[-1])

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of actions of every player."""
        return self.payoffs.shape[:-1]

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest payoff of a player in one round."""
        return float(self.payoffs.min()), float(self.payoffs.max())

    @property
    def zero_sum(self) -> bool:
        """Whether the payoffs of every cell sum to zero."""
        return bool(np.allclose(self.payoffs.sum(axis=-1), 0.0))

    @property
    def welfare(self) -> float:
        """Highest sum of payoffs that one joint move reaches."""
        return float(self.payoffs.sum(axis=-1).max())

    @property
    def symmetric(self) -> bool:
        """Whether it does not matter who sits where: permuted players have permuted payoffs."""
        if len(set(self.sizes)) > 1:
            return False
        swaps = [_swapped(self.payoffs, i, i + 1) for i in range(self.players - 1)]
        return all(np.allclose(self.payoffs, swapped) for swapped in swaps)


def payoff(game: MatrixGame, actions: ArrayLike) -> NDArray[np.float64]:
    """Return the payoffs of joint moves: u[..., i] = payoffs[a_0, ..., a_{N-1}, i].

    Returns:
        Payoffs [..., N].

    >>> game = game_of_payoffs([[[3, 3], [0, 5]], [[5, 0], [1, 1]]])
    >>> payoff(game, [[0, 0], [0, 1], [1, 1]]).tolist()
    [[3.0, 3.0], [0.0, 5.0], [1.0, 1.0]]
    """
    chosen = np.asarray(actions)
    if chosen.shape[-1:] != (game.players,) or not np.issubdtype(chosen.dtype, np.integer):
        raise ConfigError(
            f"actions of shape {chosen.shape} and type {chosen.dtype}: {game.name} takes action "
            f"numbers [..., {game.players}]"
        )
    if (chosen < 0).any() or (chosen >= np.array(game.sizes)).any():
        raise ConfigError(f"an action of {game.name} must lie under {game.sizes} and not under 0")
    return game.payoffs[tuple(np.moveaxis(chosen, -1, 0))]


def game_of_payoffs(
    payoffs: ArrayLike, name: str = "payoffs", actions: Sequence[str] = ()
) -> MatrixGame:
    """Return a game from its payoff tensor [actions of player 0, ..., of player N-1, N].

    Raises:
        ConfigError: the numbers are no tensor of that form.

    >>> game_of_payoffs([[[3, 3], [0, 5]], [[5, 0], [1, 1]]]).sizes
    (2, 2)
    """
    tensor = _tensor(payoffs)
    shape, players = tensor.shape, tensor.ndim - 1
    if players < 2 or shape[-1] != players:
        raise ConfigError(
            f"payoffs have shape {list(shape)}; expected one axis per player and a last axis with "
            "one payoff per player, for example [[[3,3],[0,5]],[[5,0],[1,1]]] with shape [2, 2, 2]"
        )
    if min(shape[:-1]) < 2 or tensor.size > CELLS * players:
        raise ConfigError(
            f"payoffs have shape {list(shape)}: every player needs 2 actions or more, and there "
            f"may be {CELLS} joint moves"
        )
    if not np.isfinite(tensor).all():
        raise ConfigError("payoffs must be finite numbers")
    if actions and {len(actions)} != set(shape[:-1]):
        raise ConfigError(f"{len(actions)} action names {list(actions)} for shape {list(shape)}")
    tensor.flags.writeable = False
    return MatrixGame(name, tensor, tuple(actions))


def _tensor(payoffs: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.array(payoffs, dtype=np.float64) + 0.0  # no negative zeros in prompts
    except (ValueError, TypeError) as error:
        raise ConfigError(f"payoffs are no tensor of numbers: {error}") from None


def _swapped(payoffs: NDArray[np.float64], i: int, j: int) -> NDArray[np.float64]:
    """Let two players change seats: their axes and their payoffs."""
    order = list(range(payoffs.shape[-1]))
    order[i], order[j] = order[j], order[i]
    return np.swapaxes(payoffs, i, j)[..., order]
