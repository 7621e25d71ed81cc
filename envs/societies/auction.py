"""An auction with talk: what the good is worth to a bidder is known to that bidder alone.

Agents        player_0 .. player_{n-1}
Observation   chat: rules, then the own value, the messages of others and, after a round, who won
              at which price
Action        a message to all each; then, all at once, text ending in a bid, e.g. [5]; in an open
              auction in [stay] or [leave] at every price
Reward        to the winner of a round its value less the price, which may be negative; else 0
Ends          after `rounds` goods
Options       players=3; rounds=1; rule=second, first or open; top=10; talk=True
References    mean payoff of a seat: random 0.1667, equilibrium 0.8250 (true bids), oracle 2.6583,
              where the highest value pays nothing, which takes an agreement (all exact)

Values are drawn evenly and independently from 1 to `top`. The highest bid wins and pays the second
highest (Vickrey 1961), or its own; a tie is decided by lot. In the open auction the price rises by
1 while two or more stay (Milgrom and Weber 1982); the last one who stays pays the last price at
which another one stayed. Bids of those who did not win stay hidden, but for the price. Experts bid
their value where the second price or an open auction makes that best whatever others do, and the
share (n - 1) / n of it in a first-price auction, the equilibrium for values on a line, rounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import All, Pay, Protocol, Stage
from coevo.envs.core.quoting import quote_line
from coevo.envs.core.task import Replies, mostly
from coevo.envs.dilemmas.rounds import MESSAGE_FORMAT
from coevo.envs.societies.society import points
from coevo.envs.societies.table_talk import TableTalk, says, seats_of

STAY, LEAVE = "stay", "leave"
IN_WORDS = {
    "second": "All bid at the same time. The highest bid wins and pays the second highest bid.",
    "first": "All bid at the same time. The highest bid wins and pays what it bid.",
    "open": "The price rises by 1 from 0. At every price all who are left say at the same time "
    "whether they stay or leave. The last one who stays wins and pays the price before, the last "
    "at which another one stayed; if all leave at once, one of them wins at that price, by lot.",
}


@config
class AuctionConfig:
    players: Annotated[int, whole(2, 8)] = 3
    """Bidders."""
    rounds: Annotated[int, whole(1, 100)] = 1
    """Goods, one after the other, with new values each."""
    rule: Literal["second", "first", "open"] = "second"
    """Sealed bids at the second or the first price, or an open auction with a rising price."""
    top: Annotated[int, whole(2, 100)] = 10
    """Highest value and bid."""
    talk: Annotated[bool, Field(strict=True)] = True
    """Whether each bidder sends a message before the bids of a round."""


class Auction(TableTalk[AuctionConfig]):
    env_id = "coevo/auction-v0"
    config_class = AuctionConfig

    def __init__(self, config: AuctionConfig) -> None:
        super().__init__(config)
        self.seats, self.lasts = seats_of(config.players), config.rounds
        self.payoff_range = (-(config.top - 1.0) * config.rounds, float(config.top * config.rounds))
        self.bids_listed = list(map(str, range(config.top + 1)))

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.open_table()
        self.sold: list[tuple[str, int]] = []
        self.bids: dict[str, int] = {}
        self._draw(rng)
        for number in range(self.config.rounds):
            self.round = number
            if self.config.talk:
                yield from self.discuss(self.seats, self._speech)
            sale = self._rising() if self.config.rule == "open" else self._sealed()
            winner, price = yield from sale
            self.sold.append((winner, price))
            self.announce(f"{winner} won the good at the price {price}.")
            yield Pay({winner: float(self.values[number][winner] - price)})

    def _draw(self, rng: np.random.Generator) -> None:
        """Draw values and lots of all rounds, so that equal seeds meet equal luck."""
        n, size = self.config.rounds, len(self.seats)
        drawn = rng.integers(1, self.config.top + 1, size=(n, size))
        self.values = [dict(zip(self.seats, map(int, row), strict=True)) for row in drawn]
        self.lots = [[self.seats[i] for i in rng.permutation(size)] for _ in range(n)]

    def _sealed(self) -> Stage[tuple[str, int]]:
        bids = yield All(self.seats, phase="bid", moves=self.bids_listed, expert=self._bid)
        self.bids = {seat: int(bid) for seat, bid in bids.items()}
        ranked = sorted(self.lots[self.round], key=lambda seat: -self.bids[seat])
        pays = ranked[0] if self.config.rule == "first" else ranked[1]
        return ranked[0], self.bids[pays]

    def _rising(self) -> Stage[tuple[str, int]]:
        self.price, self.left = 0, list(self.seats)
        for price in range(1, self.config.top + 1):
            self.price = price
            moves = (STAY, LEAVE)
            said = yield All(self.left, phase="price", moves=moves, expert=self._stay)
            stayed = [seat for seat in self.left if said[seat] == STAY]
            if not stayed:
                return self._by_lot(self.left), price - 1
            if len(stayed) == 1:
                return stayed[0], price - 1
            if stayed != self.left:
                gone = ", ".join(seat for seat in self.left if seat not in stayed)
                self.announce(f"At the price {price} left: {gone}.")
            self.left = stayed
        return self._by_lot(self.left), self.price

    def _by_lot(self, seats: Sequence[str]) -> str:
        return next(seat for seat in self.lots[self.round] if seat in seats)

    def value(self, seat: str) -> int:
        """Return what the good of this round is worth to a seat."""
        return self.values[self.round][seat]

    # ---- Experts -------------------------------------------------------------------------------

    def _speech(self, seat: str, skill: float) -> Replies:
        return says(skill, "I bid by what it is worth to me.", "Good luck to all.")

    def _bid(self, seat: str, skill: float) -> Replies:
        """Bid the value; at the first price the equilibrium share of it."""
        n = len(self.seats)
        share = (n - 1) / n if self.config.rule == "first" else 1.0
        return mostly(self.bids_listed, {str(round(share * self.value(seat))): 1.0}, skill)

    def _stay(self, seat: str, skill: float) -> Replies:
        good = STAY if self.price <= self.value(seat) else LEAVE
        return mostly((STAY, LEAVE), {good: 1.0}, skill)

    # ---- Hooks ---------------------------------------------------------------------------------

    def outcome(self) -> dict[str, float]:
        """Return how often the highest value won, and the mean price."""
        if not self.sold:
            return {}
        pairs = list(zip(self.sold, self.values, strict=False))
        best = [values[winner] == max(values.values()) for (winner, _), values in pairs]
        prices = [price for (_, price), _ in pairs]
        return {"efficient": float(np.mean(best)), "price": float(np.mean(prices))}

    def info(self, seat: str) -> dict[str, Any]:
        sold = [list(sale) for sale in self.sold]
        return {**super().info(seat), "value": self.value(seat), "sold": sold}

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw the others' values and all later values and lots anew."""
        values, lots = self.values, self.lots
        self._draw(rng)
        self.values[: self.round] = values[: self.round]
        self.lots[: self.round] = lots[: self.round]
        self.values[self.round][seat] = values[self.round][seat]
        return True

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        c = self.config
        goods = "one good" if c.rounds == 1 else f"{c.rounds} goods, one after the other"
        talk = " Before the bids each bidder sends one message to all." if c.talk else ""
        form = f"\n{MESSAGE_FORMAT}" if c.talk else ""
        lot = "" if c.rule == "open" else " Equal bids are decided by lot."
        return (
            f"An auction of {goods}, with {c.players} bidders. To every bidder a good is worth a "
            f"value from 1 to {c.top} points, each equally likely, which that bidder alone knows."
            f"{talk} {IN_WORDS[c.rule]}{lot} The winner gets its value less the price, which is a "
            "loss if the price is higher; the others get nothing.\n"
            f"You are {seat}. Your goal is to get as many points as you can.{form}"
        )

    def question(self, seat: str) -> str:
        worth = f"The good is worth {points(self.value(seat))} to you."
        if self.phase == "talk":
            return f"Good {self.round + 1} of {self.config.rounds}. {worth} Your message to all?"
        if self.phase == "price":
            left = ", ".join(self.left)
            return self.choice(seat, f"{worth} The price is {self.price}. Left: {left}. Stay?")
        return self.choice(seat, f"{worth} What do you bid?")

    def terse(self, seat: str) -> str:
        rule = {"second": "pays the second bid", "first": "pays its bid", "open": "stays last"}
        head = f"Auction: the winner {rule[self.config.rule]}. Worth {self.value(seat)} to you."
        said = self.heard_tersely(seat)
        if self.phase == "talk":
            ask = "Speak: [say: text]"
        elif self.phase == "price":
            ask = f"Price {self.price}: {answer(STAY)} or {answer(LEAVE)}?"
        else:
            ask = f"Bid: {answer('0')} to {answer(str(self.config.top))}"
        return " ".join(filter(None, [head, said, ask]))

    def draw(self) -> str:
        worth = [f"{s}: value {self.value(s)}" for s in self.seats]
        said = [f"{s.seat}: {quote_line(s.text)}" for s in self.statements]
        asked = [f"price {self.price}: {', '.join(self.left)}"] if self.phase == "price" else []
        sold = [f"{winner} won at {price}" for winner, price in self.sold]
        return "\n".join([f"round {self.round + 1}", *worth, *said, *asked, *sold])


def references(players: int, top: int) -> dict[str, float]:
    """Return exact mean payoffs of a seat with sealed bids at the second price.

    random: even bids; equilibrium: true ones; oracle: the highest value wins and pays nothing.
    """
    first, second = _mean_of_highest(players, range(1, top + 1))
    price = _mean_of_highest(players, range(top + 1))[1]
    return {
        "random": ((top + 1) / 2 - price) / players,
        "equilibrium": (first - second) / players,
        "oracle": first / players,
    }


def _mean_of_highest(count: int, values: range) -> tuple[float, float]:
    """Return the means of the highest and the second highest of some even draws.

    >>> _mean_of_highest(2, range(1, 3))
    (1.75, 1.25)
    """
    below = np.arange(len(values) + 1) / len(values)
    highest = below**count
    second = count * below ** (count - 1) - (count - 1) * below**count
    means = [float(np.diff(cdf) @ np.array(values)) for cdf in (highest, second)]
    return means[0], means[1]


raw_env, env = turn_based(Auction)
