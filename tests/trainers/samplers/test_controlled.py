"""Levels that follow the success, environments that retire, and stages of difficulty."""

import numpy as np
import pytest

from coevo.envs import make
from coevo.envs.core.config import read
from coevo.envs.core.errors import ConfigError
from coevo.trainers.collect.collect_config import CollectConfig
from coevo.trainers.samplers.curriculum import Source

QUESTIONS = {"name": "word_problems", "task": "sums"}


def sources(count=3):
    env = make("coevo/debate-v0", questions=QUESTIONS)
    return {f"e{k}": Source(env, 1.0, f"e{k}") for k in range(count)}


def tasks(count=3, collect=None, **settings):
    given = {"group_size": 2, "curriculum": {"name": "controlled", **settings}}
    return read(CollectConfig, given | (collect or {}))


def started(count=3, **settings):
    spec = tasks(**settings)
    return spec.curriculum.start(sources(count), spec, 0)


def seen(found, success):
    return [(p, [success] * p.episodes) for p in found]


def test_levels_lie_around_their_mean_and_follow_the_success():
    made = started(1, first=1.25)
    levels = made.by_level.difficulties["e0"]
    found = made.propose(0, 8)
    assert sorted(levels.index(p.options["difficulty"]) for p in found) == [1] * 6 + [2] * 2
    made.observe(seen(found, 1.0), 0)
    assert made.active["e0"].d == 2.25
    made.observe(seen(made.propose(1, 8), 0.25), 1)
    assert made.active["e0"].d == 1.75 and made.metrics()["curriculum/level"] == 1.75
    assert made.metrics()[f"level/e0/{levels[2]:.3g}/success"] == 0.25


@pytest.mark.parametrize(("success", "updates"), [(0.0, 3), (1.0, 8), (0.5, 4)])
def test_who_has_nothing_to_teach_gives_way_to_one_that_never_played(success, updates):
    slope = 4 if success == 0.5 else 50
    made = started(3, window=1, failures=3, tops=3, slope=slope)
    active = []
    for step in range(4 * updates):
        active.append(next(iter(made.active)))
        made.observe(seen(made.propose(step, 2), success), step)
    assert [active.count(f"e{k}") for k in range(2)] == [updates, updates]
    assert active[-1] == "e2" and made.waiting == [], "the last one stays: none waits"


def test_a_stop_forgets_nothing():
    made, again = started(), started()
    for step in range(3):
        made.observe(seen(made.propose(step, 6), float(np.round(step / 2))), step)
    again.load_state_dict(made.state_dict())
    assert again.propose(3, 9) == made.propose(3, 9) and again.metrics() == made.metrics()


def test_stages_draw_every_open_level_alike():
    for share, count in ((0.0, 1), (0.5, 4), (1.0, 7)):
        spec = read(CollectConfig, {"group_size": 2, "up_to": share})
        made = spec.curriculum.start(sources(1), spec, 0)
        levels = made.by_level.difficulties["e0"]
        drawn = {p.options["difficulty"] for p in made.propose(0, 100)}
        assert drawn == set(levels[:count])


@pytest.mark.parametrize(
    ("collect", "message"),
    [
        ({"curriculum": "controlled", "up_to": 0.5}, "collect.up_to=0.5 and collect.curriculum=co"),
        ({"curriculum": "controlled", "tasks": 5}, "collect.tasks=5 plays a fixed list"),
        ({"up_to": 0.5, "tasks": 5}, "collect.up_to=0.5 and collect.tasks=5 both decide"),
    ],
)
def test_what_contradicts_itself_is_refused(collect, message):
    with pytest.raises(ConfigError, match=message):
        read(CollectConfig, collect)


@pytest.mark.parametrize("collect", [{"curriculum": "controlled"}, {"up_to": 0.5}])
def test_an_environment_without_levels_is_refused(collect):
    spec = read(CollectConfig, collect)
    kuhn = {"coevo/kuhn_poker-v0": Source(make("coevo/kuhn_poker-v0"), 1.0, "kuhn")}
    with pytest.raises(ConfigError, match="kuhn_poker-v0 has no levels of difficulty"):
        spec.curriculum.start(kuhn, spec, 0).propose(0, 2)
