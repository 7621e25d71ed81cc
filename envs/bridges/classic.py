"""Words for PettingZoo's classic games: names of actions, what is seen, what can be won."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


def by_number(world: Any, agent: str, action: int) -> str:
    """Return the number of an action."""
    return str(action)


def as_observed(world: Any, agent: str) -> str | None:
    """Return None: the observation is described as it is."""
    return None


class Words(NamedTuple):
    """What a generic view of an environment cannot know."""

    move: Callable[[Any, str, int], str] = by_number
    """(unwrapped environment, agent, action) -> its name."""
    seen: Callable[[Any, str], str | None] = as_observed
    """(unwrapped environment, agent) -> what the agent sees; None for its observation."""
    payoffs: tuple[float, float] = (-1.0, 1.0)
    """Lowest and highest return of an agent."""
    rules: str = ""
    """Instead of what the authors write for networks, where names make it pointless."""


def _listed(*names: str) -> Callable[[Any, str, int], str]:
    return lambda world, agent, action: names[action] if action < len(names) else str(action)


def _chess_move(world: Any, agent: str, action: int) -> str:
    from pettingzoo.classic.chess.chess_utils import action_to_move

    return str(action_to_move(world.board, action, world.possible_agents.index(agent)).uci())


def _chess_board(world: Any, agent: str) -> str:
    colour = ("White, capitals", "Black, small letters")[world.possible_agents.index(agent)]
    return f"{world.board}\nYou are {colour}."


def _last_hand(world: Any, agent: str) -> str:
    last = int(world.observe(agent))
    name = "nothing yet" if last == world._none else _listed(*HANDS)(world, agent, last)
    return f"The other's last choice: {name}."


def _go_point(world: Any, agent: str, action: int) -> str:
    size = int(world._N)
    row, column = divmod(action, size)
    return "pass" if action == size * size else f"{'abcdefghijklmnopqrs'[column]}{size - row}"


HANDS = ("rock", "paper", "scissors")
POKER = ("call", "raise", "fold", "check")

CLASSIC: dict[str, Words] = {
    "chess": Words(
        _chess_move,
        _chess_board,
        rules="Chess by its usual rules; draws are claimed as soon as they can be. A move is named "
        "by its two squares, as e2e4, and the piece that a pawn becomes, unless it is a queen. "
        "Winning pays 1, losing -1.",
    ),
    "go": Words(_go_point),
    "rps": Words(_listed(*HANDS), _last_hand, payoffs=(-15.0, 15.0)),
    "leduc_holdem": Words(_listed(*POKER), payoffs=(-7.0, 7.0)),
    "texas_holdem": Words(_listed(*POKER), payoffs=(-24.0, 24.0)),
    "texas_holdem_no_limit": Words(
        _listed("fold", "check or call", "raise half pot", "raise full pot", "all in"),
        payoffs=(-100.0, 100.0),
    ),
    "hanabi": Words(payoffs=(0.0, 25.0)),
}
"""Name without version -> its words; others take those of `Words()`."""
