"""Liar's dice for two to six players over many rounds, until one is left with dice.

Agents        player_0 .. player_n-1
Observation   chat: rules, then the own dice, how many dice the others have, the bids and what the
              last call revealed
Action        text ending in a bid of number and face, e.g. [2-5], or in [liar]
Reward        by the order in which players lose their last die, evenly from -1 for the first to 1
              for who is left
Ends          when one player has dice
Options       players, dice of each
References    mean payoff against random play: random 0, oracle 0.9279 (the expert, in 402 games
              with standard error 0.015)

No face is wild. A bid may lower neither number nor face and raises at least one of them, and is for
no more dice than there are. Who doubts a bid, or whose bid is doubted and wrong, loses a die, rolls
with all others anew and bids first; who has none left leaves, and the next player bids first. The
expert takes the other dice as even and independent, and says what is most likely to hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb, fsum
from typing import Annotated, Any

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import One, Pay, Protocol, ProtocolTask
from coevo.envs.core.task import Replies, mostly

FACES = 6
LIAR = "liar"
Bid = tuple[int, int]
"""Number of dice, face."""


@config
class LiarsDiceRoundsConfig:
    """Who plays, with how many dice."""

    players: Annotated[int, whole(2, 6)] = 3
    """Players."""
    dice: Annotated[int, whole(1, 5)] = 2
    """Dice of each player at the start."""


def at_least(number: int, dice: int, chance: float) -> float:
    """Return the probability that at least so many of some dice show a face.

    >>> at_least(1, 2, 0.5), at_least(0, 2, 0.5), at_least(3, 2, 0.5)
    (0.75, 1.0, 0.0)
    """
    return fsum(
        comb(dice, k) * chance**k * (1 - chance) ** (dice - k)
        for k in range(max(number, 0), dice + 1)
    )


class LiarsDiceRounds(ProtocolTask[LiarsDiceRoundsConfig]):
    """Bids on all dice, doubts, and dice that are lost."""

    env_id = "coevo/liars_dice_rounds-v0"
    config_class = LiarsDiceRoundsConfig
    payoff_range = (-1.0, 1.0)
    zero_sum = True

    def __init__(self, config: LiarsDiceRoundsConfig) -> None:
        super().__init__(config)
        self.seats = tuple(f"player_{i}" for i in range(config.players))

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.left = dict.fromkeys(self.seats, self.config.dice)
        self.out: list[str] = []
        self.last, first = "", self.seats[0]
        while len(self.out) < len(self.seats) - 1:
            self.bids: list[tuple[str, Bid]] = []
            self.dice = {seat: self._rolled(n, rng) for seat, n in self.left.items()}
            seat = first
            while (move := (yield One(seat, moves=self._named()))) != LIAR:
                number, face = map(int, move.split("-"))
                self.bids.append((seat, (number, face)))
                seat = self._next(seat)
            loser = self._settled(seat)
            self.left[loser] -= 1
            self.out += [] if self.left[loser] else [loser]
            first = loser if self.left[loser] else self._next(loser)
        order = [*self.out, first]
        yield Pay({seat: 2 * rank / (len(order) - 1) - 1 for rank, seat in enumerate(order)})

    def _settled(self, doubter: str) -> str:
        """Return who loses a die to a doubt."""
        bidder, (number, face) = self.bids[-1]
        there = sum(dice.count(face) for dice in self.dice.values())
        loser = doubter if there >= number else bidder
        doubted = f"{doubter} doubted {number}-{face} of {bidder}"
        self.last = f"{doubted}; there were {there}, and {loser} lost a die"
        return loser

    @staticmethod
    def _rolled(number: int, rng: np.random.Generator) -> tuple[int, ...]:
        return tuple(sorted(int(face) for face in rng.integers(1, FACES + 1, size=number)))

    def _named(self) -> list[str]:
        bids = [f"{number}-{face}" for number, face in self._above()]
        return [*bids, LIAR] if self.bids else bids

    def _above(self) -> list[Bid]:
        low = self.bids[-1][1] if self.bids else (1, 1)
        bids = [
            (number, face)
            for number in range(low[0], sum(self.left.values()) + 1)
            for face in range(low[1], FACES + 1)
        ]
        return bids[1:] if self.bids else bids

    def _next(self, seat: str) -> str:
        """Return the next player with dice."""
        at = self.seats.index(seat)
        after = self.seats[at + 1 :] + self.seats[: at + 1]
        return next(other for other in after if self.left[other])

    def expert(self, seat: str, skill: float) -> Replies:
        """Return what is most likely to hold: a bid, or a doubt."""
        moves = self.moves_of(seat)
        odds = {f"{n}-{face}": self.chance(seat, (n, face)) for n, face in self._above()}
        if self.bids:
            odds[LIAR] = 1 - self.chance(seat, self.bids[-1][1])
        most = max(odds.values())
        good = {move: 1.0 for move, value in odds.items() if value > most - 1e-9}
        return mostly(moves, good, skill)

    def chance(self, seat: str, bid: Bid) -> float:
        """Return how likely a bid holds for who knows the own dice alone."""
        number, face = bid
        others = sum(self.left.values()) - self.left[seat]
        return at_least(number - self.dice[seat].count(face), others, 1 / FACES)

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        for other, number in self.left.items():
            if other != seat:
                self.dice[other] = self._rolled(number, rng)
        return True

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        return (
            f"Liar's dice for {len(self.seats)} players with {self.config.dice} dice each, rolled "
            "in secret. In turn a player bids that at least so many of all dice show a face, 2-5 "
            "for two fives, or doubts the last bid. A bid lowers neither number nor face and "
            "raises one of them. After a doubt all dice are shown: if the bid holds the doubter "
            "loses a die, else the bidder. All dice are rolled anew, and who lost bids first. Who "
            "has no dice is out; the last one wins 1 point, the first one out loses 1, and those "
            f"between share the distance evenly.\nYou are {seat}."
        )

    def situation(self, seat: str) -> str:
        last = f"{self.last}. " if self.last else ""
        bids = ", ".join(f"{who} {n}-{face}" for who, (n, face) in self.bids) or "none yet"
        counts = ", ".join(f"{other} {n}" for other, n in self.left.items())
        moves = ", ".join(map(answer, self.moves_of(seat)))
        return (
            f"{last}Your dice: {self._own(seat)}. Dice left: {counts}. Bids: {bids}.\n"
            f"Legal moves: {moves}"
        )

    def _own(self, seat: str) -> str:
        return " ".join(map(str, self.dice[seat]))

    def terse(self, seat: str) -> str:
        others = sum(self.left.values()) - self.left[seat]
        head = f"Liar's dice. You rolled {self._own(seat)}; others have {others}."
        if not self.bids:
            return f"{head} Bid number-face. Answer as [1-3]"
        _, (number, face) = self.bids[-1]
        above = " or a bid of no less number and face" if self._above() else ""
        return f"{head} Bid: {number}-{face}. Answer {answer(LIAR)}{above}"

    def draw(self) -> str:
        lines = [f"{seat}: {self._own(seat) or 'out'}" for seat in self.seats]
        bids = ", ".join(f"{who} {n}-{face}" for who, (n, face) in self.bids)
        return "\n".join([*lines, f"bids: {bids or 'none yet'}"])


raw_env, env = turn_based(LiarsDiceRounds)
