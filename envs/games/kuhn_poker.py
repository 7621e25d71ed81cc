"""Kuhn poker: three cards, one bet, bluffing (Kuhn, 1950); OpenSpiel's `kuhn_poker`.

Agents        player_0 (acts first), player_1
Observation   chat: rules, then what is new, the own card, the numbered betting and the pot
Action        text ending in [check], [bet], [fold] or [call]
Reward        chips won or lost: 1 without a call, 2 after one; zero-sum
Ends          at a fold or a showdown, after two or three moves
References    value for player_0 -1/18; exploitability (NashConv/2) of random play 11/24 = 0.458
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.openspiel import OpenSpielTask

CARDS = ("jack", "queen", "king")
_NAMES = {False: ("check", "bet"), True: ("fold", "call")}


class KuhnPoker(OpenSpielTask):
    env_id = "coevo/kuhn_poker-v0"
    default_game: ClassVar[str] = "kuhn_poker"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {}
    title: ClassVar[str] = "Kuhn poker"

    def rules_text(self, player: int) -> str:
        order = "first" if player == 0 else "second"
        return (
            "Kuhn poker for two players. The deck holds a jack, a queen and a king; the king is "
            "the highest. Each player puts in one chip and gets one card that the other does not "
            "see. The first player checks or bets one chip. After a bet the other player folds or "
            "calls with one chip; after a check the second player checks or bets, and a bet must "
            "again be answered. A fold gives the pot away; otherwise the higher card takes it.\n"
            f"You are player_{player} and act {order}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        return _NAMES[facing_bet(betting(state))][action]

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        moves = betting(state)
        said = [f"player_{i % 2} {w}s" for i, w in enumerate(words(moves))]
        # At its turn a seat has acted two moves ago, or not at all.
        since = "Since your last move" if len(said) > 1 else "So far"
        news = f"{since}: {said[-1]}.\n" if said else ""
        log = "; ".join(f"{i}. {s}" for i, s in enumerate(said, start=1)) or "none yet"
        mine = 1 + sum(moves[player::2])
        return (
            f"{news}Your card: {CARDS[card(state, player)]}.\nBetting: {log}.\n"
            f"Pot: {2 + sum(moves)} chips, {mine} of them yours."
        )

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        said = ", ".join(words(betting(state))) or "none"
        return f"You are player {player}. Card: {CARDS[card(state, player)]}. Betting: {said}"

    def draw_state(self, state: pyspiel.State) -> str:
        cards = [CARDS[a] for a in state.history()[:2]]
        said = ", ".join(words(betting(state))) or "none yet"
        return f"player_0: {cards[0]}   player_1: {cards[1]}   betting: {said}"

    def at_risk_at(self, state: pyspiel.State, player: int) -> float:
        return 1.0 + sum(betting(state)[player::2])


def card(state: pyspiel.State, player: int) -> int:
    """Return a player's card: 0 jack, 1 queen, 2 king."""
    return int(state.history()[player])


def betting(state: pyspiel.State) -> list[int]:
    """Return the actions after the deal: 0 pass, 1 bet."""
    return list(state.history()[2:])


def facing_bet(moves: list[int]) -> bool:
    """Return whether the next move answers a bet."""
    return bool(moves) and moves[-1] == 1


def words(moves: list[int]) -> list[str]:
    """Name the moves so far by what they meant."""
    return [_NAMES[facing_bet(moves[:i])][m] for i, m in enumerate(moves)]


raw_env, env = turn_based(KuhnPoker)
