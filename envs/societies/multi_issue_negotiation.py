"""Negotiation over several issues at once, with weights that each side alone knows.

Agents        player_0, player_1; who begins is drawn
Observation   chat: rules and what every option is worth to the seat, then messages and offers
Action        in turn a message and then text ending in a deal, one option of each issue, e.g.
              [red Monday Oslo], in [accept], or, after the last offer, in [reject]
Reward        at the end what the deal is worth to a seat, 0 to 1; 0 without a deal
Ends          with a deal, or after the answer to the last offer
Options       issues=3; turns=4; talk=True
References    mean payoff of a seat: random 0.2675, Nash product 0.6979, oracle 0.7, the highest sum
              (all exact, over all weights)

Scored negotiation with trades between issues (Raiffa, The Art and Science of Negotiation, 1982).
Each seat has the same weights on the issues, in an order of its own. They want opposite ends of all
issues but at most one, which is drawn as well. The outcome compares the deal with the exact Pareto
frontier, the best Nash product and the highest sum. Experts hold every type of the other possible,
weigh them by its offers and by the issue that it says it wants most, offer the deal with the best
expected Nash product, and accept what is worth as much to them as their own offer.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import turn_based
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.envs.core.quoting import quote_line
from coevo.envs.core.task import Replies, mostly
from coevo.envs.dilemmas.rounds import MESSAGE_FORMAT, TERSE_MESSAGE
from coevo.envs.societies.table_talk import TableTalk, best, says, seats_of

ISSUES = {
    "colour": ("red", "green", "blue"),
    "day": ("Monday", "Tuesday", "Friday"),
    "place": ("Oslo", "Rome", "Cairo"),
    "drink": ("tea", "coffee", "milk"),
}
"""Issues and their options, in the order in which they are worth more, or less."""
WEIGHTS = {2: (7, 3), 3: (5, 3, 2), 4: (4, 3, 2, 1)}
"""Number of issues -> points for the best option of each; they sum to `POINTS`."""
POINTS = 10
SHARPNESS = 10.0
"""How much experts take it that the other offers what is best for it."""
TRUST = 0.8
"""Share of belief that experts give to the issue that the other says it wants most."""
ACCEPT, REJECT = "accept", "reject"
_WANTS = re.compile(r"\bI want most: (\w+)")
Deal = tuple[int, ...]
"""The number of an option for each issue."""


class Interests(NamedTuple):
    """What a seat wants."""

    weights: tuple[int, ...]
    """Points for the best option of each issue."""
    rising: tuple[bool, ...]
    """Whether later options of an issue are worth more."""

    def worth(self, deal: Deal) -> float:
        """Return what a deal pays, 0 to 1.

        >>> Interests((5, 3, 2), (True, False, True)).worth((2, 1, 0))
        0.65
        """
        return sum(self.points(issue, option) for issue, option in enumerate(deal)) / POINTS

    def points(self, issue: int, option: int) -> float:
        """Return the points of an option."""
        return self.weights[issue] * (option if self.rising[issue] else 2 - option) / 2


@config
class MultiIssueNegotiationConfig:
    issues: Annotated[int, whole(2, len(ISSUES))] = 3
    """Issues of a deal, with three options each."""
    turns: Annotated[int, whole(2, 20)] = 4
    """Turns of both together; the last one only answers an offer."""
    talk: Annotated[bool, Field(strict=True)] = True
    """Whether a seat sends a message before its offer."""


class MultiIssueNegotiation(TableTalk[MultiIssueNegotiationConfig]):
    env_id = "coevo/multi_issue_negotiation-v0"
    config_class = MultiIssueNegotiationConfig
    payoff_range = (0.0, 1.0)
    seats = seats_of(2)

    def __init__(self, config: MultiIssueNegotiationConfig) -> None:
        super().__init__(config)
        self.issues = list(ISSUES)[: config.issues]
        self.deals = {" ".join(options): deal for options, deal in _deals(config.issues)}

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.open_table()
        self.offers: list[tuple[str, str]] = []
        self.deal: str | None = None
        self._draw(rng)
        first = int(rng.integers(2))
        for turn in range(self.config.turns):
            self.round = turn
            seat = self.seats[(first + turn) % 2]
            if self.config.talk:
                yield from self.discuss([seat], self._speech)
            move = yield One(seat, phase="offer", moves=self._moves, expert=self._offer)
            if move in (ACCEPT, REJECT):
                self.deal = self.offers[-1][1] if move == ACCEPT else None
                break
            self.offers.append((seat, move))
            self.announce(f"{seat} offers: {move}.", [self._other(seat)])
        worth = self.worth(self.deal) if self.deal else (0.0, 0.0)
        yield Pay(dict(zip(self.seats, worth, strict=True)))

    def _draw(self, rng: np.random.Generator) -> None:
        one = Interests(
            tuple(int(w) for w in rng.permutation(WEIGHTS[self.config.issues])),
            tuple(bool(x) for x in rng.integers(2, size=self.config.issues)),
        )
        others = types_of_other(one)
        self.interests = dict(
            zip(self.seats, (one, others[int(rng.integers(len(others)))]), strict=True)
        )

    def _other(self, seat: str) -> str:
        return self.seats[1 - self.seats.index(seat)]

    def _moves(self, seat: str) -> Sequence[str]:
        if self.round == self.config.turns - 1:
            return (ACCEPT, REJECT)
        return [*((ACCEPT,) if self.offers else ()), *self.deals]

    def worth(self, deal: str) -> tuple[float, float]:
        """Return what a deal pays to both."""
        one, other = (self.interests[seat].worth(self.deals[deal]) for seat in self.seats)
        return one, other

    # ---- Experts -------------------------------------------------------------------------------

    def beliefs(self, seat: str) -> dict[Interests, float]:
        """Return the probability of every type of the other, by its offers and messages."""
        other = self._other(seat)
        odds = dict.fromkeys(types_of_other(self.interests[seat]), 1.0)
        made = [self.deals[deal] for by, deal in self.offers if by == other]
        wants = [_WANTS.search(s.text) for s in self.statements if s.seat == other]
        named = {found[1] for found in wants if found and found[1] in self.issues}
        for kind in odds:
            top = self.issues[kind.weights.index(max(kind.weights))]
            for issue in named:
                share = 1 / len(self.issues)
                odds[kind] *= TRUST * (issue == top) + (1 - TRUST) * share
            for deal in made:
                odds[kind] *= np.exp(SHARPNESS * kind.worth(deal)) / _scale(kind)
        total = sum(odds.values())
        return {kind: p / total for kind, p in odds.items()}

    def plans(self, seat: str) -> dict[str, float]:
        """Return the expected Nash product of every deal, for a seat."""
        own, beliefs = self.interests[seat], self.beliefs(seat)
        return {
            name: own.worth(deal) * sum(p * kind.worth(deal) for kind, p in beliefs.items())
            for name, deal in self.deals.items()
        }

    def _offer(self, seat: str, skill: float) -> Replies:
        own, moves = self.interests[seat], self._moves(seat)
        good = best(self.plans(seat))
        if self.offers:
            offered = own.worth(self.deals[self.offers[-1][1]])
            wanted = min(own.worth(self.deals[deal]) for deal in good)
            if offered >= wanted - 1e-9:
                good = {ACCEPT: 1.0}
            elif REJECT in moves:
                good = {ACCEPT if offered > 0 else REJECT: 1.0}
        return mostly(moves, good, skill)

    def _speech(self, seat: str, skill: float) -> Replies:
        weights = self.interests[seat].weights
        top = self.issues[weights.index(max(weights))]
        return says(skill, f"I want most: {top}.", "Let us find a deal.")

    # ---- Hooks ---------------------------------------------------------------------------------

    def outcome(self) -> dict[str, float]:
        """Return whether there is a deal, and how it compares with the best deals."""
        pairs = {deal: self.worth(deal) for deal in self.deals}
        one, other = pairs[self.deal] if self.deal else (0.0, 0.0)
        return {
            "deal": float(self.deal is not None),
            "pareto": float(self.deal in pareto(pairs)),
            "nash": one * other / max(u * v for u, v in pairs.values()),
            "efficiency": (one + other) / max(u + v for u, v in pairs.values()),
        }

    def info(self, seat: str) -> dict[str, Any]:
        own = self.interests[seat]
        known = {"weights": list(own.weights), "rising": list(own.rising)}
        return {**super().info(seat), **known, "offers": [list(offer) for offer in self.offers]}

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw what the other wants."""
        others = types_of_other(self.interests[seat])
        self.interests[self._other(seat)] = others[int(rng.integers(len(others)))]
        return True

    # ---- Prompts -------------------------------------------------------------------------------

    def _table(self, seat: str) -> str:
        own, rows = self.interests[seat], []
        for i, issue in enumerate(self.issues):
            row = (f"{name} {own.points(i, j):g}" for j, name in enumerate(ISSUES[issue]))
            rows.append(f"{issue}: {', '.join(row)}")
        return "; ".join(rows)

    def rules(self, seat: str) -> str:
        form = f"\n{MESSAGE_FORMAT}" if self.config.talk else ""
        talk = "sends a message, and then " if self.config.talk else ""
        return (
            f"You are {seat} and negotiate with {self._other(seat)}. A deal has one option of each "
            f"issue, in this order: {', '.join(self.issues)}. In turn each of you {talk}offers a "
            f"deal or accepts the last offer. There are {self.config.turns} turns, and in the last "
            "one the offer can only be accepted or rejected. Without a deal both get nothing. What "
            "the options are worth to the other is hidden from you: on all issues but at most one "
            "it wants the opposite, but it may care more for other issues.\n"
            f"Points of the options to you: {self._table(seat)}. A deal pays you the sum of its "
            f"points, divided by {POINTS}.{form}"
        )

    def question(self, seat: str) -> str:
        if self.phase == "talk":
            return f"Turn {self.round + 1} of {self.config.turns}. Your message?"
        stands = f" It is worth {self._offered(seat)} points to you." if self.offers else ""
        return self.choice(seat, f"Your move?{stands}")

    def _offered(self, seat: str) -> str:
        return f"{POINTS * self.interests[seat].worth(self.deals[self.offers[-1][1]]):g}"

    def terse(self, seat: str) -> str:
        said = [s.text for s in self.statements if s.seat != seat][-1:]
        parts = [f"Negotiate. Your points: {self._table(seat)}."]
        parts += [f"Other: {quote_line(text, TERSE_MESSAGE)}" for text in said]
        if self.offers:
            parts.append(f"Other offers {self.offers[-1][1]}: {self._offered(seat)}.")
        if self.phase == "talk":
            return " ".join([*parts, "Answer [say: text]"])
        if REJECT in self._moves(seat):
            return " ".join([*parts, f"Answer [{ACCEPT}] or [{REJECT}]"])
        accept = f" or [{ACCEPT}]" if self.offers else ""
        return " ".join([*parts, f"A deal is one word of each. Answer [move]{accept}"])

    def draw(self) -> str:
        lines = [f"{seat}: {self._table(seat)}" for seat in self.seats]
        said = [f"{s.seat}: {quote_line(s.text)}" for s in self.statements]
        offers = [f"{seat} offers {deal}" for seat, deal in self.offers]
        return "\n".join([*lines, *said, *offers, f"deal: {self.deal or 'none yet'}"])


def _deals(issues: int) -> list[tuple[tuple[str, ...], Deal]]:
    options = [list(enumerate(ISSUES[issue])) for issue in list(ISSUES)[:issues]]
    return [
        (tuple(name for _, name in deal), tuple(i for i, _ in deal))
        for deal in itertools.product(*options)
    ]


def types_of_other(own: Interests) -> list[Interests]:
    """Return what the other may want, each as likely: any order of weights, one common end or none.

    >>> len(types_of_other(Interests((5, 3, 2), (True, True, False))))
    24
    """
    opposite = tuple(not rising for rising in own.rising)
    ends = [opposite, *(_with(opposite, i) for i in range(len(opposite)))]
    orders = itertools.permutations(sorted(own.weights))
    return [Interests(order, rising) for order in orders for rising in ends]


def _with(rising: tuple[bool, ...], issue: int) -> tuple[bool, ...]:
    return tuple(not up if i == issue else up for i, up in enumerate(rising))


@lru_cache(maxsize=10_000)
def _scale(kind: Interests) -> float:
    deals = itertools.product(range(3), repeat=len(kind.weights))
    return float(sum(np.exp(SHARPNESS * kind.worth(deal)) for deal in deals))


def pareto(pairs: Mapping[str, tuple[float, float]]) -> set[str]:
    """Return the deals that no other deal betters for one seat without loss for the other.

    >>> sorted(pareto({"a": (1.0, 0.0), "b": (0.5, 0.5), "c": (0.5, 0.4)}))
    ['a', 'b']
    """
    return {
        deal
        for deal, (u, v) in pairs.items()
        if not any(x >= u and y >= v and (x, y) != (u, v) for x, y in pairs.values())
    }


def references(issues: int, turns: int) -> dict[str, float]:
    """Return exact mean payoffs of a seat: random moves, the best Nash product, the highest sum."""
    one = Interests(WEIGHTS[issues], (True,) * issues)
    nash, most = [], []
    for other in types_of_other(one):
        pairs = [(one.worth(deal), other.worth(deal)) for _, deal in _deals(issues)]
        top = max(u * v for u, v in pairs)
        nash.append(np.mean([(u + v) / 2 for u, v in pairs if u * v > top - 1e-9]))
        most.append(max(u + v for u, v in pairs) / 2)
    moves, left, agreed = 3**issues + 1, 1.0, 0.0
    for _ in range(turns - 2):
        agreed, left = agreed + left / moves, left * (1 - 1 / moves)
    random = (agreed + left / 2) / 2
    return {"random": random, "nash": float(np.mean(nash)), "oracle": float(np.mean(most))}


raw_env, env = turn_based(MultiIssueNegotiation)
