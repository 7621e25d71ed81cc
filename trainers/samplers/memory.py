"""What a checkpoint asks of samplers that remember episodes, answered for those that do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coevo.envs.core.errors import DataError


class WithoutMemory:
    """A sampler that keeps nothing from one update to the next; others override both methods."""

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint must keep; JSON-able."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what `state_dict` gave.

        Raises:
            DataError: It is not the state of this kind of sampler.
        """
        if state:
            kind = type(self).__name__
            raise DataError(f"{kind} is without memory, but was given the state {sorted(state)}")
