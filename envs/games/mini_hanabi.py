"""Mini Hanabi: two colours, two ranks, three cards a hand (MARS, arXiv 2510.15414); see `hanabi`.

Agents        player_0 (moves first), player_1; each sees the other's cards, not its own
Observation   as in `hanabi`
Action        text ending in [play 1], [discard 1], [tell red], [tell 2], ...
Reward        the change of the common score for both, at most 4 in all
Ends          as `hanabi`; the deck has eight cards, of which six are dealt
References    no play scores more than 4
"""

from __future__ import annotations

from typing import ClassVar

from coevo.envs.core.factories import turn_based
from coevo.envs.games.hanabi import Hanabi


class MiniHanabi(Hanabi):
    env_id = "coevo/mini_hanabi-v0"
    default_game: ClassVar[str] = (
        "hanabi(players=2,colors=2,ranks=2,hand_size=3,max_information_tokens=3,max_life_tokens=3)"
    )
    title: ClassVar[str] = "Mini Hanabi"


raw_env, env = turn_based(MiniHanabi)
