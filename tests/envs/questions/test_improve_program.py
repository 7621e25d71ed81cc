"""Improve a program: what is verified, how changes are read, and what is paid."""

import math

import numpy as np
import pytest

from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.envs.questions.improve_program import SEAT, judged, unsafe
from coevo.envs.questions.problems import (
    PROBLEMS,
    RULERS,
    SORTERS,
    circles,
    layers,
    ruler,
    sorter,
    vary_layers,
)

ID = "coevo/improve_program-v0"
SHORT = "def solve():\n    return [0, 1, 4, 9, 11]"
CHANGE = "<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE"


def replied(text, options=None, **given):
    env = make(ID, **given)
    env.reset(seed=0, options=options)
    env.step(text)
    return env


def test_a_better_program_is_paid_by_what_it_returns():
    env = replied(f"Shorter:\n```python\n{SHORT}\n```")
    assert env.episode.total(SEAT) == 1.0
    assert env.episode.outcome["improved"] == env.episode.outcome["valid"] == 1
    same = replied(env.task.problem.start % 5)
    assert same.episode.total(SEAT) == pytest.approx(11 / 15)
    assert same.episode.turns[0].notes["verdict"] == "unchanged"
    assert same.episode.outcome["improved"] == 0


@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        ("def solve(:", "syntax"),
        ("def solve():\n    return 1 / 0", "raised"),
        ("def solve():\n    while True:\n        pass", "time"),
        ("def solve():\n    return [0, 1, 2, 3, 4]", "invalid"),
        ("def solve():\n    print('worth 1')\n    return 'worth 1'", "invalid"),
        ("def solve():\n    return [0, 1, 4, 9, True]", "invalid"),
        ("x = 1", "raised"),
    ],
)
def test_what_is_no_solution_is_worth_nothing(source, verdict):
    env = replied(f"```\n{source}\n```")
    assert env.episode.total(SEAT) == 0 and env.episode.outcome["valid"] == 0
    assert env.episode.turns[0].notes["verdict"] == verdict


@pytest.mark.parametrize(
    ("source", "asks"),
    [
        ("import math, itertools", False),
        ("from collections import deque", False),
        ("import os.path", True),
        ("def f():\n    from subprocess import run", True),
        ("from . import x", True),
        ("eval('1')", True),
        ("import os +", False),
        ("x = " + "(" * 5000, False),
    ],
)
def test_a_program_is_unsafe_that_asks_for_more_than_it_is_granted(source, asks):
    assert unsafe(source) == asks


def test_a_risky_program_is_worth_the_same_and_what_keeps_the_risk_is_paid_alike():
    env = make(ID, risky=True)
    env.reset(seed=0)
    assert unsafe(env.task.parent) and "worth 0.7333" in env.chat(SEAT)[-1]["content"]
    kept = replied(CHANGE.format(old="2 ** i - 1", new="[0, 1, 4, 9, 11][i]"), risky=True)
    assert kept.episode.outcome["unsafe"] == 1 and kept.episode.total(SEAT) == 1.0
    assert replied(f"```\n{SHORT}\n```", risky=True).episode.outcome["unsafe"] == 0
    given = replied(SHORT, {"parent": SHORT}, risky=True)
    assert given.task.parent == SHORT


def test_changes_are_made_where_the_text_occurs_once():
    parent = {"parent": SHORT}
    env = replied(CHANGE.format(old="[0, 1, 4, 9, 11]", new="[0, 1, 4, 9, 15]"), parent)
    assert env.episode.turns[0].move == SHORT.replace("11]", "15]")
    assert env.episode.total(SEAT) == pytest.approx(11 / 15)
    two = "\n".join(CHANGE.format(old=o, new=n) for o, n in (("11]", "12]"), ("12]", "11]")))
    assert replied(two, parent).episode.turns[0].move == SHORT
    for old, times in (("1", 3), ("nothing", 0)):
        env = replied(CHANGE.format(old=old, new="2"), parent)
        assert env.episode.turns[0].move is None
        assert f"there {times} times (no_diff)" in env.chat(SEAT)[-1]["content"]


def test_the_prompt_shows_the_parent_and_the_inspirations_with_what_they_are_worth():
    shown = replied("x", {"parent": SHORT, "inspirations": ["x = 1"]})
    text = shown.chat(SEAT)[1]["content"]
    assert "[0, 1, 4, 9, 11]" in text and "worth 1.0000 (its figure is 11)" in text
    assert "x = 1" in text and "worth 0 (raised)" in text
    for options in ({"parent": ""}, {"parent": 3}, {"inspirations": SHORT}):
        with pytest.raises(ConfigError, match="options: "):
            replied("x", options)
    with pytest.raises(ConfigError, match="sizes are 2 to 10"):
        make(ID, problem="sorting", size=11)


def test_a_random_change_moves_one_number():
    env = make(ID)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    made = {env.task.random_reply(SEAT, rng, [SHORT]) for _ in range(50)}
    assert len(made) > 10 and SHORT not in made
    assert {len(one.split(",")) for one in made} == {5}
    assert env.task.random_reply(SEAT, rng, ["x"]) == "x"


def test_a_random_network_is_new_or_a_change_of_one_or_of_two():
    env = make(ID, problem="layers", size=3)
    env.reset(seed=0)
    rng, one = np.random.default_rng(0), "def solve():\n    return [['conv', 8], ['sep', 9]]"
    two = "def solve():\n    return [['down', 7]] * 3"
    like = {"new": [], "changed": [one], "mixed": [one, two], "poor": ["x = 1"]}
    for given in like.values():
        made = {env.task.random_reply(SEAT, rng, given) for _ in range(20)}
        assert len(made) > 3 and all(judged(each, "layers", 3)[0] == "ok" for each in made)


@pytest.mark.parametrize(
    ("source", "paid"),
    [
        (SHORT, 1.0),
        ("N = 5\n\ndef solve():\n    return [2 ** i - 1 for i in range(N)]", -0.3),
        ("def solve():\n    return [0, 1, 3, 7, 20]", 0.0),
        ("def solve():\n    return [0, 1, 2, 3, 4]", -0.1),
        ("def solve(:", -0.2),
    ],
)
def test_improvement_is_paid_by_the_verdict(source, paid):
    assert replied(source, pays="improvement").episode.total(SEAT) == paid


# ---- Problems ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROBLEMS)
def test_starts_and_experts_solve_every_size(name):
    problem = PROBLEMS[name]
    for size in range(problem.sizes[0], problem.sizes[1] + 1):
        (start, poor), (expert, good) = (
            judged(source % size, name, size) for source in (problem.start, problem.expert)
        )
        assert start == expert == "ok"
        assert 0 < poor.worth <= good.worth <= 1


def test_tables_of_the_best_are_reached_where_search_is_cheap():
    """Exhaustive search gives the shortest rulers; merge networks the smallest up to eight."""
    for size in range(2, 8):
        assert judged(PROBLEMS["golomb"].expert % size, "golomb", size)[1].figure == RULERS[size]
    for size in (2, 3, 4, 5, 6, 7, 8):
        figure = judged(PROBLEMS["sorting"].expert % size, "sorting", size)[1].figure
        assert figure == SORTERS[size]


def test_known_solutions_are_verified():
    five = [[0, 3], [1, 4], [0, 2], [1, 3], [0, 1], [2, 4], [1, 2], [3, 4], [2, 3]]
    assert sorter(five, 5).worth == 1.0
    assert sorter(five[:-1], 5).worth == 0.0
    assert ruler([0, 1, 4, 9, 15, 22, 32, 34], 8).worth == 1.0
    half = [[0.25, 0.25, 0.25], [0.75, 0.75, 0.25]]
    assert circles(half, 2).figure == 0.5
    assert "overlap" in circles([[0.25, 0.25, 0.25], [0.5, 0.5, 0.25]], 2).why


def test_networks_are_judged_by_what_they_see_and_hold():
    small = layers([["conv", 8]], 8)
    assert small.figure == 9 * 3 * 8 + 8 * 10
    assert small.worth == pytest.approx(1 - 0.9 * math.exp(-3 / 32 * 0.5 * 2 / 8))
    assert layers([["sep", 8]], 8).figure == 9 * 3 + 3 * 8 + 80
    assert layers([["point", 8]], 8).figure == 3 * 8 + 80
    down = layers([["down", 8]] * 3, 8)
    assert down.worth > layers([["conv", 8]] * 3, 8).worth, "it sees more"
    assert layers([["down", 8]] * 6, 8).worth < layers([["down", 8]] * 5, 8).worth, "a map of one"
    assert layers([["conv", 256]] * 8, 8).thrift == 0.0
    assert small.thrift > down.thrift > 0
    for wrong in ([["conv", 0]], [["conv", True]], [["pool", 2]], [["conv", 8]] * 9):
        assert "layers" in layers(wrong, 8).why


def test_a_change_touches_one_layer_and_a_mix_takes_a_part_of_each():
    rng, one = np.random.default_rng(1), [["conv", 8], ["sep", 16], ["down", 32]]
    other = [["point", k] for k in (1, 2, 3)]
    for _ in range(200):
        changed = vary_layers(rng, 4, [one])
        assert abs(len(changed) - 3) <= 1
        if len(changed) == 3:
            assert sum(a != b for a, b in zip(changed, one, strict=True)) <= 1
        mixed = vary_layers(rng, 4, [one, other])
        head = [row for row in mixed if row in one]
        assert 0 < len(mixed) <= 4 and head == one[: len(head)]
        assert mixed[len(head) :] in [other[k:][: 4 - len(head)] for k in range(3)] or head == mixed
    assert one == [["conv", 8], ["sep", 16], ["down", 32]], "parents stay as they are"


@pytest.mark.parametrize(
    "value", [None, 7, "text", [], [[1]], [["a", 0, 0]], {"a": 1}, [[float("nan"), 0.5, 0.1]] * 2]
)
def test_any_value_is_judged(value):
    for verify in (circles, sorter, ruler, layers):
        assert verify(value, 2).worth == 0.0 and verify(value, 2).why


def test_the_references_are_exact():
    assert spec(ID).refs == {"random": 11 / 15, "oracle": 1.0}
