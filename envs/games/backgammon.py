"""Backgammon: race past each other with two dice; OpenSpiel's `backgammon`.

Agents        player_0, player_1; the first roll decides who moves first
Observation   chat: rules, then what was rolled and moved since, both sides' checkers and the dice
Action        text ending in the points that checkers move from and to, e.g. [24/22 23/20]
Reward        1 to who bears all checkers off first, -1 to the other
Ends          when all checkers of a player are off
References    the expert looks at the race, at blots and at what it hits, one move ahead

OpenSpiel's short form with three checkers is not offered: it pays nothing (OpenSpiel 2.0.2).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.factories import turn_based
from coevo.envs.games.experts import best
from coevo.envs.games.openspiel import OpenSpielTask

POINTS = 24
ROLLED = re.compile(r"chance outcome \d+ (?:[XO] starts )?\(?roll (\d)(\d)\)?")
"""OpenSpiel's name of a roll."""
BLOT, HIT = 4.0, 8.0
"""What a checker that can be hit costs the expert, and what one on the bar is worth, in pips."""


class Backgammon(OpenSpielTask):
    env_id = "coevo/backgammon-v0"
    default_game: ClassVar[str] = "backgammon"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = {}
    title: ClassVar[str] = "Backgammon"
    terse_most: ClassVar[int] = 4

    def rules_text(self, player: int) -> str:
        return (
            "Backgammon for two players on 24 points, fifteen checkers each. You number the points "
            "so that your checkers move from 24 down to 1 and then off the board; the other moves "
            "the other way and calls your point 24 its point 1. A roll of two dice moves one "
            "checker by each die, and a double gives a second turn with the same dice. A point "
            "with two or more checkers of the other is closed; a single one there is hit and has "
            "to enter again from the bar, before any other move of its side. Checkers are borne "
            "off when all of a side are on its points 6 to 1. Who is off first wins. [24/22 23/20] "
            "moves one checker from 24 to 22 and one from 23 to 20; a star marks a hit, and (2) "
            "the same move with the dice in the other order.\n"
            f"You are player_{player}."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        number, _, move = str(state.action_to_string(player, action)).partition(" - ")
        return move or number  # a forced pass has no number

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        other = 1 - player
        return (
            f"{self._since(state, player)}Your checkers: {_row(state, player, player)}.\n"
            f"Those of player_{other}, by your numbers: {_row(state, other, player)}.\n"
            f"Dice: {' and '.join(dice(state))}."
        )

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        mine, other = checkers(state, player), checkers(state, 1 - player)
        own = " ".join(str(p) for p, n in mine.items() for _ in range(n))
        theirs = " ".join(str(25 - p) for p, n in other.items() for _ in range(n))
        return f"You {own}; other {theirs}. Dice {'-'.join(dice(state))}"

    def draw_state(self, state: pyspiel.State) -> str:
        return "\n".join(f"player_{p}: {_row(state, p, 0)}" for p in range(2))

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        """Look at the race and at single checkers after each move."""
        return best({a: worth(state.child(a), player) for a in state.legal_actions()})

    def _since(self, state: pyspiel.State, player: int) -> str:
        said = self.news(state, player)
        return ROLLED.sub(r"roll \1-\2", f"{said}\n") if said else ""


def checkers(state: pyspiel.State, player: int) -> dict[int, int]:
    """Return point -> number of a player's checkers, by its own numbers; 25 is the bar, 0 off."""
    drawn, mark = str(state), "XO"[player]
    _, bar, off = re.split(r"Bar:|Scores,", drawn)
    held = {POINTS + 1: bar.count(mark.lower())}
    for place in range(POINTS):
        held[place + 1 if player else POINTS - place] = int(state.board(player, place))
    return {
        point: n
        for point, n in sorted(
            (held | {0: int(off.partition(f"{mark}: ")[2].partition(",")[0])}).items(), reverse=True
        )
        if n
    }


def dice(state: pyspiel.State) -> list[str]:
    """Return the dice that are to be played; none before they are rolled."""
    found = re.search(r"Dice: (\d+)", str(state))
    return list(found.group(1)) if found else []


def worth(state: pyspiel.State, player: int) -> float:
    """Return how many pips a player is ahead, with single checkers and the bar weighed in."""
    mine, other = checkers(state, player), checkers(state, 1 - player)
    race = sum(p * n for p, n in other.items()) - sum(p * n for p, n in mine.items())
    furthest = max((p for p in other if p), default=0)
    blots = [p for p, n in mine.items() if n == 1 and 0 < p <= POINTS and 25 - p < furthest]
    return race - BLOT * len(blots) + HIT * other.get(POINTS + 1, 0)


def _row(state: pyspiel.State, player: int, viewer: int) -> str:
    words = []
    for point, number in checkers(state, player).items():
        shown = point if player == viewer else 25 - point
        name = {0: "off", POINTS + 1: "bar"}.get(point, str(shown))
        words.append(f"{number} on {name}" if name not in ("off", "bar") else f"{number} {name}")
    return ", ".join(words)


raw_env, env = turn_based(Backgammon)
