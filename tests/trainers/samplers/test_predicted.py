"""Tasks that are chosen by the risk that is predicted for them."""

import numpy as np
import pytest

from coevo.benchmarks.reproductions.claims.mpts_risk import AngleBandit, moves
from coevo.envs import make
from coevo.envs.core.config import read
from coevo.envs.core.errors import DataError
from coevo.trainers.collect.collect_config import CollectConfig
from coevo.trainers.samplers.curriculum import Source
from coevo.trainers.samplers.predicted import posterior


def started(**settings):
    curriculum = {"name": "predicted", "warmup": 1, **settings}
    spec = read(CollectConfig, {"group_size": 4, "curriculum": curriculum})
    sources = {AngleBandit.env_id: Source(make(AngleBandit.env_id), 1.0, "angles")}
    return spec.curriculum.start(sources, spec, 0)


def number(tasks, proposal):
    env = tasks.sources[proposal.env].env.fresh()
    env.reset(seed=proposal.seed)
    return env.task.number


def played(tasks, steps, groups=20):
    for step in range(steps):
        found = tasks.propose(step, groups)
        risks = [1 - 1 / moves(number(tasks, p)) for p in found]
        tasks.observe([(p, [1 - r] * 4) for p, r in zip(found, risks, strict=True)], step)
    return tasks


def test_tasks_with_a_high_predicted_risk_are_played():
    tasks = played(started(explore=0.0, candidates=4.0), 4)
    chosen = [number(tasks, p) for p in tasks.propose(4, 10)]
    usual = [number(tasks, p) for p in started(warmup=99).propose(4, 40)]
    assert len(chosen) == 10 and set(chosen) <= set(usual)
    assert np.mean([moves(k) for k in chosen]) > np.mean([moves(k) for k in usual]) + 3
    assert tasks.metrics()["curriculum/rank_correlation"] > 0.5


def test_before_there_is_anything_to_predict_tasks_are_played_as_they_come():
    tasks, usual = started(warmup=3), started(warmup=99)
    assert tasks.propose(0, 5) == usual.propose(0, 5)
    assert "curriculum/rank_correlation" not in tasks.metrics()


def test_a_stop_forgets_nothing_and_the_window_is_kept():
    tasks, again = played(started(window=30), 3), started(window=30)
    assert len(tasks.seen) == 30
    again.load_state_dict(tasks.state_dict())
    assert again.propose(3, 5) == tasks.propose(3, 5)
    with pytest.raises(DataError, match="not the state of predicted tasks"):
        again.load_state_dict({**tasks.state_dict(), "seen": [1]})


def test_far_from_what_is_known_the_deviation_is_that_of_all_risks():
    x_KF = np.array([[0.0], [0.1], [5.0]])
    mean_M, std_M = posterior(x_KF, np.array([0.2, 0.2, 0.8]), np.array([[0.05], [50.0]]), 0.01)
    assert mean_M.tolist() == pytest.approx([0.2, 0.4], abs=0.01)
    assert std_M[0] < 0.02 and std_M[1] == pytest.approx(np.std([0.2, 0.2, 0.8]))
