"""Kuhn poker: three cards, one bet, bluffing (Kuhn, 1950); OpenSpiel's `kuhn_poker`.

Agents        player_0 (acts first), player_1
Observation   chat: rules, then own card and the betting so far
Action        text ending in [check], [bet], [fold] or [call]
Reward        chips won or lost: 1 without a call, 2 after one; zero-sum
Ends          at a fold or a showdown, after two or three moves
References    value for player_0 -1/18; exploitability (NashConv/2) of random play 11/24 = 0.458
"""

from __future__ import annotations

from typing import ClassVar

import pyspiel

from coevo.envs.core.factories import aec_factory
from coevo.envs.games.openspiel import OpenSpielEnv

CARDS = ("jack", "queen", "king")
_NAMES = {False: ("check", "bet"), True: ("fold", "call")}


class KuhnPoker(OpenSpielEnv):
    """Two-player Kuhn poker."""

    env_id = "coevo/kuhn_poker-v0"
    default_game: ClassVar[str] = "kuhn_poker"
    title: ClassVar[str] = "Kuhn poker"

    def rules_text(self, player: int) -> str:
        """Explain the rules and who this seat is."""
        order = "first" if player == 0 else "second"
        return (
            "Kuhn poker for two players. The deck holds a jack, a queen and a king; the king is the "
            "highest. Each player puts in one chip and gets one card that the other does not see. "
            "The first player checks or bets one chip. After a bet the other player folds or calls "
            "with one chip; after a check the second player checks or bets, and a bet must again be "
            "answered. A fold gives the pot away; otherwise the higher card takes it.\n"
            f"You are player_{player} and act {order}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        """Name pass and bet by what they mean here."""
        return _NAMES[facing_bet(betting(state))][action]

    def describe(self, state: pyspiel.State, player: int) -> str:
        """Give the own card, the betting and the pot."""
        moves = betting(state)
        said = "; ".join(f"player_{i % 2} {w}s" for i, w in enumerate(words(moves))) or "none yet"
        chips = 2 + sum(moves)
        return f"Your card: {CARDS[card(state, player)]}. Betting: {said}. Pot: {chips} chips."

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        """Give the seat, the own card and the betting."""
        said = ", ".join(words(betting(state))) or "none"
        return f"You are player {player}. Card: {CARDS[card(state, player)]}. Betting: {said}"

    def draw_state(self, state: pyspiel.State) -> str:
        """Show both cards and the betting."""
        cards = [CARDS[a] for a in state.history()[:2]]
        said = ", ".join(words(betting(state))) or "none yet"
        return f"player_0: {cards[0]}   player_1: {cards[1]}   betting: {said}"

    def _stake(self, agent: str) -> float:
        seat = self.possible_agents.index(agent)
        return 1.0 + sum(betting(self.state)[seat::2])


def card(state: pyspiel.State, player: int) -> int:
    """Give a player's card: 0 jack, 1 queen, 2 king."""
    return int(state.history()[player])


def betting(state: pyspiel.State) -> list[int]:
    """Give the actions after the deal: 0 pass, 1 bet."""
    return list(state.history()[2:])


def facing_bet(moves: list[int]) -> bool:
    """Tell whether the next move answers a bet."""
    return bool(moves) and moves[-1] == 1


def words(moves: list[int]) -> list[str]:
    """Name the moves so far by what they meant."""
    return [_NAMES[facing_bet(moves[:i])][m] for i, m in enumerate(moves)]


raw_env = KuhnPoker
env = aec_factory(KuhnPoker)
