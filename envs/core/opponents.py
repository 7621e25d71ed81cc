"""Who has the seats that a single-agent view does not give to its user."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np

from coevo.envs.core.env import TextEnv

Opponent = Callable[[TextEnv, str, np.random.Generator], str]
"""(environment, seat that it waits for, generator) -> reply; `coevo.agents.as_opponent` makes one
of any agent."""


def opponent(given: str | Opponent) -> Opponent:
    """Return an opponent: a function as it is, a name from the list of agents.

    Args:
        given: a function, or the name of an agent that needs no model (`random`, `oracle`,
            `expert:0.5`, ...).

    Raises:
        UnknownNameError: no agent has this name.
    """
    if not isinstance(given, str):
        return given
    # Environments import no agents. The list is asked for by its name, and only when it is needed.
    found: Opponent = importlib.import_module("coevo.agents.registry").named_opponent(given)
    return found
