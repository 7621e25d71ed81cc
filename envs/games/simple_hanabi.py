"""Simple Hanabi: three colours, two ranks, five cards a hand (MARS, arXiv 2510.15414).

Agents        player_0 (moves first), player_1; each sees the other's cards, not its own
Observation   as in `hanabi`
Action        text ending in [play 1], [discard 1], [tell red], [tell 2], ...
Reward        the change of the common score for both, at most 4 in all
Ends          as `hanabi`; the deck has twelve cards, of which ten are dealt
References    no play scores more than 4: two cards are drawn, and then each seat moves once more;
              the six points of its three stacks are out of reach
"""

from __future__ import annotations

from typing import ClassVar

from coevo.envs.core.factories import turn_based
from coevo.envs.games.hanabi import Hanabi


class SimpleHanabi(Hanabi):
    env_id = "coevo/simple_hanabi-v0"
    default_game: ClassVar[str] = (
        "hanabi(players=2,colors=3,ranks=2,hand_size=5,max_information_tokens=8,max_life_tokens=3)"
    )
    title: ClassVar[str] = "Simple Hanabi"


raw_env, env = turn_based(SimpleHanabi)
