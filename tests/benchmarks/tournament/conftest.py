"""Agents whose results are known, and tournaments between them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from coevo.agents import Agent, Reply
from coevo.agents.load import load_agent
from coevo.benchmarks.tournament.plan import Plan
from coevo.benchmarks.tournament.runner import Tournament
from coevo.envs.core.parsing import answer

KUHN, OPENSPIEL = "coevo/kuhn_poker-v0", "coevo/openspiel-v0"
RPS = {"game": "matrix_rps"}


class Always(Agent):
    """Plays the legal move of one place in the list."""

    def __init__(self, place):
        self.place = place

    def act(self, requests):
        return [Reply(answer(r.info["legal_actions"][self.place])) for r in requests]


class Broken(Agent):
    """Raises an error once it has been asked often enough."""

    def __init__(self, after=0):
        self.left = after

    def reseeded(self, seed):
        return self  # one count for all blocks

    def act(self, requests):
        if self.left <= 0:
            raise RuntimeError("server is down")
        self.left -= 1
        return load_agent("random").act(requests)


class Drifting(Agent):
    """Plays randomly from a generator of its own: only `reseed` makes it repeatable."""

    def __init__(self):
        self.reseed(0)

    def reseed(self, seed):
        import numpy as np

        self.rng = np.random.default_rng(seed)

    def act(self, requests):
        legal = [r.info["legal_actions"] for r in requests]
        return [Reply(answer(moves[self.rng.integers(len(moves))])) for moves in legal]


ROCK_PAPER_SCISSORS = {"rock": Always(0), "paper": Always(1), "scissors": Always(2)}


@pytest.fixture
def hold(tmp_path) -> Callable[..., Tournament]:
    """Return a function that plays a tournament between agents, or between scripted names."""
    made = []

    def held(agents, env=KUHN, folder=None, **settings) -> Tournament:
        if not isinstance(agents, dict):
            agents = {name: load_agent(name) for name in agents}
        made.append(agents)
        plan = Plan(agents=tuple(agents), env=env, **{"games": 40} | settings)
        found = Tournament(plan, agents, folder or tmp_path / f"tournament_{len(made)}")
        found.play()
        return found

    return held


def lines(folder: Path) -> list[dict]:
    """Return the plays of a folder."""
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
