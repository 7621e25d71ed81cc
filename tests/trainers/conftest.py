"""Runs with the tiny model, for the tests of the loop, the learner and the checkpoints."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from coevo.agents.population import PastSelves
from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.config import assign
from coevo.envs.rewards import REWARDS
from coevo.trainers.algorithms import algorithm
from coevo.trainers.components import Gae, SeatEma
from coevo.trainers.config import TrainConfig
from coevo.trainers.learners.settings import EmaMagnet, ValueCritic
from coevo.trainers.losses import Policy
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.steps import policy_gradient
from tests.trainers.forks import server
from tests.trainers.kuhn_rewards import Share, Won

GUIDED = SamplingConfig(guided="choice", max_new_tokens=8)
"""Replies of a model that knows nothing are moves, too."""
LEAGUE = {
    "population": PastSelves(every=2, size=2, latest=0.4),
    "advantage.credit": Gae(level="turn"),
    "advantage.baseline": SeatEma(),
    "critic": ValueCritic(lr=0.01),
    "optim.epochs": 2,
    "optim.minibatches": 2,
}
"""A pool, running means and a critic: everything that a checkpoint has to keep beside weights."""


@pytest.fixture
def config(tiny_model_dir):
    """Make a configuration of a small run: `config(algorithm, changes, **settings)`."""

    def make(name="mars", changes=None, **settings):
        record = assign(
            algorithm("mars"), {"collect.episodes": 8, "ema": 0.9, "magnet": EmaMagnet()}
        )
        if name == "league":
            plain = {"loss.regularise": (), "magnet": None, "ema": 0.0}
            record = assign(record, plain | LEAGUE)
        elif name != "mars":
            record = algorithm(name)
            group = record.collect.group_size
            changes = {"collect.episodes": -(-8 // group) * group, **(changes or {})}
        usual = TrainConfig(
            algorithm=assign(record, changes or {}),
            env="coevo/kuhn_poker-v0",
            env_options={"prompt_style": "terse"},
            model=str(tiny_model_dir),
            sampling=GUIDED,
            steps=4,
            checkpoint_every=2,
            probe_every=2,
            device="cpu",
            threads=1,
        )
        return replace(usual, **settings)

    return make


@pytest.fixture(scope="session")
def forks(tmp_path_factory):
    """Return what runs programs in forks of one process; see `tests/trainers/forks.py`."""
    with server(tmp_path_factory.mktemp("forks") / "errors") as run:
        yield run


@pytest.fixture
def kuhn_rewards(monkeypatch):
    """Register the rewards that Kuhn poker does not have of its own."""
    for module in (Won, Share):
        monkeypatch.setitem(REWARDS, module.name, module)


@pytest.fixture
def learn_batch():
    """Credit a batch and learn from it: what the steps score, credit and update do in a run."""

    def run(algorithm, learners, batch, state, *, rate, seed):
        batch = policy_gradient.scored(algorithm, learners, batch)
        batch, kept, seen = policy_gradient.with_advantages(
            algorithm, learners, batch, state, rate=rate
        )
        metrics, after = policy_gradient.learn(
            algorithm, learners, [(Policy(), batch)], kept, rate=rate, seed=seed
        )
        return SimpleNamespace(batch=batch, metrics=seen | metrics, state={**kept, **after})

    return run


@pytest.fixture
def folder(tmp_path):
    """Make the folder of a run: `folder(config, name)`."""

    def make(config, name="run"):
        made = RunFolder(tmp_path / name)
        made.create(config)
        return made

    return make
