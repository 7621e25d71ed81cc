"""Scored reports: workers say how good they are, are paid for how true it was, and one is hired.

Agents        employer_0, worker_0 .. worker_n-1
Observation   chat: rules, then for a worker its own skill, for the employer all reports
Action        worker: text ending in a chance of success in percent, e.g. [70]; employer: in the
              worker to hire, e.g. [worker_1]
Reward        worker: its pay by the scoring rule, for its report and the outcome of a trial that
              succeeds with the chance of its skill; employer: 1 if the hired worker succeeds
Ends          when a worker is hired
Options       workers; pay: brier, logarithmic, spherical (proper: the truth is worth most) or
              linear (improper: exaggeration is)
References    mean payoff of a seat: random 0.6222, oracle 0.7605 (exact): true reports, and the
              best of them hired

Skills are drawn evenly and independently from 10, 20, ..., 90 percent. Pay does not depend on who
is hired, so that under a proper rule the truth is the only best report (McCarthy 1956; Savage
1971). Experts reply best to their rule: they are true under a proper one, and say 10 or 90 under
`linear`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from math import hypot, log10
from typing import Annotated, Any, Literal

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import All, One, Pay, Protocol
from coevo.envs.core.task import Replies, mostly
from coevo.envs.societies.society import Society

CHANCES = tuple(range(10, 100, 10))
"""Skills and reports, in percent."""
EMPLOYER = "employer_0"
Rule = Literal["brier", "logarithmic", "spherical", "linear"]
IN_WORDS = {
    "brier": "1 less the square of the chance that you gave to what did not happen",
    "logarithmic": "1 plus the decimal logarithm of the chance that you gave to what happened",
    "spherical": "the chance that you gave to what happened, divided by the length of the vector "
    "of both chances",
    "linear": "the chance that you gave to what happened",
}


def pay(rule: Rule, report: int, success: bool) -> float:
    """Return what a report earns, between 0 and 1.

    >>> pay("brier", 80, True), round(pay("linear", 80, False), 9), pay("logarithmic", 10, True)
    (0.96, 0.2, 0.0)
    """
    said = (report if success else 100 - report) / 100
    if rule == "brier":
        return 1 - (1 - said) ** 2
    if rule == "logarithmic":
        return 1 + log10(said)
    return said if rule == "linear" else said / hypot(said, 1 - said)


def expected(rule: Rule, report: int, skill: int) -> float:
    """Return the mean pay of a report by a worker of some skill.

    >>> max(CHANCES, key=lambda report: expected("spherical", report, 30))
    30
    """
    odds = skill / 100
    return odds * pay(rule, report, True) + (1 - odds) * pay(rule, report, False)


def references(rule: Rule, workers: int) -> dict[str, float]:
    """Return the exact mean payoff of a seat at random, and with true reports well used."""
    pairs = list(itertools.product(CHANCES, repeat=2))
    guessed = float(np.mean([expected(rule, report, skill) for report, skill in pairs]))
    true = float(np.mean([expected(rule, skill, skill) for skill in CHANCES]))
    below = (np.arange(len(CHANCES) + 1) / len(CHANCES)) ** workers
    best = float(np.diff(below) @ np.array(CHANCES)) / 100
    seats = workers + 1
    random = float(np.mean(CHANCES)) / 100
    return {
        "random": (random + workers * guessed) / seats,
        "oracle": (best + workers * true) / seats,
    }


@config
class ScoredReportsConfig:
    """Who may be hired, and how reports are paid."""

    workers: Annotated[int, whole(2, 8)] = 2
    """Workers who report."""
    pay: Rule = "brier"
    """The scoring rule."""


class ScoredReports(Society[ScoredReportsConfig]):
    env_id = "coevo/scored_reports-v0"
    config_class = ScoredReportsConfig
    payoff_range = (0.0, 1.0)

    def __init__(self, config: ScoredReportsConfig) -> None:
        super().__init__(config)
        self.workers = tuple(f"worker_{i}" for i in range(config.workers))
        self.seats = (EMPLOYER, *self.workers)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self._draw(rng)
        self.reports: dict[str, int] = {}
        self.hired: str | None = None
        reports = yield All(self.workers, phase="report", moves=list(map(str, CHANCES)))
        self.reports = {worker: int(report) for worker, report in reports.items()}
        self.hired = yield One(EMPLOYER, phase="hire", moves=self.workers)
        yield Pay({EMPLOYER: self._succeeds(self.hired, 1)})
        for worker, report in self.reports.items():
            yield Pay({worker: pay(self.config.pay, report, self._succeeds(worker, 0))})

    def _draw(self, rng: np.random.Generator) -> None:
        drawn = rng.integers(len(CHANCES), size=len(self.workers))
        self.skills = {w: CHANCES[i] for w, i in zip(self.workers, drawn, strict=True)}
        self._luck = dict(zip(self.workers, rng.random((len(self.workers), 2)), strict=True))

    def _succeeds(self, worker: str, job: int) -> bool:
        """Return whether a worker succeeds in its trial, 0, or in the job, 1."""
        return bool(self._luck[worker][job] < self.skills[worker] / 100)

    def expert(self, seat: str, skill: float) -> Replies:
        """Return the best report by the rule, or the highest report, mostly."""
        if seat == EMPLOYER:
            best = max(self.reports.values())
            good = {w: 1.0 for w, report in self.reports.items() if report == best}
            return mostly(self.workers, good, skill)
        own = self.skills[seat]
        worth = {str(r): expected(self.config.pay, r, own) for r in CHANCES}
        most = max(worth.values())
        good = {r: 1.0 for r, value in worth.items() if value > most - 1e-9}
        return mostly(list(worth), good, skill)

    def outcome(self) -> dict[str, float]:
        """Return how far reports were from the truth, and whether the best worker was hired."""
        if self.hired is None:
            return {}
        gaps = [abs(self.reports[worker] - self.skills[worker]) for worker in self.workers]
        best = self.skills[self.hired] == max(self.skills.values())
        return {"gap": float(np.mean(gaps)), "best_hired": float(best)}

    def at_risk(self, seat: str) -> float:
        return 0.0

    def info(self, seat: str) -> dict[str, Any]:
        own = {"reports": self.reports} if seat == EMPLOYER else {"skill": self.skills[seat]}
        return {**super().info(seat), **own}

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw the others' skills and all luck anew; reports may be untrue."""
        own = self.skills.get(seat)
        self._draw(rng)
        if own is not None:
            self.skills[seat] = own
        return True

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        employs = seat == EMPLOYER
        goal = (
            "You get 1 point if the worker that you hire succeeds, else nothing."
            if employs
            else f"Your pay, whoever is hired, is {IN_WORDS[self.config.pay]}, success or failure "
            "in your trial."
        )
        return (
            f"{len(self.workers)} workers and an employer. Every worker has a skill, the chance to "
            "succeed: 10, 20, ... or 90 percent, each equally likely, and known to itself alone. "
            "All report their chance at once, and each is paid for how well its report agrees "
            "with a trial of its own. The employer sees the reports and hires one worker for a "
            f"job.\nYou are {seat}. {goal} Your goal is to get as many points as you can."
        )

    def situation(self, seat: str) -> str:
        moves = f"Legal moves: {', '.join(map(answer, self.moves_of(seat)))}"
        if seat == EMPLOYER:
            return f"{self._announced()}. Whom do you hire? {moves}"
        return f"Your skill is {self.skills[seat]} percent. What do you report? {moves}"

    def _announced(self) -> str:
        said = ", ".join(f"{worker} {report} percent" for worker, report in self.reports.items())
        return f"The reports: {said}"

    def terse(self, seat: str) -> str:
        if seat == EMPLOYER:
            return f"{self._announced()}. Hire one. Answer as {answer(self.workers[0])}"
        return (
            f"Your chance to succeed is {self.skills[seat]} percent. Report it; pay: "
            f"{self.config.pay} score. Answer [10], [20], ..., [90]"
        )

    def draw(self) -> str:
        ends = {True: "succeeds", False: "fails"}
        lines = [
            f"{w}: skill {self.skills[w]}, trial {ends[self._succeeds(w, 0)]}, report "
            f"{self.reports.get(w, 'none yet')}"
            for w in self.workers
        ]
        return "\n".join([*lines, f"hired: {self.hired or 'nobody yet'}"])


raw_env, env = turn_based(ScoredReports)
