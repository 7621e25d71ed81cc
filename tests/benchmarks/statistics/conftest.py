"""Numbers that other libraries computed; `write_oracles.py` says how."""

import json
from pathlib import Path

import numpy as np
import pytest

from coevo.benchmarks.statistics.cross_play import CrossPlay, Game


@pytest.fixture(scope="session")
def oracles():
    return json.loads((Path(__file__).parent / "oracles.json").read_text(encoding="utf-8"))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def from_matrix(agents, wins):
    """Build the games behind a matrix of wins, seats alternating."""
    games = []
    for i, winner in enumerate(agents):
        for j, loser in enumerate(agents):
            for n in range(wins[i][j] if i != j else 0):
                seats = (winner, loser, 1.0) if n % 2 == 0 else (loser, winner, 0.0)
                games.append(Game(*seats, task=len(games)))
    return CrossPlay(tuple(agents), tuple(games))
