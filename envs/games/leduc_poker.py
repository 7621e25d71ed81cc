"""Leduc poker: six cards, two betting rounds (Southey et al., 2005); OpenSpiel's `leduc_poker`.

Agents        player_0 (acts first in both rounds), player_1
Observation   chat: rules, then the own card, the board card and the betting so far
Action        text ending in [check], [call], [raise] or [fold]
Reward        chips won or lost, at most 13; zero-sum
Ends          at a fold or a showdown, after one to eight moves
References    value for player_0 -0.0856; NashConv of random play 4.7472, player_0's mean return
              in it -0.078 (OpenSpiel)

Cards of one rank cannot be told apart, so the game is loaded with `suit_isomorphism`: the
values are those of the plain game, and there are 288 information states instead of 936.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.openspiel import OpenSpielTask

CARDS = ("jack", "queen", "king")
FOLD, CALL, RAISE = 0, 1, 2
RAISE_SIZE = (2, 4)
"""Chips that a raise adds to the stake, by round."""


class LeducPoker(OpenSpielTask):
    env_id = "coevo/leduc_poker-v0"
    default_game: ClassVar[str] = "leduc_poker(suit_isomorphism=True)"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {}
    title: ClassVar[str] = "Leduc poker"

    def rules_text(self, player: int) -> str:
        order = "first" if player == 0 else "second"
        return (
            "Leduc poker for two players. The deck holds two jacks, two queens and two kings; the "
            "king is the highest. Each player puts in one chip and gets one card that the other "
            "does not see. There are two rounds of betting, and player_0 begins both. Check passes "
            "while the stakes are equal, call matches a higher stake, raise matches it and adds 2 "
            "chips in the first round or 4 in the second, and fold gives the pot away. Each round "
            "has at most two raises; it ends when both have checked or when a raise is called. "
            "Between the rounds one card is laid open on the board. After the second round a card "
            "that pairs the board wins the pot; otherwise the higher card wins, and equal cards "
            "share it.\n"
            f"You are player_{player} and act {order}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        return word(hand(state), action)

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        now = hand(state)
        mine, other = now.stakes[player], now.stakes[1 - player]
        to_call = f" You need {other - mine} more to call." if other > mine else ""
        lines = [
            *_since(now, player),
            f"Your card: {CARDS[now.cards[player]]}. {_board(now)}",
            *_betting_lines(now),
            f"Pot: {mine + other} chips, {mine} of them yours.{to_call}",
        ]
        return "\n".join(lines)

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        now = hand(state)
        rounds = [", ".join(said for _, said in moves) or "none" for moves in now.rounds()]
        text = f"You are player {player}. Card: {CARDS[now.cards[player]]}. Round 1: {rounds[0]}"
        if now.board is None:
            return text
        return f"{text}. Board: {CARDS[now.board]}. Round 2: {rounds[1]}"

    def draw_state(self, state: pyspiel.State) -> str:
        now = hand(state)
        cards = "   ".join(f"player_{p}: {CARDS[c]}" for p, c in enumerate(now.cards))
        stakes = f"Stakes: {now.stakes[0]} and {now.stakes[1]} chips."
        return "\n".join([f"{cards}   {_board(now)}", *_betting_lines(now), stakes])

    def at_risk_at(self, state: pyspiel.State, player: int) -> float:
        return float(hand(state).stakes[player])


@dataclass
class Hand:
    """A hand of Leduc poker, read from the history of a state."""

    cards: list[int]
    """Rank of each player's card: 0 jack, 1 queen, 2 king."""
    board: int | None = None
    """Rank of the board card once it lies open."""
    stakes: list[int] = field(default_factory=lambda: [1, 1])
    """Chips that each player has put in."""
    log: list[tuple[int, str]] = field(default_factory=list)
    """(player, word) of every move; (-1, card) where the board card was laid open."""

    def rounds(self) -> list[list[tuple[int, str]]]:
        """Return the moves of the first round and of the second."""
        opened = (
            [player for player, _ in self.log].index(-1)
            if self.board is not None
            else len(self.log)
        )
        return [self.log[:opened], self.log[opened + 1 :]]


def hand(state: pyspiel.State) -> Hand:
    """Read the history of a state: two private cards, moves, the board card, moves."""
    entries = [(int(h.player), int(h.action)) for h in state.full_history()]
    now = Hand([action for _, action in entries[:2]])
    for player, action in entries[2:]:
        if player < 0:
            now.board = action
            now.log.append((player, CARDS[action]))
            continue
        now.log.append((player, word(now, action)))
        if action != FOLD:
            added = RAISE_SIZE[now.board is not None] if action == RAISE else 0
            now.stakes[player] = max(now.stakes) + added
    return now


def word(now: Hand, action: int) -> str:
    """Name an action by what it means: a call of nothing is a check."""
    if action == CALL:
        return "call" if now.stakes[0] != now.stakes[1] else "check"
    return "fold" if action == FOLD else "raise"


def _since(now: Hand, player: int) -> list[str]:
    own = [i for i, (mover, _) in enumerate(now.log) if mover == player]
    said = [
        f"the board card is the {what}" if mover < 0 else f"player_{mover} {what}s"
        for mover, what in now.log[own[-1] + 1 if own else 0 :]
    ]
    since = "Since your last move" if own else "So far"
    return [f"{since}: {', '.join(said)}."] if said else []


def _board(now: Hand) -> str:
    return "No board card yet." if now.board is None else f"Board card: {CARDS[now.board]}."


def _betting_lines(now: Hand) -> list[str]:
    lines = []
    for number, moves in enumerate(now.rounds(), start=1):
        if number == 1 or now.board is not None:
            said = "; ".join(f"{i}. player_{p} {w}s" for i, (p, w) in enumerate(moves, start=1))
            lines.append(f"Betting, round {number}: {said or 'none yet'}.")
    return lines


raw_env, env = turn_based(LeducPoker)
