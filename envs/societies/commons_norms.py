"""A commons without points for catching: norms spread from those who live well, and are enforced.

Agents        villager_0 .. villager_n-1
Observation   chat: what a villager knows and holds right; each season the lake, its own stores, the
              days of one other on the lake, and at times the norm of one with more in store
Action        text ending in the days to fish, e.g. [1]; with sanctions [punish] or [let be]; when
              it meets one with more in store, [adopt] or [keep]
Reward        at the end: the share of the seasons in which the villager had enough to eat
Ends          after `seasons`
Options       stock: rich (100) or scarce (30); society: altruistic, selfish or mixed norms at the
              start; sanctions: what it costs to punish and to be punished; learn: chance of a
              meeting; villagers; seasons
References    mean return of a seat by default: random 0.739 (2000 games), all fish one day 1

No prompt says what a day on the lake is worth, how the fish grow, or that anything is paid: a
villager sees what becomes of the lake and of its stores. Whoever meets another with more in store
is told the other's norm and may adopt it: learning from those who do well, which favours who
catches most. Against that stands punishment, which takes from the stores of who is seen fishing
more than the punisher holds right. After Gupta et al. (arXiv 2510.14401): no explicit reward,
payoff-biased social learning, punishment by norms, rich or scarce lakes and altruistic or selfish
starts. Ours: all numbers (the paper's were not read), norms that are a number of days, and no talk.

All days of all villagers take a fifth of the lake; what is left, S, grows by 0.6 S (1 - S / 100).
Experts fish one day, which lasts, punish who fished more, and adopt a norm nearer to one day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import All, Pay, Protocol
from coevo.envs.core.task import Replies, mostly
from coevo.envs.societies.society import Society

CAPACITY, GROWTH, COLLAPSE = 100.0, 0.6, 5.0
DAY = 0.2
"""Share of the lake that a day of all villagers takes."""
NEED = 3.0
"""Baskets that a villager eats in a season, with four villagers."""
KEPT = 2
"""Seasons for which stores can be kept."""
DAYS = ("0", "1", "2", "3")
LASTING = 1
"""Days of each that the lake bears."""
PUNISH, LET_BE, ADOPT, KEEP = "punish", "let be", "adopt", "keep"
STOCKS = {"rich": 100.0, "scarce": 30.0}
NORMS = {"altruistic": (1,), "selfish": (3,), "mixed": (1, 3)}


@config
class Sanctions:
    """Baskets that a punishment takes from both sides."""

    cost: Annotated[float, real(0, 100)] = 0.5
    """From the one who punishes."""
    loss: Annotated[float, real(0, 100)] = 6.0
    """From the one who is punished."""


@config
class CommonsNormsConfig:
    villagers: Annotated[int, whole(2, 20)] = 4
    """Seats."""
    seasons: Annotated[int, whole(1, 100)] = 8
    """How long it lasts."""
    stock: Literal["rich", "scarce"] = "rich"
    """The lake at the start."""
    society: Literal["altruistic", "selfish", "mixed"] = "mixed"
    """Norms at the start: one day, three days, or one of the two for each villager."""
    sanctions: Sanctions | None = Sanctions()
    """None for no punishment."""
    learn: Annotated[float, real(0, 1)] = 0.5
    """Chance that a villager meets another at the end of a season."""


class CommonsNorms(Society[CommonsNormsConfig]):
    env_id = "coevo/commons_norms-v0"
    config_class = CommonsNormsConfig
    payoff_range = (0.0, 1.0)

    def __init__(self, config: CommonsNormsConfig) -> None:
        super().__init__(config)
        self.seats = tuple(f"villager_{i}" for i in range(config.villagers))
        self.need = NEED * 4 / config.villagers

    # ---- The seasons ---------------------------------------------------------------------------

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        c = self.config
        self.lake, self.round = STOCKS[c.stock], 0
        self.norm = {s: int(rng.choice(NORMS[c.society])) for s in self.seats}
        self.stores, self.fed = dict.fromkeys(self.seats, 0.0), dict.fromkeys(self.seats, 0)
        self.log: list[dict[str, int]] = []
        self.news: dict[str, list[str]] = {seat: [] for seat in self.seats}
        self.watched, self.met = dict[str, str](), dict[str, str]()
        for self.round in range(c.seasons):
            days = yield All(self.seats, phase="fish", moves=DAYS)
            self._fish({seat: int(said) for seat, said in days.items()})
            ring = [self.seats[i] for i in rng.permutation(len(self.seats))]
            self.watched = dict(zip(ring, [*ring[1:], ring[0]], strict=True))
            if c.sanctions is not None:
                verdicts = yield All(self.seats, phase="punish", moves=(PUNISH, LET_BE))
                self._punish([seat for seat, said in verdicts.items() if said == PUNISH])
            self.met = self._meetings(rng)
            if self.met:
                learners = [seat for seat in self.seats if seat in self.met]
                said = yield All(learners, phase="learn", moves=(ADOPT, KEEP))
                heard = {s: self.norm[self.met[s]] for s, one in said.items() if one == ADOPT}
                self.norm |= heard
        yield Pay({seat: fed / c.seasons for seat, fed in self.fed.items()})

    def _fish(self, days: Mapping[str, int]) -> None:
        """Share out the catch, let all eat, and let the fish grow."""
        self.log.append(dict(days))
        each = self.lake * DAY / len(self.seats)
        caught = {seat: each * spent for seat, spent in days.items()}
        left = self.lake - sum(caught.values())
        for seat, baskets in caught.items():
            full = self.stores[seat] + baskets >= self.need
            self.fed[seat] += full
            rest = self.stores[seat] + baskets - self.need
            self.stores[seat] = min(max(0.0, rest), KEPT * self.need)
            ate = "enough to eat" if full else "not enough to eat"
            self.news[seat] = [f"You caught {baskets:.1f} baskets and had {ate}."]
        grown = left + GROWTH * left * (1 - left / CAPACITY)
        self.lake = grown if left >= COLLAPSE else 0.0

    def _punish(self, punishers: Sequence[str]) -> None:
        assert self.config.sanctions is not None  # nobody is asked else
        self.note("sanctioned", sorted({self.watched[seat] for seat in punishers}))
        for seat in punishers:
            self._lose(seat, self.config.sanctions.cost)
            self._lose(self.watched[seat], self.config.sanctions.loss)
            self.news[self.watched[seat]].append(
                f"You were punished, and lost up to {self.config.sanctions.loss:g} baskets."
            )

    def _lose(self, seat: str, baskets: float) -> None:
        self.stores[seat] = max(0.0, self.stores[seat] - baskets)

    def _meetings(self, rng: np.random.Generator) -> dict[str, str]:
        """Return who meets one with more in store."""
        count, found = len(self.seats), {}
        luck, partners = rng.random(count), rng.integers(1, count, count)
        for i, seat in enumerate(self.seats):
            other = self.seats[(i + int(partners[i])) % count]
            if luck[i] < self.config.learn and self.stores[other] > self.stores[seat] + 0.05:
                found[seat] = other
        return found

    # ---- What is known -------------------------------------------------------------------------

    def expert(self, seat: str, skill: float) -> Replies:
        """Return one day, a punishment of more, and a norm nearer to one day; mostly."""
        if self.phase == "fish":
            return mostly(DAYS, {str(LASTING): 1.0}, skill)
        if self.phase == "punish":
            over = self.log[-1][self.watched[seat]] > LASTING
            return mostly((PUNISH, LET_BE), {PUNISH if over else LET_BE: 1.0}, skill)
        nearer = abs(self.norm[self.met[seat]] - LASTING) < abs(self.norm[seat] - LASTING)
        return mostly((ADOPT, KEEP), {ADOPT if nearer else KEEP: 1.0}, skill)

    def outcome(self) -> dict[str, float]:
        """Return what is left of the lake, who ate, and which norm the village has come to."""
        norms = list(self.norm.values())
        days = [spent for season in self.log for spent in season.values()]
        return {
            "lake": self.lake,
            "lasted": float(self.lake > 0),
            "fed": float(np.mean(list(self.fed.values()))) / self.config.seasons,
            "norm": float(np.mean(norms)),
            "agreement": max(norms.count(n) for n in norms) / len(norms),
            "days": float(np.mean(days)) if days else 0.0,
        }

    def info(self, seat: str) -> dict[str, Any]:
        known = {"norm": self.norm[seat], "store": round(self.stores[seat], 1)}
        return {**super().info(seat), **known, "seen": self._seen(seat)}

    def _seen(self, seat: str) -> int | None:
        """Return the days of the one whom this seat watches, where it is asked about that one."""
        return self.log[-1][self.watched[seat]] if self.phase == "punish" else None

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw the norms of others anew that this seat was not told just now."""
        told = self.met.get(seat) if self.phase == "learn" else None
        for other in self.seats:
            if other not in (seat, told):
                self.norm[other] = int(rng.integers(len(DAYS)))
        return True

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        c = self.config
        lines = [
            f"You are {seat}, one of {c.villagers} in a village that lives on the fish of its "
            f"lake. In each of {c.seasons} seasons everybody decides how many days to fish, 0 to "
            f"3. A villager eats {self.need:g} baskets in a season, and what is left goes to its "
            f"stores, of which {KEPT * self.need:g} can be kept."
        ]
        if c.sanctions is not None:
            lines.append(
                "After fishing you are told how many days one other fished. You may punish it. "
                f"That takes {c.sanctions.cost:g} baskets from your stores and "
                f"{c.sanctions.loss:g} from its stores, if there are so many."
            )
        lines.append("At times you meet a villager that has more in store, and hear its norm.")
        lines.append("Live as you think right.")
        return "\n".join(lines)

    def situation(self, seat: str) -> str:
        moves = f"Legal moves: {', '.join(map(answer, self.moves_of(seat)))}"
        return f"{self._question(seat)} {moves}"

    def _question(self, seat: str) -> str:
        if self.phase == "fish":
            season = f"Season {self.round + 1} of {self.config.seasons}."
            news = " ".join(self.news[seat]) if self.round else ""
            return " ".join(
                part
                for part in (
                    season,
                    news if self.config.sanctions is None or "punished" in news else "",
                    f"The lake holds about {self.lake:.0f} baskets.",
                    f"You have {self.stores[seat]:.1f} in store. You hold that nobody should fish "
                    f"more than {_days(self.norm[seat])}. How many days do you fish?",
                )
                if part
            )
        if self.phase == "punish":
            seen = f"{self.watched[seat]} fished {_days(self.log[-1][self.watched[seat]])}."
            return f"{self.news[seat][0]} {seen} Do you punish it?"
        other = self.met[seat]
        return (
            f"You meet {other}, who has {self.stores[other]:.1f} baskets in store; you have "
            f"{self.stores[seat]:.1f}. It holds that nobody should fish more than "
            f"{_days(self.norm[other])}; you hold {_days(self.norm[seat])}. Do you adopt its norm "
            "or keep yours?"
        )

    def terse(self, seat: str) -> str:
        own, norm = f"{self.stores[seat]:.1f}", self.norm[seat]
        ask = f"Answer {' or '.join(map(answer, self.moves_of(seat)))}"
        if self.phase == "fish":
            now = f"Season {self.round + 1} of {self.config.seasons}. Lake {self.lake:.0f}."
            return f"{now} Store {own}. Norm: {norm} at most. Days to fish? {ask}"
        if self.phase == "punish":
            seen = self.log[-1][self.watched[seat]]
            return f"{self.watched[seat]} fished {seen}; your norm {norm}. Store {own}. {ask}"
        other = self.met[seat]
        theirs = f"{other} has {self.stores[other]:.1f}, norm {self.norm[other]}"
        return f"{theirs}; you {own}, norm {norm}. Take its norm? {ask}"

    def draw(self) -> str:
        lines = [
            f"season {n}: {' '.join(map(str, season.values()))} days"
            for n, season in enumerate(self.log, start=1)
        ]
        state = [f"{s}: store {self.stores[s]:.1f}, norm {self.norm[s]}" for s in self.seats]
        return "\n".join([*lines, f"lake: {self.lake:.1f}", *state])


def _days(number: int) -> str:
    return f"{number} day{'s' * (number != 1)}"


raw_env, env = turn_based(CommonsNorms)
