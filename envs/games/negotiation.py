"""Negotiation: trade wood and gold, and gain more than the other (SPIRAL, arXiv 2506.24119).

Agents        player_0 (moves first), player_1; what goods are worth to a seat is private
Observation   chat: rules, then the stocks, the moves so far and the offer that stands
Action        text ending in an offer, [3 wood for 5 gold], in [accept] or in [pass]
Reward        1 to whose goods gained more in its own worth, -1 to the other, 0 each if equal
Ends          after `turns` moves
Options       turns and stock, see below
References    a trade of w wood for g gold by player_0 gains 15 g - 5 w for it and 15 w - 5 g for
              player_1, so a seat that gets fewer goods than it gives falls behind by 20 for each:
              between careful seats it is a draw

The rules are those of SimpleNegotiation in TextArena, which SPIRAL trains on, with its slips
mended: an offer ends when it is answered, only who is asked may accept it, both must still hold the
goods, and the number of moves is stated. Every move that is legal is named as one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import turn_based
from coevo.envs.core.task import Replies, Task, mostly

GOODS = ("wood", "gold")
WORTH = ({"wood": 5, "gold": 15}, {"wood": 15, "gold": 5})
"""What one piece of each good is worth to player_0 and to player_1."""
_OFFER = re.compile(r"(\d+) (wood|gold) for (\d+) (wood|gold)")


@config
class NegotiationConfig:
    turns: Annotated[int, whole(2, 40)] = 10
    """Moves of both together."""
    stock: Annotated[int, whole(1, 20)] = 10
    """Pieces of each good that a seat starts with."""


@dataclass(frozen=True)
class Offer:
    """What who offers gives and gets."""

    given: int
    good: str
    wanted: int
    other: str

    @classmethod
    def read(cls, move: str) -> Offer | None:
        """Return the offer that a move makes; None where it makes none."""
        found = _OFFER.fullmatch(move)
        return cls(int(found[1]), found[2], int(found[3]), found[4]) if found else None


class Negotiation(Task[NegotiationConfig]):
    """Trade of two goods that are worth different things to the seats."""

    env_id = "coevo/negotiation-v0"
    config_class = NegotiationConfig
    zero_sum = True
    seats = ("player_0", "player_1")

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        self.stocks = [dict.fromkeys(GOODS, self.config.stock) for _ in self.seats]
        self.log: list[str] = []
        self.offer: Offer | None = None

    def to_move(self) -> Sequence[str]:
        return (self.seats[len(self.log) % 2],) if len(self.log) < self.config.turns else ()

    def legal(self, seat: str) -> Sequence[str]:
        own, other = self._stocks(seat)
        offers = [
            f"{given} {good} for {wanted} {back}"
            for good, back in (GOODS, GOODS[::-1])
            for given in range(1, own[good] + 1)
            for wanted in range(1, other[back] + 1)
        ]
        return [*(["accept"] if self.offer else []), "pass", *offers]

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        seat, move = next(iter(moves.items()))
        if move == "accept" and self.offer is not None:
            own, other = self._stocks(seat)
            for holder, sign in ((own, 1), (other, -1)):
                holder[self.offer.good] += sign * self.offer.given
                holder[self.offer.other] -= sign * self.offer.wanted
        self.offer = Offer.read(move)
        self.log.append(move)
        if self.to_move():
            return {}
        ahead = float(np.sign(self.gain(0) - self.gain(1)))
        return {self.seats[0]: ahead, self.seats[1]: 0.0 - ahead}

    def gain(self, player: int) -> int:
        """Return what a seat's goods are worth to it now, less what they were at the start."""
        held, worth = self.stocks[player], WORTH[player]
        return sum(worth[g] * (held[g] - self.config.stock) for g in GOODS)

    def rules(self, seat: str) -> str:
        player = self.seats.index(seat)
        worth, stock = WORTH[player], self.config.stock
        order = "first" if player == 0 else "second"
        return (
            f"Negotiation for two players. Each starts with {stock} pieces of wood and {stock} of "
            f"gold. To you a piece of wood is worth {worth['wood']} and a piece of gold "
            f"{worth['gold']}; what they are worth to the other you do not know. In turn the "
            "players make an offer, accept the last offer of the other, or pass. [3 wood for 5 "
            "gold] offers to give three pieces of wood and to get five of gold. An offer stands "
            "until it is answered; a new offer declines it. Nobody may offer or ask for what is "
            f"not there. After {self.config.turns} moves it is over: who gained more, counted by "
            "the own worth of the goods, wins.\n"
            f"You are {seat} and move {order}."
        )

    def situation(self, seat: str) -> str:
        own, other = self._stocks(seat)
        news = f"The other's last move: {self.log[-1]}.\n" if self.log else ""
        accept = "[accept], " if self.offer else ""
        return (
            f"{news}You have {_row(own)}; the other has {_row(other)}. "
            f"Moves left: {self.config.turns - len(self.log)}.\n"
            f"Legal moves: {accept}[pass], and offers [A wood for B gold] or [A gold for B wood] "
            "of what you and the other have"
        )

    def terse(self, seat: str) -> str:
        (own, other), worth = self._stocks(seat), WORTH[self.seats.index(seat)]
        said = self.log[-1] if self.log else "nothing"
        accept = "accept, " if self.offer else ""
        return (
            f"Negotiation. Wood gold: worth {worth['wood']} {worth['gold']}, you {own['wood']} "
            f"{own['gold']}, other {other['wood']} {other['gold']}. Other said {said}. Left "
            f"{self.config.turns - len(self.log)}. Moves: {accept}pass, 1 wood for 1 gold. "
            "Answer [move]"
        )

    def draw(self) -> str:
        held = [
            f"{s}: {_row(self.stocks[p])}, gained {self.gain(p)}" for p, s in enumerate(self.seats)
        ]
        return "\n".join([*held, *(f"player_{i % 2}: {m}" for i, m in enumerate(self.log))])

    def outcome(self) -> dict[str, float]:
        """Return what each seat gained in its own worth."""
        return {f"gain/{seat}": float(self.gain(p)) for p, seat in enumerate(self.seats)}

    def info(self, seat: str) -> dict[str, Any]:
        own, other = self._stocks(seat)
        return {"own": dict(own), "other": dict(other), "worth": WORTH[self.seats.index(seat)]}

    def expert(self, seat: str, skill: float) -> Replies:
        """Accept what brings more pieces than it costs and no loss; else ask for most for least."""
        legal = self.legal(seat)
        good = self._good(seat, legal)
        return mostly(legal, {good: 1.0}, skill)

    def _good(self, seat: str, legal: Sequence[str]) -> str:
        offered, worth = self.offer, WORTH[self.seats.index(seat)]
        if offered is not None and offered.given > offered.wanted:
            gained = worth[offered.good] * offered.given - worth[offered.other] * offered.wanted
            if gained >= 0:
                return "accept"
        dear = max(GOODS, key=worth.__getitem__)
        offers = [o for o in map(Offer.read, legal) if o is not None and o.other == dear]
        if not offers:
            return "pass"
        best = max(offers, key=lambda o: o.wanted - o.given)
        return f"{best.given} {best.good} for {best.wanted} {best.other}"

    def _stocks(self, seat: str) -> tuple[dict[str, int], dict[str, int]]:
        player = self.seats.index(seat)
        return self.stocks[player], self.stocks[1 - player]


def _row(stock: Mapping[str, int]) -> str:
    return " and ".join(f"{stock[good]} {good}" for good in GOODS)


raw_env, env = turn_based(Negotiation)
