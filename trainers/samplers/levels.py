"""How the tasks of every level of difficulty go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coevo.trainers.samplers.tasks import TaskHistory


class Levels:
    """The successes of tasks by environment and level of difficulty.

    Args:
        difficulties: environment -> the difficulties that its reset takes, easiest first.
    """

    def __init__(self, difficulties: Mapping[str, Sequence[float]]) -> None:
        self.difficulties = {env: tuple(given) for env, given in difficulties.items() if given}
        self._places = {
            key: place
            for place, key in enumerate(
                (env, level) for env, given in self.difficulties.items() for level in given
            )
        }
        size = max(len(self._places), 1)
        self._history = TaskHistory(size)

    def observe(self, seen: Sequence[tuple[str, Mapping[str, Any], float]]) -> None:
        """Note successes, 0..1: environment, options of the reset, and that of the episode."""
        at = [(self._place(env, options), x) for env, options, x in seen]
        known = [(place, x) for place, x in at if place is not None]
        self._history.after_update([place for place, _ in known], [x for _, x in known])

    def _place(self, env: str, options: Mapping[str, Any]) -> int | None:
        given, known = options.get("difficulty"), self.difficulties.get(env)
        if given is None or known is None:
            return None
        return self._places[env, min(known, key=lambda level: abs(level - given))]

    def success(self, env: str, level: float) -> float | None:
        """Return the share of successes at a level when it was played last; None if never."""
        rate = float(self._history.stats().last_mean_P[self._places[env, level]])
        return rate if rate == rate else None

    def metrics(self) -> dict[str, float]:
        """Return `level/ENV/LEVEL/success` of every level that was played."""
        rates = self._history.stats().last_mean_P.tolist()
        named = {
            f"level/{env}/{level:.3g}/success": rates[place]
            for (env, level), place in self._places.items()
        }
        return {name: rate for name, rate in named.items() if rate == rate}

    def state_dict(self) -> dict[str, Any]:
        return self._history.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._history.load_state_dict(state)
