import itertools

import numpy as np
import pytest

from coevo.agents import ExpertAgent, RandomAgent
from coevo.benchmarks.evaluate import evaluate
from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.envs.societies.herding import (
    HerdCosts,
    best_line,
    informative,
    planner_reward,
    stage,
    updated,
)

ID = "coevo/steering-v0"
GRID = (0.6, 0.7, 0.8, 0.9, 1.0)


def test_beliefs_move_by_bayes_rule_and_on_average_not_at_all():
    for b, q in itertools.product((0.2, 0.5, 0.7), (0.6, 0.8, 0.95)):
        up, down = updated(b, q)
        good = q * b + (1 - q) * (1 - b)
        assert up == pytest.approx(q * b / (1 + 2 * b * q - b - q))
        assert down == pytest.approx((1 - q) * b / (b + q - 2 * b * q))
        assert good * up + (1 - good) * down == pytest.approx(b)


def test_agents_follow_signals_only_where_these_can_change_their_mind():
    assert informative([0.39, 0.4, 0.6, 0.61], 0.6).tolist() == [False, True, True, False]
    herd, follow = stage(0.8, 0.6), stage(0.5, 0.6)
    assert (herd.good, herd.wrong) == pytest.approx((1, 0.2))
    assert (follow.good, follow.wrong) == pytest.approx((0.5, 0.4))


def value_iteration(costs, beliefs, precisions, discount, sweeps=200):
    """Return the planner's value and best precision at each belief, for an endless line of agents.

    Values between beliefs are interpolated; of equal precisions the lowest is taken.
    """
    b, q = beliefs[:, None], precisions[None, :]
    now, good = planner_reward(costs, b, q), stage(b, q).good
    up, down = updated(b, q)
    follows = informative(b, q)
    up, down = np.where(follows, up, b), np.where(follows, down, b)
    value = np.zeros(len(beliefs))
    for _ in range(sweeps):
        later = good * np.interp(up, beliefs, value) + (1 - good) * np.interp(down, beliefs, value)
        each = now + discount * later
        value = each.max(axis=1)
    best = (each >= value[:, None] - 1e-9).argmax(axis=1)
    return value, precisions[best]


@pytest.fixture(scope="module")
def endless():
    beliefs = np.linspace(0, 1, 201)
    costs = HerdCosts(precision_cost=6.0)
    return beliefs, *value_iteration(costs, beliefs, np.linspace(0.5, 1, 201), 0.9)


def test_the_altruistic_optimum_has_the_papers_three_phases(endless):
    beliefs, _, best = endless
    for b, q in zip(beliefs[:101], best[:101], strict=True):
        if b < 0.09 - 1e-9:
            assert q == pytest.approx(0.6)
        elif 0.095 < b < 0.155:
            assert q == pytest.approx(1 - b, abs=1e-6)
        elif b > 0.165:
            assert q == 1
    assert best == pytest.approx(best[::-1])


def test_steering_is_never_worse_than_leaving_the_herd_alone(endless):
    beliefs, value, best = endless
    alone = -np.minimum(beliefs, 1 - beliefs) / (1 - 0.9)
    assert (value >= alone - 1e-6).all()
    assert value[best == 1] == pytest.approx(-6 * 0.4**2)  # once, and then everybody knows


def test_a_finite_line_is_planned_as_well_as_all_plans_allow():
    """Every plan of three steps that may depend on the actions, by brute force."""
    costs, grid = HerdCosts(precision_cost=6.0), (0.6, 0.75, 0.9)

    def worth(b, left):
        if not left:
            return 0.0
        values = []
        for q in grid:
            good = float(stage(b, q).good)
            up, down = map(float, updated(b, q)) if informative(b, q) else (b, b)
            later = good * worth(up, left - 1) + (1 - good) * worth(down, left - 1)
            values.append(float(planner_reward(costs, b, q)) + later)
        return max(values)

    for b in (0.15, 0.5, 0.62):
        assert best_line(costs, b, 3, grid).planner == pytest.approx(worth(b, 3))


def test_a_biased_planner_costs_the_citizens_errors():
    kind = best_line(HerdCosts(), 0.5, 6, GRID)
    biased = best_line(HerdCosts(planner="biased"), 0.5, 6, GRID)
    assert kind.errors == pytest.approx(1.464, abs=1e-6)
    assert biased.errors > 1.25 * kind.errors


def test_references_and_the_expert_reaches_the_optimum():
    refs, line = spec(ID).refs, best_line(HerdCosts(), 0.5, 6, GRID)
    assert refs["oracle"] == pytest.approx((line.planner - line.errors) / 7)
    random = float(HerdCosts().of_precision(GRID).mean()) + 0.5
    assert refs["random"] == pytest.approx(-6 * (random + 0.5) / 7)
    found = evaluate(ExpertAgent(1.0), ID, None, 200)
    assert found.value == pytest.approx(refs["oracle"], abs=0.12)
    assert found.seats["planner_0"].value == pytest.approx(line.planner, abs=0.4)
    assert evaluate(RandomAgent(), ID, None, 100).value == pytest.approx(refs["random"], abs=0.2)


def test_signals_are_right_as_often_as_the_planner_says():
    env, right = make(ID, citizens=12), []
    for seed in range(60):
        env.reset(seed=seed)
        while env.awaiting:
            if env.agent_selection == "planner_0":
                env.step("[0.8]")
            else:
                right.append((env.task.signal == "good") == env.task.good)
                env.step("[good]")
    assert np.mean(right) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("style", ["full", "terse"])
def test_the_state_and_the_signals_of_others_stay_hidden(style):
    """Episodes that differ in state and luck, but not in actions, look alike to the planner."""

    def seen(seed):
        env = make(ID, prompt_style=style)
        env.reset(seed=seed)
        for move in ("0.6", "good", "0.9", "bad"):
            env.step(f"[{move}]")
        info = {k: v for k, v in env.infos["planner_0"].items() if k not in ("task_id", "parse")}
        return env.chat("planner_0"), info

    env = make(ID)
    states = {}
    for seed in range(20):
        env.reset(seed=seed)
        states.setdefault(env.task.good, seed)
    assert seen(states[True]) == seen(states[False])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precisions": [0.9, 0.6]}, "rising numbers"),
        ({"precisions": [0.4]}, "precisions"),
        ({"precisions": [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]}, "at most 5"),
        ({"prior": 0}, "prior=0"),
        ({"citizens": 13}, "citizens=13"),
        ({"planner": "wise"}, "planner"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(ConfigError, match=message):
        make(ID, **options)
