"""Runs with judges: a table, a tiny model, and a step that fails once."""

from dataclasses import replace

import pytest

from coevo.trainers.config import TrainConfig
from coevo.trainers.run import start


@pytest.fixture
def run_of(tmp_path, folder):
    """Start a run of an algorithm: `run_of(algorithm, model="table", **settings)`."""

    def make(algorithm, name="run", maker=None, **settings):
        given = TrainConfig(
            algorithm=algorithm,
            env="coevo/assured_answers-v0",
            model="table",
            steps=4,
            checkpoint_every=2,
            probe_every=9,
            episodes_logged=0,
            device="cpu",
            threads=1,
        )
        given = replace(given, **settings)
        return start(given, folder(given, name), maker)

    return make
