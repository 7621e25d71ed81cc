"""Goofspiel: bid cards for prizes, all at once; OpenSpiel's `goofspiel`.

Agents        player_0, player_1, who bid at the same time
Observation   chat: rules, then the last round, the prize, all hands and the points
Action        text ending in the number of a card in hand, e.g. [3]
Reward        after the last round: 1 to who has more points, -1 to the other, 0 each if equal
Ends          after num_cards - 1 bids of each (OpenSpiel plays the forced last card)
Options       game="goofspiel(num_cards=4,...)": num_cards 2 to 20; points_order random,
              descending or ascending; imp_info true hides the bids; returns_type win_loss,
              point_difference or total_points
References    value 0 by symmetry

The defaults are the game as it is usually played: prizes in random order, so every seed is a task
of its own, and bids shown after each round. Winning counts, not the margin, so payoffs have the
range of the other games and a forfeit costs what a loss costs. Six cards give five decisions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import simultaneous
from coevo.envs.games.openspiel import OpenSpielTask

_ORDERS = {
    "random": "in random order",
    "descending": "from the highest to the lowest",
    "ascending": "from the lowest to the highest",
}
_PAYOFFS = {
    "win_loss": "In the end the player with more points wins.",
    "point_difference": "Your payoff is your points less the average of both players.",
    "total_points": "Your payoff is your points.",
}


class Goofspiel(OpenSpielTask):
    env_id = "coevo/goofspiel-v0"
    default_game: ClassVar[str] = "goofspiel(num_cards=6)"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {
        "num_cards": range(2, 21),
        "points_order": tuple(_ORDERS),
        "imp_info": (False, True),
        "returns_type": tuple(_PAYOFFS),
    }
    title: ClassVar[str] = "Goofspiel"
    fixed_names: ClassVar[bool] = True

    def rules_text(self, player: int) -> str:
        settings = self.game.get_parameters()
        cards = settings["num_cards"]
        shown = "who won is shown" if settings["imp_info"] else "both bids are shown"
        paid = _PAYOFFS[settings["returns_type"]]
        return (
            f"Goofspiel for two players. Each player holds the cards 1 to {cards}. The prizes 1 to "
            f"{cards} are laid open one by one, {_ORDERS[settings['points_order']]}. For each "
            "prize both players bid a card of their hand at the same time, and the higher card "
            "takes the prize, which is worth its number in points; equal bids throw it away. "
            f"Every card is bid once; after each round {shown}. The last card plays itself. "
            f"{paid}\n"
            f"You are player_{player}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        return str(action + 1)

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        now, other = table(state), 1 - player
        hidden = self.game.get_parameters()["imp_info"]
        lines = [_last_round(now, player, hidden)] if now.rounds else []
        lines.append(f"Prize: {now.prize}. Prizes to come: {_row(now.to_come)}.")
        lines.append(f"Your cards: {_row(now.hands[player])}.")
        if not hidden:
            lines.append(f"Cards of player_{other}: {_row(now.hands[other])}.")
        lines.append(f"Points: you {now.points[player]}, player_{other} {now.points[other]}.")
        return "\n".join(lines)

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        now, hidden = table(state), self.game.get_parameters()["imp_info"]
        past = [_short(entry, player, hidden) for entry in now.rounds]
        text = f"You are player {player}. Past: {', '.join(past) or 'none'}. Prize: {now.prize}"
        held = " ".join(map(str, now.hands[1 - player]))
        return text if hidden else f"{text}. Other holds: {held}"

    def draw_state(self, state: pyspiel.State) -> str:
        now = table(state)
        lines = [
            f"prize {prize}: player_0 bids {bids[0]}, player_1 bids {bids[1]}"
            for prize, bids, _ in now.rounds
        ]
        if not state.is_terminal():
            lines.append(f"prize {now.prize}: to be bid for")
        hands = "   ".join(f"player_{p} holds {_row(cards)}" for p, cards in enumerate(now.hands))
        return "\n".join([*lines, hands, f"points: {now.points[0]} to {now.points[1]}"])


Round = tuple[int, tuple[int, int], int | None]
"""(prize, bids, winner or None) of one round."""


@dataclass
class GoofspielView:
    """An episode of Goofspiel, read from the history of a state."""

    rounds: list[Round]
    """The rounds played."""
    prize: int | None
    """The prize that is bid for now; None at the end."""
    to_come: list[int]
    """Prizes after this one, in ascending order."""
    hands: list[list[int]]
    """Cards that each player still holds, in ascending order."""

    @property
    def points(self) -> tuple[int, int]:
        """Sum the prizes that each player took."""
        first, second = (sum(p for p, _, w in self.rounds if w == player) for player in range(2))
        return first, second


def table(state: pyspiel.State) -> GoofspielView:
    """Read the history of a state: prizes (where chance lays them) and pairs of bids."""
    settings = state.get_game().get_parameters()
    deck = list(range(1, settings["num_cards"] + 1))
    history = [(int(h.player), int(h.action) + 1) for h in state.full_history()]
    dealt = [card for player, card in history if player < 0]
    if settings["points_order"] != "random":
        dealt = deck if settings["points_order"] == "ascending" else deck[::-1]
    bids = [[card for player, card in history if player == seat] for seat in range(2)]
    if state.is_terminal():  # the forced last round is in no history
        dealt = [*dealt, *(card for card in deck if card not in dealt)]
        bids = [[*own, *(card for card in deck if card not in own)] for own in bids]
    rounds = [
        (prize, pair, None if pair[0] == pair[1] else int(pair[1] > pair[0]))
        for prize, pair in zip(dealt, zip(*bids, strict=True), strict=False)
    ]
    seen = dealt[: len(rounds) + 1]
    prize = None if state.is_terminal() else seen[-1]
    hands = [[card for card in deck if card not in own] for own in bids]
    return GoofspielView(rounds, prize, [card for card in deck if card not in seen], hands)


def _last_round(now: GoofspielView, player: int, hidden: bool) -> str:
    prize, bids, winner = now.rounds[-1]
    other = 1 - player
    theirs = "" if hidden else f", player_{other} bid {bids[other]}"
    taken = "nobody took it" if winner is None else f"player_{winner} took it"
    taken = "you took it" if winner == player else taken
    return f"Last round: for the prize {prize} you bid {bids[player]}{theirs}, and {taken}."


def _short(entry: Round, player: int, hidden: bool) -> str:
    prize, bids, winner = entry
    if hidden:
        end = "tied" if winner is None else "won" if winner == player else "lost"
        return f"{prize} {end} with {bids[player]}"
    taker = "tie" if winner is None else "you" if winner == player else "other"
    return f"{prize} {taker}"


def _row(cards: list[int]) -> str:
    return ", ".join(map(str, cards)) or "none"


raw_env, env, parallel_env = simultaneous(Goofspiel)
