"""Makes the scripts of studies importable: they are in no package."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "studies"))


@pytest.fixture
def rng():
    return np.random.default_rng(0)
