"""Numbers that other libraries computed; `write_oracles.py` says how."""

import json
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def oracles():
    return json.loads((Path(__file__).parent / "oracles.json").read_text(encoding="utf-8"))


@pytest.fixture
def rng():
    return np.random.default_rng(0)
