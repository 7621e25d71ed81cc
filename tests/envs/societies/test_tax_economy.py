import itertools

import numpy as np
import pytest

from coevo.agents import ExpertAgent
from coevo.benchmarks.evaluate import evaluate
from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.envs.societies.tax_economy import (
    best_labour,
    coins,
    even_output_optimum,
    evenness,
    tax_due,
    welfare_optimum,
)

ID = "coevo/tax_economy-v0"
SKILLS = np.array([1, 1.5, 2, 4])


def play(rates, hours, **options):
    env = make(ID, **options)
    env.reset(seed=0)
    for move in [*rates, *hours]:
        env.step(f"[{move}]")
    assert not env.awaiting
    return env


def flat(rate, power, skills=SKILLS, cost=1.0):
    """Incomes, coins and utilities when workers reply to a flat tax."""
    hours = best_labour(skills, rate, cost, power)
    coin = coins(skills * hours, [0.0], [rate])
    return skills * hours, coin, coin - cost * hours**power


@pytest.mark.parametrize(
    ("skills", "power", "wanted"),
    [(SKILLS, 2.0, 0.254), (SKILLS, 3.5, 0.435), ([1, 1.2, 1.4, 1.6], 2.0, 0.0)],
)
def test_the_closed_form_for_even_output_is_that_of_a_search(skills, power, wanted):
    skills = np.array(skills)
    rates = np.linspace(0, 0.99, 4951)
    worth = []
    for rate in rates:
        income, coin, _ = flat(rate, power, skills)
        worth.append(evenness(coin) * income.mean())
    found = even_output_optimum(skills, power)
    assert found == pytest.approx(wanted, abs=1e-3)
    assert found == pytest.approx(rates[int(np.argmax(worth))], abs=3e-4)


@pytest.mark.parametrize("power", [2.0, 3.0])
def test_the_closed_form_for_welfare_is_that_of_a_search(power):
    weights = 1 / SKILLS
    rates = np.linspace(0, 0.99, 4951)
    worth = [weights @ flat(rate, power)[2] for rate in rates]
    found = welfare_optimum(SKILLS, weights, power)
    assert found == pytest.approx(rates[int(np.argmax(worth))], abs=3e-4)
    assert welfare_optimum(SKILLS, weights, 2.0) == pytest.approx(0.283, abs=1e-3)


def test_labour_is_what_a_worker_wants_who_ignores_the_revenue():
    for skill, rate, power in itertools.product((1.0, 3.0), (0.0, 0.4), (2.0, 3.0)):
        hours = np.linspace(0, 5, 50001)
        own = (1 - rate) * skill * hours - 0.7 * hours**power
        assert best_labour(skill, rate, 0.7, power) == pytest.approx(hours[own.argmax()], abs=1e-3)


def test_brackets_tax_what_lies_in_them_and_nothing_is_lost():
    brackets, rates = [0.0, 10.0, 40.0], [0.1, 0.2, 0.5]
    assert tax_due([5, 10, 25, 60], brackets, rates).tolist() == pytest.approx([0.5, 1, 4, 17])
    income = np.array([5.0, 10, 25, 60])
    assert coins(income, brackets, rates).sum() == pytest.approx(income.sum())
    assert evenness(coins(income, brackets, [1, 1, 1])) == pytest.approx(1)


def test_an_episode_pays_by_the_formulas():
    env = play(["50%"], [10, 20, 30, 40])
    hours = np.array([10.0, 20, 30, 40])
    coin = 0.5 * SKILLS * hours + 0.5 * (SKILLS * hours).mean()
    paid = [env.episode.total(a) for a in env.possible_agents]
    assert paid[1:] == pytest.approx(coin - 0.02 * hours**2)
    assert paid[0] == pytest.approx(evenness(coin) * (SKILLS * hours).mean())
    assert env.episode.outcome["tax_rate"] == pytest.approx(0.5)
    other = play(["50%"], [10, 20, 30, 40], objective="welfare")
    weights = (1 / SKILLS) / (1 / SKILLS).sum()
    assert other.episode.total("planner_0") == pytest.approx(weights @ paid[1:])
    released = play(["50%"], [10, 20, 30, 40], objective="inverse_income")
    weights = (1 / coin) / (1 / coin).sum()
    assert released.episode.total("planner_0") == pytest.approx(weights @ paid[1:])


def test_the_released_weights_ask_for_a_higher_tax_than_those_by_skill():
    """The figure was found by running `inv_income_weighted_utility` of ai-economist, a84d5f3."""
    task = make(ID, rate_steps=100, hour_steps=100, objective="inverse_income").task
    assert float(task.flat_optimum()[:-1]) / 100 == pytest.approx(0.365, abs=0.03)  # whole hours


@pytest.mark.parametrize("objective", ["even_output", "welfare"])
def test_the_experts_tax_is_the_optimum_on_a_fine_grid(objective):
    task = make(ID, rate_steps=100, hour_steps=100, objective=objective).task
    wanted = even_output_optimum(SKILLS, 2.0)
    if objective == "welfare":
        wanted = welfare_optimum(SKILLS, 1 / SKILLS, 2.0)
    assert float(task.flat_optimum()[:-1]) / 100 == pytest.approx(wanted, abs=0.03)  # whole hours
    hours = [float(task.wanted_hours(s, [0.25])) for s in SKILLS]
    assert hours == pytest.approx(best_labour(SKILLS, 0.25, 0.02, 2.0), abs=0.5)


def test_the_best_flat_tax_beats_none_and_too_much_for_the_planner():
    def planned(rate):
        env = make(ID)
        env.reset(seed=0)
        env.step(f"[{rate}]")
        while env.awaiting:
            replies = env.expert(env.agent_selection, 1.0)
            env.step(replies.texts[int(replies.probabilities.argmax())])
        return env.episode.total("planner_0")

    assert planned("25%") == pytest.approx(54.6875)
    assert planned("25%") > planned("0%") and planned("25%") > planned("60%")


def test_references():
    refs = spec(ID).refs
    hours = np.arange(0, 101, 5.0)
    grid = np.stack(np.meshgrid(*[hours] * 4, indexing="ij"), -1).reshape(-1, 4)[::11]
    income = grid * SKILLS  # every eleventh of all choices
    planner = []
    for rate in np.linspace(0, 1, 21):
        coin = income * (1 - rate) + rate * income.mean(1, keepdims=True)
        total = np.maximum(coin.sum(1), 1e-9)
        spread = sum(np.abs(coin[:, i] - coin[:, j]) for i in range(4) for j in range(i))
        planner.append(((1 - spread / (4 * total) * 4 / 3) * income.mean(1)).mean())
    workers = (income.sum(1) - (0.02 * grid**2).sum(1)).mean()
    assert refs["random"] == pytest.approx((np.mean(planner) + workers) / 5, abs=0.1)
    assert evaluate(ExpertAgent(1.0), ID, None, 2).value == pytest.approx(refs["oracle"])


@pytest.mark.parametrize("style", ["full", "terse"])
def test_a_worker_is_told_its_own_skill_alone(style):
    def seen(skills):
        env = make(ID, skills=skills, brackets=[0, 50], prompt_style=style)
        env.reset(seed=0)
        env.step("[20%]")
        env.step("[40%]")
        return env.chat("worker_0"), {**env.infos["worker_0"], "parse": 0}

    assert seen([2, 3, 5]) == seen([2, 9, 1])
    assert seen([2, 3, 5]) != seen([3, 3, 5])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"skills": [1]}, "two or more"),
        ({"skills": [1, 0]}, "skills"),
        ({"brackets": [0, 9, 3]}, "must rise from 0"),
        ({"brackets": [1, 3]}, "must rise from 0"),
        ({"power": 1}, "power=1"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(ConfigError, match=message):
        make(ID, **options)
