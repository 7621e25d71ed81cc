"""Environments: importing this package registers all of them in PettingZoo and Gymnasium."""

from coevo.envs.core.registry import list_envs, make, register, spec

__all__ = ["list_envs", "make", "register", "spec"]

register(
    "coevo/kuhn_poker-v0",
    "coevo.envs.games.kuhn_poker",
    "three-card poker with one bet; bluffing in its smallest form",
    kind="competitive",
    refs={"random": 0.0, "oracle": 0.0},
)
register(
    "coevo/openspiel-v0",
    "coevo.envs.games.openspiel",
    "any sequential or simultaneous OpenSpiel game (game=...), with a generic text skin",
    kind="mixed",
)
