"""Hiring two analysts: who is asked to work is drawn in secret, reports are paid, one decides.

Agents        principal_0; analyst_0, analyst_1, who move at once
Observation   chat: the rules and the offer of the round; an analyst whether it is asked to work,
              how good it is and what it sees; the principal the reports, and what became of it
Action        principal: an offer, e.g. [both agreement 4], later [sun] or [rain]; analyst: [work]
              or [rest], then [sun] or [rain]
Reward        principal: 20 for a right decision, minus what it pays; analyst: its pay, minus 1 if
              it worked
Ends          after `rounds`
Options       rounds; accuracy: of work, drawn from these; shared: chance that both see alike
References    mean payoff of a seat by default: random 12, the offer that is best for a principal
              who knows the analysts, and analysts who reply best to it, 18.8333, both exact

An offer says who is asked (one, both, or check: one, and with chance 1/4 the other as well; asked
privately), what is paid for (truth: the report comes true; agreement: both were asked and reported
the same) and how much; in a check the second is paid a quarter of it. Who rests sees a coin. How
good work is, and whether two who work see alike, differs from episode to episode, and the principal
is not told. Where both see alike, agreement betrays who rests, and a rare check is enough: the best
offer correlates efforts. After Online Information Acquisition (Cacciamani, Castiglioni, Gatti 2023,
arXiv 2307.06210); offers are a menu here, and `acquisition` has the best of all mechanisms.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import All, One, Pay, Protocol
from coevo.envs.core.task import Replies, mostly
from coevo.envs.societies.society import Society, points

PRINCIPAL, ANALYSTS = "principal_0", ("analyst_0", "analyst_1")
WEATHER = ("sun", "rain")
WORK, REST, NOBODY = "work", "rest", "nobody"
VALUE, COST, CHECK = 20.0, 1.0, 0.25
BONUSES = (2, 4, 8)
Shares = tuple[Annotated[float, real(0, 1)], ...]


class HiringOffer(NamedTuple):
    """What the principal announces."""

    plan: str
    """Who is asked: nobody, one, both, check."""
    basis: str = "truth"
    bonus: int = 0

    @property
    def name(self) -> str:
        """The move that makes it."""
        return NOBODY if self.plan == NOBODY else f"{self.plan} {self.basis} {self.bonus}"

    def paid(self, first: bool) -> float:
        """Return what the first or the second earns if it is paid."""
        return self.bonus * (1.0 if first or self.plan != "check" else CHECK)

    def both_asked(self, first: bool) -> float:
        """Return how likely both were asked, for one that was."""
        return {"both": 1.0, "check": CHECK if first else 1.0}.get(self.plan, 0.0)

    def pays(self, first: bool, accuracy: float, shared: float) -> tuple[float, float]:
        """Return what one that is asked earns on average if it works, and if it reports a guess.

        >>> HiringOffer("check", "agreement", 8).pays(True, 0.7, 1.0)
        (2.0, 1.0)
        """
        alike = shared + (1 - shared) * (accuracy**2 + (1 - accuracy) ** 2)
        often = 1.0 if self.basis == "truth" else self.both_asked(first)
        most = self.paid(first) * often
        return most * (accuracy if self.basis == "truth" else alike), most / 2

    def obeyed(self, first: bool, accuracy: float, shared: float) -> bool:
        """Return whether it is worth to work when asked, if the other does."""
        working, guessing = self.pays(first, accuracy, shared)
        return working - COST >= guessing - 1e-9


OFFERS = {NOBODY: HiringOffer(NOBODY)}
OFFERS |= {
    offer.name: offer
    for plan, bases in (("one", ("truth",)), ("both", ("truth", "agreement")))
    for basis in bases
    for bonus in BONUSES
    for offer in (HiringOffer(plan, basis, bonus),)
}
OFFERS |= {
    f"check agreement {bonus}": HiringOffer("check", "agreement", bonus) for bonus in BONUSES
}
"""Move -> offer."""


def expected(offer: HiringOffer, accuracy: float, shared: float) -> tuple[float, float]:
    """Return what the principal earns in a round, and all together; -inf where one would rest.

    >>> expected(OFFERS["check agreement 8"], 0.7, 1.0), expected(OFFERS["one truth 2"], 0.7, 1.0)
    ((11.5, 12.75), (-inf, -inf))
    """
    if offer.plan == NOBODY:
        return VALUE / 2, VALUE / 2
    often = {True: 1.0, False: offer.both_asked(True)}
    asked = [first for first in often if often[first]]
    if not all(offer.obeyed(first, accuracy, shared) for first in asked):
        return -np.inf, -np.inf
    paid = sum(often[first] * offer.pays(first, accuracy, shared)[0] for first in asked)
    return VALUE * accuracy - paid, VALUE * accuracy - COST * sum(often.values())


@lru_cache(maxsize=256)
def best_offer(accuracy: float, shared: float) -> HiringOffer:
    """Return the offer that is best for a principal who knows the analysts.

    >>> best_offer(0.7, 1.0).name, best_offer(0.9, 0.0).name, best_offer(0.7, 0.0).name
    ('check agreement 8', 'one truth 4', 'nobody')
    """
    return max(OFFERS.values(), key=lambda offer: expected(offer, accuracy, shared)[0])


@config
class InformationAcquisitionConfig:
    rounds: Annotated[int, whole(1, 100)] = 4
    """Offers."""
    accuracy: Shares = (0.7, 0.9)
    """Chances that who works sees rightly; one is drawn for an episode."""
    shared: Shares = (0.0, 1.0)
    """Chances that two who work see alike; one is drawn for an episode."""


class InformationAcquisition(Society[InformationAcquisitionConfig]):
    env_id = "coevo/information_acquisition-v0"
    config_class = InformationAcquisitionConfig
    seats = (PRINCIPAL, *ANALYSTS)

    def __init__(self, config: InformationAcquisitionConfig) -> None:
        super().__init__(config)
        self.lasts = config.rounds
        self.payoff_range = (-2.0 * max(BONUSES) * config.rounds, VALUE * config.rounds)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        c = self.config
        self.accuracy, self.shared = float(rng.choice(c.accuracy)), float(rng.choice(c.shared))
        self.log: list[str] = []
        self.rights, self.obeyed = list[bool](), list[bool]()
        for self.round in range(c.rounds):
            self.first = ANALYSTS[self.round % 2]
            self.hired: list[str] = []
            self.saw, self.reports = dict[str, str](), dict[str, str]()
            self.state = WEATHER[int(rng.integers(2))]
            self.offer = OFFERS[(yield One(PRINCIPAL, phase="offer", moves=list(OFFERS)))]
            self.hired = self._hiring(bool(rng.random() < CHECK))
            efforts = yield All(ANALYSTS, phase="effort", moves=(WORK, REST))
            self.saw = self._signals(efforts, rng)
            self.reports = yield All(ANALYSTS, phase="report", moves=WEATHER)
            decision = yield One(PRINCIPAL, phase="decide", moves=WEATHER)
            self.obeyed += [efforts[seat] == WORK for seat in self.hired]
            yield Pay(self._settled(decision, efforts))

    def _hiring(self, second: bool) -> list[str]:
        asks = {NOBODY: 0, "one": 1, "both": 2, "check": 1 + second}[self.offer.plan]
        order = [self.first, *(seat for seat in ANALYSTS if seat != self.first)]
        return order[:asks]

    def _signals(self, efforts: Mapping[str, str], rng: np.random.Generator) -> dict[str, str]:
        luck, coins = rng.random(2), rng.integers(2, size=2)
        if rng.random() < self.shared:
            luck[:] = luck[0]
        wrong = WEATHER[1 - WEATHER.index(self.state)]
        sees = [self.state if one < self.accuracy else wrong for one in luck]
        return {
            seat: sees[i] if efforts[seat] == WORK else WEATHER[int(coins[i])]
            for i, seat in enumerate(ANALYSTS)
        }

    def _settled(self, decision: str, efforts: Mapping[str, str]) -> dict[str, float]:
        """Pay the round, and note what everybody is told of it."""
        pay = {seat: self._earned(seat) for seat in ANALYSTS}
        right = decision == self.state
        self.rights.append(right)
        told = " and ".join(f"{points(pay[seat])} to {seat}" for seat in ANALYSTS)
        self.log.append(
            f"The principal decided {decision}, and it was {self.state}. It paid {told}."
        )
        costs = {seat: COST * (efforts[seat] == WORK) for seat in ANALYSTS}
        paid = {seat: pay[seat] - costs[seat] for seat in ANALYSTS}
        return {PRINCIPAL: VALUE * right - sum(pay.values()), **paid}

    def _earned(self, seat: str) -> float:
        if seat not in self.hired:
            return 0.0
        alike = len(self.hired) == 2 and len(set(self.reports.values())) == 1
        won = self.reports[seat] == self.state if self.offer.basis == "truth" else alike
        return self.offer.paid(seat == self.first) * won

    # ---- Experts and records -------------------------------------------------------------------

    def expert(self, seat: str, skill: float) -> Replies:
        """Return the best offer, obedience where it pays, and true reports that are believed."""
        moves = self.moves_of(seat)
        return mostly(moves, {self._best(seat): 1.0}, skill)

    def _best(self, seat: str) -> str:
        if self.phase == "offer":
            return best_offer(self.accuracy, self.shared).name
        if self.phase == "effort":
            worth = self.offer.obeyed(seat == self.first, self.accuracy, self.shared)
            return WORK if seat in self.hired and worth else REST
        if self.phase == "report":
            return self.saw[seat]
        return self.reports[self.first]

    def outcome(self) -> dict[str, float]:
        """Return how often the decision was right and those who were asked worked."""
        found = {"right": float(np.mean(self.rights))} if self.rights else {}
        if self.obeyed:
            found["obeyed"] = float(np.mean(self.obeyed))
        return found

    def info(self, seat: str) -> dict[str, Any]:
        known = {"accuracy": self.accuracy, "shared": self.shared} if seat != PRINCIPAL else {}
        seen = {"saw": self.saw[seat]} if seat in self.saw else {}
        return {**super().info(seat), **known, **seen, "log": list(self.log)}

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw the weather anew, and the other's signal or what analysts are like."""
        self.state = WEATHER[int(rng.integers(2))]
        if seat == PRINCIPAL:
            self.accuracy = float(rng.choice(self.config.accuracy))
        self.saw |= {s: WEATHER[int(rng.integers(2))] for s in self.saw if s != seat}
        return True

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        lines = [
            "A principal has to say what tomorrow's weather will be, sun or rain, each equally "
            f"likely. It gets {VALUE:g} points for a right decision. Two analysts can find out: "
            f"to work costs an analyst {points(COST)} and lets it see the weather, though not "
            "always rightly; one that rests sees the toss of a coin. Nobody sees who works. Both "
            "report what they say they saw.",
            "First the principal makes an offer. It asks nobody, one, both, or one and with "
            "chance 1/4 the other as well (check); an analyst learns only whether it is asked "
            "itself. It pays who was asked for the truth (if its report comes true) or for "
            "agreement (if both were asked and report the same), 2, 4 or 8 points; in a check "
            "the second gets a quarter of that.",
            f"There are {self.config.rounds} rounds. You are {seat}. Your goal is to get as many "
            "points as you can.",
        ]
        if seat != PRINCIPAL:
            alike = f"With probability {self.shared:g} two that work see the same."
            lines.append(f"Work sees rightly with probability {self.accuracy:g}. {alike}")
        return "\n".join(lines)

    def situation(self, seat: str) -> str:
        moves = f"Legal moves: {', '.join(map(answer, self.moves_of(seat)))}"
        last = self.log[-1:] if self.phase == ("offer" if seat == PRINCIPAL else "effort") else []
        return "\n".join([*last, f"{self._question(seat)} {moves}"])

    def _question(self, seat: str) -> str:
        if self.phase == "offer":
            return f"Round {self.round + 1}. {self.first} is the first of the analysts. Your offer?"
        if self.phase == "effort":
            asked = "You are asked to work." if seat in self.hired else "You are not asked to work."
            place = "the first" if seat == self.first else "the second"
            return f"Offer: {self.offer.name}. You are {place} of the analysts. {asked} Do you?"
        if self.phase == "report":
            return f"You saw {self.saw[seat]}. What do you report?"
        said = ", ".join(f"{analyst} {report}" for analyst, report in self.reports.items())
        return f"The reports: {said}. What do you decide?"

    def terse(self, seat: str) -> str:
        """Say the numbers that the chat's rules say."""
        if self.phase == "offer":
            menu = "one, both or check; truth or agreement; 2, 4 or 8"
            now = f"Round {self.round + 1}. First: {self.first}."
            return f"{now} Offer: {menu}; or nobody. Answer [move]"
        parts = [self._question(seat)]
        if self.phase == "effort":
            place = "first" if seat == self.first else "second"
            asked = "asked to work" if seat in self.hired else "not asked to work"
            parts = [f"Offer: {self.offer.name}. You are {place} and {asked}."]
        if seat != PRINCIPAL:
            parts.append(f"Work costs 1, right {self.accuracy:g}, alike {self.shared:g}.")
        return " ".join([*parts, f"Answer {' or '.join(map(answer, self.moves_of(seat)))}"])

    def draw(self) -> str:
        work = f"accuracy {self.accuracy:g}, shared {self.shared:g}, weather {self.state}"
        saw = [f"{seat} saw {signal}" for seat, signal in self.saw.items()]
        now = (
            f"round {self.round + 1}, {self.phase or 'over'}, asked: {' '.join(self.hired) or '-'}"
        )
        return "\n".join([work, *self.log, now, *saw])


raw_env, env = turn_based(InformationAcquisition)
