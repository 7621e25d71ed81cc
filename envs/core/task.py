"""What one task says about itself: names, payoffs, rules and words; everything else is shared.

A task subclasses `TextEnv` and fills in the nine hooks below that raise here; the others have a
usual answer. Hooks may read `self.np_random`, `self.possible_agents` and
`self.prompt_style`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from coevo.envs.core.episode import Turn
from coevo.envs.core.parsing import Parse, parse_move


def role_of(seat: str) -> str:
    """Give a seat's name without its number.

    >>> role_of("solver_1"), role_of("judge")
    ('solver', 'judge')
    """
    return re.sub(r"_\d+$", "", seat)


class Task:
    """The hooks that `TextEnv` calls."""

    env_id: str = ""
    """Registered id, written into every episode."""
    payoff_range: tuple[float, float] = (-1.0, 1.0)
    """Lowest and highest total payoff of one seat under the rules."""
    zero_sum: bool = False
    """Whether payoffs of all seats sum to zero after every legal play."""

    def _seats(self) -> Sequence[str]:
        """Names of all seats in order, `<role>_<number>`."""
        raise NotImplementedError  # abstract

    def _begin(self, options: Mapping[str, Any]) -> None:
        """Set up a new task, drawing from `self.np_random` only; unknown options are ignored."""
        raise NotImplementedError  # abstract

    def _to_move(self) -> Sequence[str]:
        """Seats that move now without seeing each other's moves; empty when the play is over."""
        raise NotImplementedError  # abstract

    def _legal(self, agent: str) -> Sequence[str] | None:
        """Moves this seat may make now; None where any text is legal."""
        raise NotImplementedError  # abstract

    def _play(self, moves: dict[str, str]) -> dict[str, float]:
        """Carry out the moves of everybody in `_to_move`; give the payoffs that follow."""
        raise NotImplementedError  # abstract

    def _rules(self, agent: str) -> str:
        """Explain the task to this seat: the system message of the full style."""
        raise NotImplementedError  # abstract

    def _situation(self, agent: str) -> str:
        """Describe what this seat sees at its turn, in the full style."""
        raise NotImplementedError  # abstract

    def _terse(self, agent: str) -> str:
        """Describe rules, situation and moves in about 64 tokens, complete in itself."""
        raise NotImplementedError  # abstract

    def _draw(self) -> str:
        """Draw the whole state for an onlooker."""
        raise NotImplementedError  # abstract

    def _read(self, agent: str, text: str) -> Parse:
        """Read the move in a reply; what is not legal goes to the illegal-move policy."""
        return parse_move(text, self._legal(agent))

    def _describe(self, agent: str, turn: Turn) -> None:
        """Say what a reply is before it is carried out.

        Its role and round, what it is about, its answer and whether that is right.
        """
        turn.role = role_of(agent)

    def _stake(self, agent: str) -> float:
        """What this seat loses by the rules if it gives up now (`stake` of illegal moves)."""
        return 1.0

    def _outcome(self) -> dict[str, float]:
        """Further metrics of a finished play."""
        return {}

    def _private_info(self, agent: str) -> dict[str, Any]:
        """Further entries of this seat's info; never what the seat must not know."""
        return {}
