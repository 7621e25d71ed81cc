"""Environments: importing this package registers all of them in PettingZoo and Gymnasium."""

from coevo.envs.core.registry import list_envs, make, register, spec

__all__ = ["list_envs", "make", "register", "spec"]

register(
    "coevo/connect_four-v0",
    "coevo.envs.games.connect_four",
    "drop discs into seven columns; four in a line win",
    kind="competitive",
    refs={"random": 0.0, "oracle": 0.0},
)
register(
    "coevo/goofspiel-v0",
    "coevo.envs.games.goofspiel",
    "bid cards for prizes, both at once; mixed strategies over five bids",
    kind="competitive",
    simultaneous=True,
    refs={"random": 0.0, "oracle": 0.0},
)
register(
    "coevo/kuhn_poker-v0",
    "coevo.envs.games.kuhn_poker",
    "three-card poker with one bet; bluffing in its smallest form",
    kind="competitive",
    refs={"random": 0.0, "oracle": 0.0},
)
register(
    "coevo/leduc_poker-v0",
    "coevo.envs.games.leduc_poker",
    "six-card poker with a board card and two betting rounds",
    kind="competitive",
    refs={"random": 0.0, "oracle": 0.0},
)
register(
    "coevo/openspiel-v0",
    "coevo.envs.games.openspiel",
    "any sequential or simultaneous OpenSpiel game (game=...; Pig by default), generic text",
    kind="mixed",
    refs={"random": 0.0, "oracle": 0.0},
)
register(
    "coevo/tic_tac_toe-v0",
    "coevo.envs.games.tic_tac_toe",
    "three in a line on nine numbered cells; perfect play draws",
    kind="competitive",
    refs={"random": 0.0, "oracle": 0.0},
)
register(
    "coevo/tiny_hanabi-v0",
    "coevo.envs.games.tiny_hanabi",
    "two partners with private cards; one move must tell the card and earn as well",
    kind="cooperative",
    refs={"random": 3.7222, "oracle": 10.0},
)
