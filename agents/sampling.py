"""How replies are drawn: settings, and which ids may come next under a mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError

Ids = tuple[int, ...]


COLDEST = 1e-4
"""Lowest temperature but 0: logits divided by less overflow."""


@config
class SamplingConfig:
    """How replies are drawn."""

    temperature: Annotated[float, real(0, 1000)] = 1.0
    """Divides the logits; 0 takes the most probable token."""
    max_new_tokens: Annotated[int, whole(1, 1_000_000)] = 16
    """Longest reply, end token included."""
    token_budget: Annotated[int, whole(1)] = 16_384
    """Prompt tokens of one forward pass, padding included."""

    def __post_init__(self) -> None:
        if 0 < self.temperature < COLDEST:
            raise ConfigError(
                f"temperature={self.temperature} must be 0 (greedy) or at least {COLDEST}"
            )


def allowed_next(choices: Sequence[Ids], written: Sequence[int]) -> list[int]:
    """Return the ids that continue a permitted reply; empty where sampling is free.

    >>> allowed_next([(1, 2, 0), (1, 3, 0)], [1])
    [2, 3]
    """
    at, start = len(written), tuple(written)
    fitting = (c for c in choices if c[:at] == start and len(c) > at)
    return sorted({c[at] for c in fitting})
