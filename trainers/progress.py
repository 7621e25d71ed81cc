"""Where a run stands, and what ends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Limits(Protocol):
    """What ends a run: the limit that is reached first; `TrainConfig` documents each."""

    @property
    def steps(self) -> int | None: ...
    @property
    def budget_seconds(self) -> float | None: ...
    @property
    def budget_tokens(self) -> int | None: ...
    @property
    def budget_turns(self) -> int | None: ...


@dataclass(frozen=True)
class Progress:
    """Where a run stands."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0
    """Tokens sampled by learning policies so far."""
    turns: int = 0
    """Turns of environments played so far, all seats counted."""

    def plus(
        self, *, step: int = 0, seconds: float = 0.0, tokens: int = 0, turns: int = 0
    ) -> Progress:
        """Return where a run stands after some more."""
        return Progress(
            self.step + step, self.seconds + seconds, self.tokens + tokens, self.turns + turns
        )

    def share(self, limits: Limits) -> float:
        """Return the share of a run that is done, by whichever limit is nearest."""
        done = (
            (self.step, limits.steps),
            (self.seconds, limits.budget_seconds),
            (self.tokens, limits.budget_tokens),
            (self.turns, limits.budget_turns),
        )
        return min(max(at / limit if limit else 0.0 for at, limit in done), 1.0)
