"""Schedules: which numbers may move, who follows them, and that a stop changes nothing."""

from dataclasses import replace

import pytest
import torch

from coevo.envs import make
from coevo.envs.core.errors import CoevoError, ConfigError
from coevo.envs.rewards.mode_cost import ModeCost
from coevo.envs.rewards.payoff import SharedPayoff
from coevo.trainers import loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.collect.collect_config import CollectConfig
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.samplers.levels import Levels
from coevo.trainers.schedules import Cosine, Linear, Steps

MOVING = {
    "schedules": {
        "optim.rate": Linear(to=0.0, over=4),
        "loss.surrogate.eps_hi": Steps(values=(0.3, 0.4), every=1),
        "collect.episodes": Steps(values=(6, 8), every=1),
        "collect.options.max_cycles": Steps(values=(2, 3), every=1),
    },
    "collect.options": {"max_cycles": 1},
    "collect.episodes": 4,
    "collect.group_size": 2,
    "optim.warmup": 0,
}


def test_a_setting_moves_away_from_its_own_value_and_keeps_its_kind():
    record = algorithm("grpo", None, MOVING)
    found = [record.after(step, 0.0) for step in range(4)]
    assert [a.optim.rate for a in found] == [1.0, 0.75, 0.5, 0.25]
    assert [a.loss.surrogate.eps_hi for a in found] == [0.2, 0.3, 0.4, 0.4]
    assert [a.collect.episodes for a in found] == [4, 6, 8, 8]
    assert [a.collect.options["max_cycles"] for a in found] == [1, 2, 3, 3]
    whole = algorithm("grpo", None, {"schedules": {"optim.rate": Cosine(to=0.5)}})
    assert [whole.after(9, done).optim.rate for done in (0.0, 1.0)] == [1.0, 0.5]
    assert algorithm("grpo").after(9, 0.5) == algorithm("grpo")


@pytest.mark.parametrize(
    ("path", "to", "message"),
    [
        ("optim.rat", 0.5, "unknown setting of optim 'rat'; did you mean 'rate'"),
        ("optim.rate", -1.0, "rate=-1.0 must be greater"),
        ("loss.anchor", 0.5, "'old' is no number"),
        ("optim.fused", 0.5, "False is no number"),
        ("ema", 0.5, "ema is read when a run starts"),
        ("collect.tasks", 5, "collect.tasks is read when a run starts"),
        ("optim.token_budget", 5, "optim.token_budget is read when a run starts"),
        ("collect.episodes", 1024, "linear passes numbers that do not; name its values with steps"),
    ],
)
def test_what_cannot_move_is_refused(path, to, message):
    with pytest.raises(CoevoError, match=message):
        algorithm("grpo", None, {"schedules": {path: {"name": "linear", "to": to}}})


def test_a_run_follows_its_schedules_and_a_stop_changes_nothing(config, tmp_path, folder):
    given = config("grpo", MOVING, steps=4, checkpoint_every=1)
    seen = []
    run = loop.start(given, folder(given, "straight"))
    for done in loop.updates(run):
        (learner,) = run.learners.values()
        rows = [len(e.turns) for e in done.episodes]
        seen.append(
            (done.metrics["lr"], len(rows), max(rows), learner.algorithm.loss.surrogate.eps_hi)
        )
    assert [s[0] for s in seen] == pytest.approx([1e-3, 7.5e-4, 5e-4, 2.5e-4])
    assert [s[1] for s in seen] == [4, 6, 8, 8]
    assert [s[2] for s in seen][:2] == [1, 2] and seen[3][2] <= 3
    assert [s[3] for s in seen] == [0.2, 0.3, 0.4, 0.4]
    stopped = folder(given, "stopped")
    loop.train(replace(given, steps=2), stopped)
    again = loop.train(given, stopped)
    for name, learner in run.learners.items():
        for a, b in zip(
            learner.model.parameters(), again.learners[name].model.parameters(), strict=True
        ):
            assert torch.equal(a, b)


def test_a_reset_bounds_the_rounds_of_its_episode_alone():
    env = make("coevo/iterated_game-v0")
    for options, most in (({"max_cycles": 2}, 2), ({}, None)):
        env.reset(seed=1, options=options)
        assert env.episode.options.get("max_cycles") == most
    for bad in (0, 2.0, True, "2"):
        with pytest.raises(ConfigError, match=r"max_cycles=.* of a reset must be a whole number"):
            env.reset(seed=1, options={"max_cycles": bad})


def test_levels_of_difficulty_have_statistics_of_their_own():
    levels = Levels({"a": (0.0, 0.5, 1.0), "b": ()})
    levels.observe([("a", {"difficulty": 0.45}, 1.0), ("a", {"difficulty": 0.5}, 0.0)])
    levels.observe([("a", {"difficulty": 1}, 1.0), ("a", {}, 1.0), ("b", {"difficulty": 1}, 1.0)])
    assert levels.metrics() == {"level/a/0.5/success": 0.5, "level/a/1/success": 1.0}
    assert levels.success("a", 0.0) is None and levels.success("a", 1.0) == 1.0
    again = Levels({"a": (0.0, 0.5, 1.0)})
    again.load_state_dict(levels.state_dict())
    assert again.metrics() == levels.metrics()


def test_a_run_logs_its_success_by_level(config, tmp_path):
    source = {"name": "word_problems", "task": "sums"}
    given = config(
        "grpo",
        {"collect.options": {"difficulty": 0.5}},
        env="coevo/debate-v0",
        env_options={"questions": source},
        steps=1,
    )
    (done,) = loop.updates(loop.start(given, RunFolder(tmp_path)))
    assert done.metrics["level/coevo/debate-v0/0.5/success"] == 0.0


def test_a_level_falls_where_nothing_succeeds_in_the_range_of_the_environment(config, tmp_path):
    given = config(
        "scaler",
        {"collect.curriculum.first": 3.0, "collect.episodes": 8},
        env="coevo/debate-v0",
        env_options={"rounds": 1, "questions": {"name": "word_problems", "task": "sums"}},
        steps=1,
    )
    (done,) = loop.updates(loop.start(given, RunFolder(tmp_path)))
    assert (done.metrics["outcome/accuracy"], done.metrics["curriculum/level"]) == (0.0, 2.0)


@pytest.mark.parametrize(
    ("changes", "paid", "expected"),
    [
        ({}, (-2.0, 2.0), (-2.0, 2.0)),
        ({"high": 0.5}, (0.0, 1.0), (0.0, 0.5)),
        ({"component": "f1"}, (0.0, 9.0), (-1.0, 1.0)),
        ({"component": "f1", "low": 0.0}, (0.0, 9.0), (0.0, 1.0)),
        ({}, (0.0, 0.0), (-1.0, 1.0)),
    ],
)
def test_success_is_counted_between_what_can_be_paid_and_what_is_set(changes, paid, expected):
    assert CollectConfig(**changes).success_range(paid) == expected


def test_success_in_another_component_is_counted_between_what_its_modules_say():
    paid = (0.0, 9.0)
    assert CollectConfig(component="mode_cost").success_range(paid, [ModeCost()]) == (-0.3, 0.0)
    assert CollectConfig(component="other").success_range(paid, [ModeCost()]) == (-1.0, 1.0)
    endless = CollectConfig(component="payoff_team").success_range(paid, [SharedPayoff()])
    assert endless == (-1.0, 1.0)


def test_a_range_of_success_that_is_empty_is_refused_before_a_run(config, tmp_path):
    given = config("grpo", {"collect.low": 2.5})
    with pytest.raises(ConfigError, match=r"collect.low=2.5 must be below collect.high=2"):
        loop.start(given, RunFolder(tmp_path))
