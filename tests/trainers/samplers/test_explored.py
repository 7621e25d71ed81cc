"""Tasks that an explorer writes: what is kept, what is drawn, and what a stop remembers."""

import pytest

from coevo.benchmarks.reproductions.claims.explored_errands import NAMES, POSSIBLE, Errands
from coevo.envs import make
from coevo.envs.core.config import read
from coevo.envs.core.errors import ConfigError, DataError
from coevo.trainers.collect.collect_config import CollectConfig
from coevo.trainers.samplers.curriculum import Source

QUEST = "coevo/quest-v0"
POSSIBLE_GOALS = {(thing, NAMES[at]) for thing, at in POSSIBLE}


def started(env=Errands.env_id, options=None, tasks=0, **settings):
    curriculum = {"name": "explored", "walks": 100, **settings}
    given = {"group_size": 4, "curriculum": curriculum, "tasks": tasks}
    spec = read(CollectConfig, given)
    sources = {env: Source(make(env, **(options or {})), 1.0, "errands")}
    return spec.curriculum.start(sources, spec, 0)


def goals(tasks):
    return [tuple(w.options["goal"]) for w in tasks.written]


def test_what_is_kept_is_possible_and_new():
    tasks = started()
    tasks.propose(0, 4)
    assert len(set(goals(tasks))) == len(tasks.written) > 3
    assert set(goals(tasks)) <= POSSIBLE_GOALS
    assert tasks.metrics()["curriculum/written"] == len(tasks.written)


def test_without_checks_all_that_was_written_stays():
    tasks = started(alike=2.0, checked=False)
    tasks.propose(0, 4)
    assert len(set(goals(tasks))) < len(tasks.written)
    assert not set(goals(tasks)) <= POSSIBLE_GOALS


def test_a_reference_solves_its_task_in_a_house():
    tasks = started(QUEST, {"steps": 2, "cap": 10}, starts=2)
    tasks.propose(0, 4)
    assert {w.seed for w in tasks.written} != set() and len(tasks.written) > 3
    for written in tasks.written:
        env = make(QUEST, steps=2, cap=10)
        env.reset(seed=written.seed, options=dict(written.options))
        assert len(env.task.errands) == len(written.options["errands"])
        for move in written.reference:
            env.step(f"[{move}]")
        assert env.episode.total("explorer_0", "payoff") == 1.0


def test_a_share_plays_tasks_as_they_come():
    tasks = started(own=0.5)
    found = tasks.propose(3, 8)
    assert [bool(p.options) for p in found] == [True] * 4 + [False] * 4
    assert all(p.episodes == 4 for p in found)


def test_a_list_of_tasks_counts_its_own_alone():
    tasks = started(own=0.5, tasks=8)
    tasks.observe([(p, [1.0] * 4) for p in tasks.propose(0, 4)], 0)
    assert tasks.history.state_dict()


def test_a_stop_forgets_nothing():
    tasks, again = started(), started(walks=1, moves=1)
    tasks.propose(0, 4)
    again.load_state_dict(tasks.state_dict())
    assert again.propose(1, 5) == tasks.propose(1, 5)
    with pytest.raises(DataError, match="not the state of explored tasks"):
        again.load_state_dict({**tasks.state_dict(), "written": [1]})


def test_an_environment_that_writes_no_tasks_is_refused():
    with pytest.raises(ConfigError, match=r"needs `Task\.achieved`"):
        started("coevo/kuhn_poker-v0").propose(0, 2)
    with pytest.raises(ConfigError, match="lists no moves"):
        started("coevo/debate-v0").propose(0, 2)


def test_errands_of_a_reset_must_be_in_the_house():
    env = make(QUEST)
    with pytest.raises(ConfigError, match="must be one of lamp"):
        env.reset(seed=0, options={"errands": [["sofa", "kitchen"]]})
