"""A fishery: how much to catch from a stock that others catch from too, and which of them to fine.

Agents        fisher_0 .. fisher_n-1
Observation   chat: the rules; then the month, the stock, what was caught last month (by all,
              by one neighbour, or the own catch alone), who was fined, what was said
Action        text ending in a whole number of tons, e.g. [10]; where messages are on, one message
              each after the catch; where fines are on, the name of one whose catch was seen,
              e.g. [fisher_2], or [nobody]
Reward        tons that were caught; minus the cost of a fine that one imposes, and minus the fines
Ends          after `months`, or when less than `collapse` tons are left
Options       see the arguments. Rich and scarce: stock; monitoring: sees; a rule that is told to
              all: norm; sanctions: fine
References    mean return of a seat by default: random 20.0 (exact), a fifth of what lasts in every
              month 120, best 130 (dynamic programming)

Rules and figures are those of GovSim's fishery (Piatti et al., arXiv 2404.16698): all catch at
once; demand over the stock is met unit by unit in random order; what is left doubles, up to the
capacity. Monitoring, a stated norm and costly fines are added as in experiments with common pools
(Ostrom et al. 1992). A commons without points, where norms are learnt: commons_norms. The record
notes who took more than an equal share of what lasts (`overused`) and who was fined (`sanctioned`).
Experts take that share, and fine the one who took most beyond it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import simultaneous
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import All, One, Pay, Protocol
from coevo.envs.core.quoting import quote_line
from coevo.envs.core.task import Replies, mostly
from coevo.envs.dilemmas.rounds import MESSAGE_FORMAT, MESSAGE_LENGTH, TERSE_MESSAGE, message
from coevo.envs.societies.society import Society, listed, points
from coevo.envs.societies.stock import Doubling, Regrowth, lasting, shared_out

NOBODY = "nobody"


@config
class Fine:
    """Costs of a sanction to both sides."""

    cost: Annotated[float, real(0)] = 1.0
    """Points that fining costs."""
    fine: Annotated[float, real(0)] = 3.0
    """Points that the fined one loses."""


@config
class FisheryConfig:
    fishers: Annotated[int, whole(2, 20)] = 5
    """Seats."""
    months: Annotated[int, whole(1, 200)] = 12
    """Harvests, while the stock lasts."""
    capacity: Annotated[int, whole(2, 200)] = 100
    """Largest stock, in tons."""
    stock: Annotated[int, whole(1, 200)] | None = None
    """At the start; None for the capacity. Scarce is less than half of it."""
    collapse: Annotated[int, whole(1, 200)] = 5
    """A stock under this is gone."""
    regrowth: Regrowth = Doubling()
    """How what is left grows."""
    shortage: Literal["random", "proportional"] = "random"
    """How a stock is divided that is smaller than what all want."""
    sees: Literal["all", "neighbour", "none"] = "all"
    """Whose catches a fisher is shown: all, those of the next fisher, or only its own."""
    norm: Annotated[int, whole(0)] | None = None
    """Tons a month that the rules call the agreed limit; nothing enforces it."""
    fine: Fine | None = None
    """What it costs to fine one whose catch was seen; None for no fines."""
    messages: Annotated[bool, Field(strict=True)] = False
    """Whether each fisher says one thing after the catch."""

    def __post_init__(self) -> None:
        if self.stock is not None and not self.collapse <= self.stock <= self.capacity:
            raise ConfigError(
                f"stock={self.stock} must lie between collapse={self.collapse} and "
                f"capacity={self.capacity}"
            )
        if self.collapse > self.capacity:
            raise ConfigError(f"collapse={self.collapse} must be at most {self.capacity}")
        if self.fine is not None and self.sees == "none":
            raise ConfigError("fine needs sees: all or neighbour, or nobody knows whom to fine")


class Fishery(Society[FisheryConfig]):
    env_id = "coevo/fishery-v0"
    config_class = FisheryConfig

    def __init__(self, config: FisheryConfig) -> None:
        super().__init__(config)
        c = config
        self.seats = tuple(f"fisher_{i}" for i in range(c.fishers))
        self.simultaneous = not c.messages
        steps = [c.regrowth.grown(s, c.capacity) - s for s in range(c.capacity + 1)]
        most = (c.stock or c.capacity) + (c.months - 1) * max(steps)
        worst = 0.0 if c.fine is None else c.fine.cost + c.fine.fine * (c.fishers - 1)
        self.lasts = c.months
        self.payoff_range = (-c.months * worst, float(most))

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        c, starter = self.config, int(rng.integers(len(self.seats)))
        self.stock, self.round = c.stock or c.capacity, 0
        self.caught: list[list[int]] = []
        self.wanted: list[list[int]] = []
        self.fines: list[dict[str, str]] = []
        self.said: dict[str, str] = {}
        while self.stock >= c.collapse and self.round < c.months:
            tons = list(map(str, range(self.stock + 1)))
            catches = yield All(self.seats, phase="harvest", moves=tons)
            wanted = [int(catch) for catch in catches.values()]
            got = shared_out(wanted, self.stock, c.shortage, rng)
            self.note(
                "overused", [a for a, g in zip(self.seats, got, strict=True) if g > self.share]
            )
            self.wanted.append(wanted)
            self.caught.append(got)
            self.left, self.said = self.stock - sum(got), {}
            yield Pay(dict(zip(self.seats, got, strict=True)))
            for i in range(c.fishers if c.messages else 0):
                speaker = self.seats[(starter + self.round + i) % c.fishers]
                self.said[speaker] = yield One(speaker, phase="message", read=message)
            if c.fine is not None:
                targets = yield All(self.seats, phase="fine", moves=self.fineable)
                imposed = {seat: target for seat, target in targets.items() if target != NOBODY}
                self.fines.append(imposed)
                self.note("sanctioned", sorted(set(imposed.values())))
                paid = dict.fromkeys(self.seats, 0.0)
                for seat, target in imposed.items():
                    paid[seat] -= c.fine.cost
                    paid[target] -= c.fine.fine
                yield Pay(paid)
            gone = self.left < c.collapse
            self.stock = self.left if gone else c.regrowth.grown(self.left, c.capacity)
            self.round += 1

    @property
    def share(self) -> int:
        """What each may take so that the stock lasts."""
        c = self.config
        return lasting(c.regrowth, self.stock, c.capacity) // c.fishers

    def watched(self, seat: str) -> list[str]:
        """Return the others whose catches a seat sees."""
        me, n = self.seats.index(seat), len(self.seats)
        around = [self.seats[(me + i) % n] for i in range(1, n)]
        return {"all": sorted(around), "neighbour": around[:1], "none": []}[self.config.sees]

    def fineable(self, seat: str) -> list[str]:
        """Return the fishers that a seat may fine."""
        return [NOBODY, *self.watched(seat)]

    def expert(self, seat: str, skill: float) -> Replies:
        """Return an equal share of what lasts, an appeal, or a fine for the greediest; mostly."""
        if self.phase == "message":
            texts = (f"[say: {self.share} tons each will last.]", "[say: I take what I can.]")
            return Replies(texts, np.array([skill, 0.0]) + (1 - skill) / 2)
        legal = self.moves_of(seat)
        best = str(self.share) if self.phase == "harvest" else self._greediest(seat)
        return mostly(legal, {best: 1.0}, skill)

    def _greediest(self, seat: str) -> str:
        seen = {a: self.caught[-1][self.seats.index(a)] for a in self.watched(seat)}
        limit = self.share if self.config.norm is None else self.config.norm
        worst = max(seen, key=lambda a: seen[a])
        return worst if seen[worst] > limit else NOBODY

    def info(self, seat: str) -> dict[str, Any]:
        seen = [seat, *self.watched(seat)]
        return {
            **super().info(seat),
            "stock": self.stock,
            "caught": [
                {a: month[self.seats.index(a)] for a in sorted(seen)} for month in self.caught
            ],
            "points": self.earned[seat],
        }

    def outcome(self) -> dict[str, float]:
        """Return months survived, the yield against what lasts, and how often fines were imposed.

        `yield` is 1 - max(0, T f - sum R) / (T f) with f what lasts of the first stock (GovSim).
        """
        c = self.config
        first = lasting(c.regrowth, c.stock or c.capacity, c.capacity) * c.months
        caught = sum(map(sum, self.caught))
        found = {
            "months": float(self.round),
            "survived": float(self.round >= c.months and self.stock >= c.collapse),
            "caught": float(caught),
        }
        if first:
            found["yield"] = 1 - max(0, first - caught) / first
        if self.fines:
            found["fined"] = sum(map(len, self.fines)) / (len(self.fines) * c.fishers)
        return found

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        c = self.config
        grows = "what is left doubles"
        if c.regrowth.name == "logistic":
            grows = f"what is left, S, grows by {c.regrowth.rate:g} S (1 - S / {c.capacity})"
        lines = [
            f"You are {seat}, one of {c.fishers} fishers who share a lake. Every month all say at "
            "the same time how many tons of fish they catch. If together they want more than there "
            f"is, the fish are divided {_DIVIDED[c.shortage]}. Then {grows}, up to {c.capacity} "
            f"tons. If less than {c.collapse} tons are left, the fish die out and it is over; "
            f"otherwise it ends after {c.months} months.",
            _SEEN[c.sees].format(next=self.watched(seat)[0] if self.watched(seat) else ""),
        ]
        if c.norm is not None:
            lines.append(f"The agreed limit is {c.norm} tons a month for each fisher.")
        if c.messages:
            lines.append("After the catch each says one thing to all, in turn. It binds nobody.")
        if c.fine is not None:
            lines.append(
                "Then each may fine one whose catch it saw. To fine costs "
                f"{points(c.fine.cost)}, and the fined one loses {points(c.fine.fine)}."
            )
        lines.append("A ton is a point. Your goal is to get as many points as you can.")
        return "\n".join([*lines, *([MESSAGE_FORMAT] if c.messages else [])])

    def situation(self, seat: str) -> str:
        if self.phase == "harvest":
            lines = [f"Month {self.round + 1} of {self.config.months}.", *self._news(seat)]
            lines.append(f"There are {self.stock} tons of fish.")
            moves = listed(self.moves_of(seat))
            return "\n".join([*lines, f"How many tons do you catch? Legal moves: {moves}"])
        lines = self._catches(seat) if self.phase == "message" or not self.said else []
        lines += self._quoted_messages(seat)
        if self.phase == "message":
            return "\n".join([*lines, "Your message to all?"])
        moves = listed(self.moves_of(seat), 21)
        return "\n".join([*lines, f"Whom do you fine? Legal moves: {moves}"])

    def _heard(self, seat: str) -> list[tuple[str, str]]:
        order = list(self.said)
        since = order.index(seat) + 1 if seat in self.said else 0
        return [(a, self.said[a]) for a in order[since:]]

    def _quoted_messages(self, seat: str) -> list[str]:
        return [f"{a} said: {quote_line(text, MESSAGE_LENGTH)}" for a, text in self._heard(seat)]

    def _catches(self, seat: str) -> list[str]:
        if not self.caught:
            return []
        month = self.caught[-1]
        me = self.seats.index(seat)
        wish = self.wanted[-1][me]
        got = f"You caught {month[me]} tons" + (
            f" of the {wish} you wanted" if wish > month[me] else ""
        )
        others = [f"{a} {month[self.seats.index(a)]}" for a in self.watched(seat)]
        lines = [f"{got}; {', '.join(others)}." if others else f"{got}."]
        return lines if self.phase == "harvest" else [*lines, f"{self.left} tons are left."]

    def _news(self, seat: str) -> list[str]:
        """Return what the chat does not hold yet about the last month."""
        talked = self.config.messages or self.config.fine is not None
        lines = [] if talked else self._catches(seat)
        if self.config.messages and self.config.fine is None:
            lines += [
                f"{a} said: {quote_line(text, MESSAGE_LENGTH)}" for a, text in self._heard(seat)
            ]
        if self.fines:
            imposed = [f"{a} fined {b}" for a, b in self.fines[-1].items()]
            lines.append(f"{', '.join(imposed) or 'Nobody was fined'}.")
        if self.caught:
            lines.append(f"Your points so far: {self.earned[seat]:g}.")
        return lines

    def terse(self, seat: str) -> str:
        c = self.config
        grow = "left doubles" if c.regrowth.name == "doubling" else "left regrows"
        parts = [f"{c.fishers} catch fish, {grow}, max {c.capacity}, gone under {c.collapse}."]
        parts.append(f"Month {self.round + 1} of {c.months}, {self.stock} tons.")
        if self.caught:
            month = self.caught[-1]
            others = " ".join(str(month[self.seats.index(a)]) for a in self.watched(seat))
            parts.append(f"Last: you {month[self.seats.index(seat)]}, others {others or 'unseen'}.")
        if c.norm is not None:
            parts.append(f"Limit {c.norm}.")
        if self.phase == "message":
            heard = self._heard(seat)[-1:]
            parts += [f"{a}: {quote_line(text, TERSE_MESSAGE)}" for a, text in heard]
            return " ".join([*parts, "Answer [say: text]"])
        if self.phase == "fine" and c.fine is not None:
            parts[0] = f"Fine a fisher: costs you {c.fine.cost:g}, it loses {c.fine.fine:g}."
        moves = self.moves_of(seat)
        shown = f"{answer(moves[0])} to {answer(moves[-1])}"
        if self.phase == "fine":
            shown = f"{answer(NOBODY)}, {answer(moves[1])}" + ("..." if len(moves) > 2 else "")
        return " ".join([*parts, f"Answer {shown}"])

    def draw(self) -> str:
        lines = [f"month {m + 1}: {' '.join(map(str, got))}" for m, got in enumerate(self.caught)]
        lines += [
            f"month {m + 1}, fined: {', '.join(imposed.values()) or NOBODY}"
            for m, imposed in enumerate(self.fines)
        ]
        return "\n".join([*lines, f"stock: {self.stock} of {self.config.capacity}"])


_DIVIDED = {"random": "ton by ton at random", "proportional": "in proportion to the wishes"}
_SEEN = {
    "all": "Afterwards everybody sees what each has caught.",
    "neighbour": "Afterwards you see what {next} has caught; others see one fisher each as well.",
    "none": "Nobody sees what the others catch.",
}

raw_env, env, parallel_env = simultaneous(Fishery)
