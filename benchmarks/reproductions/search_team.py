"""A team of three tables: a router decides whether to search, a searcher asks, an answerer answers.

Tasks     One in ten is hard. An easy one needs no search: its answer is always the first. A hard
          one is a guess, which chance, the last seat, decides, unless the right one of the queries
          was asked; then it is the first as well.
Start     The router searches in half of the hard tasks and seldom in easy ones, so the searcher
          acts mostly where the reward is unusual; the answerer mostly knows what to say to easy
          ones, and what a good document says.
Reward    1 for a right answer, to all who have replied.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import Annotated, Any

import numpy as np

from coevo.benchmarks.reproductions.worlds import Micro, arms, world
from coevo.envs.core.config import config, real, whole
from coevo.envs.core.protocol import One, Pay, Protocol

ID = "coevo/search_team-v0"
ROUTER, SEARCHER, ANSWERER = TEAM = ("router_0", "searcher_0", "answerer_0")
CHANCE = "chance_0"
ROUTES = ("answer", "search")
EASY, HARD = "easy", "hard"
FOUND, MISSED = "hard, found", "hard, missed"
"""What the answerer may know of a hard task that was searched for."""


@config
class SearchTeamConfig:
    """Sizes of the task."""

    hard: Annotated[float, real(0, 1)] = 0.1
    """Share of hard tasks."""
    queries: Annotated[int, whole(1)] = 8
    answers: Annotated[int, whole(2)] = 4


class SearchTeam(Micro[SearchTeamConfig]):
    """Three seats that are paid alike for one answer, and chance."""

    env_id = ID
    config_class = SearchTeamConfig
    seats = (*TEAM, CHANCE)
    payoff_range = (0.0, 1.0)
    about = "Search or answer as a team."

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        known = kind = HARD if rng.random() < self.config.hard else EASY
        self.right, answers = False, arms(self.config.answers)
        if (yield One(ROUTER, terse=f"{ROUTER}: {kind}", moves=ROUTES)) == ROUTES[1]:
            queries = arms(self.config.queries)
            query = yield One(SEARCHER, terse=f"{SEARCHER}: {kind}", moves=queries)
            if kind == HARD:
                known = FOUND if query == "a0" else MISSED
        said, right = (yield One(ANSWERER, terse=f"{ANSWERER}: {known}", moves=answers)), "a0"
        if known not in (EASY, FOUND):
            right = yield One(CHANCE, terse=f"{CHANCE}: {kind}", moves=answers)
        self.right = said == right
        yield Pay(dict.fromkeys(TEAM, float(self.right)))

    def outcome(self) -> dict[str, float]:
        return {"success": float(self.right)}


raw_env, env = world(SearchTeam, "a router, a searcher, an answerer", kind="mixed", seats=4)


def starts(
    easy_search: float = 0.05, knows: float = 0.9, reads: float = 0.5, answers: int = 4
) -> dict[str, dict[str, float]]:
    """Return the logits that the team starts with; what is not named starts uniform."""
    found = {f"{ROUTER}: {EASY}": {ROUTES[0]: 0.0, ROUTES[1]: _logit(easy_search)}}
    for known, odds in ((EASY, knows), (FOUND, reads)):
        logits = dict.fromkeys(arms(answers), 0.0)
        found[f"{ANSWERER}: {known}"] = logits | {"a0": _logit(odds) + log(answers - 1)}
    return found


def _logit(odds: float) -> float:
    return log(odds / (1 - odds))
