import itertools

import numpy as np
import pytest

from coevo.agents import ExpertAgent, RandomAgent
from coevo.benchmarks.evaluate import evaluate
from coevo.benchmarks.statistics.social import social_outcome
from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.envs.societies.stock import (
    Doubling,
    Logistic,
    best_yield,
    lasting,
    random_yield,
    shared_out,
)

ID = "coevo/fishery-v0"


def play(env, harvest, fine=lambda env, seat: "nobody", seed=0):
    env.reset(seed=seed)
    while env.awaiting:
        seat = env.agent_selection
        if env.task.phase == "message":
            env.step("<message>hello</message>")
            continue
        act = harvest if env.task.phase == "harvest" else fine
        env.step(f"[{act(env, seat)}]")
    return env


def test_an_equal_share_of_what_lasts_is_govsims_best_row():
    env = play(make(ID), lambda env, seat: env.task.share)
    outcome, social = env.episode.outcome, social_outcome(env.episode)
    assert (outcome["months"], outcome["survived"], outcome["yield"]) == (12, 1, 1)
    assert social["equality"] == 1 and social["over_usage"] == 0
    assert social["efficiency"] == 50 and np.isnan(social["peace"])
    assert {env.episode.total(a) for a in env.possible_agents} == {120}


def test_twenty_each_is_govsims_row_of_small_models():
    env = play(make(ID), lambda env, seat: 20)
    outcome, social = env.episode.outcome, social_outcome(env.episode)
    assert (outcome["months"], outcome["survived"]) == (1, 0)
    assert outcome["yield"] == pytest.approx(1 / 6)
    assert env.episode.total("fisher_3") == 20
    assert social["over_usage"] == 1


def test_what_lasts():
    assert [lasting(Doubling(), s, 100) for s in (100, 60, 41, 1)] == [50, 30, 20, 0]
    assert lasting(Logistic(rate=0.8), 50, 100) == 17  # 33 grow to 50.7, 32 to 49.4


@pytest.mark.parametrize("stock", [10, 8])
def test_the_best_yield_is_that_of_all_plans(stock):
    def plans(stock, months):
        if not months or stock < 2:
            return 0
        return max(
            h + plans(min(10, 2 * (stock - h)) if stock - h >= 2 else 0, months - 1)
            for h in range(stock + 1)
        )

    assert best_yield(Doubling(), stock, 10, 2, 4) == plans(stock, 4)


def test_the_random_yield_is_that_of_all_wishes():
    def expected(stock, months):
        if not months or stock < 2:
            return 0.0
        total = 0.0
        for wishes in itertools.product(range(stock + 1), repeat=2):
            got = min(stock, sum(wishes))
            left = stock - got
            total += got + (expected(min(6, 2 * left), months - 1) if left >= 2 else 0.0)
        return total / (stock + 1) ** 2

    assert random_yield(Doubling(), 6, 6, 2, 3, 2) == pytest.approx(expected(6, 3))


def test_references():
    refs = spec(ID).refs
    assert refs["random"] == pytest.approx(random_yield(Doubling(), 100, 100, 5, 12, 5) / 5)
    assert refs["oracle"] == best_yield(Doubling(), 100, 100, 5, 12) / 5
    assert evaluate(RandomAgent(), ID, None, 40).value == pytest.approx(refs["random"], abs=0.3)
    assert evaluate(ExpertAgent(1.0), ID, None, 2).value == 120


def test_a_shortage_is_divided():
    rng = np.random.default_rng(0)
    assert shared_out([3, 4], 7, "random", rng) == [3, 4]
    assert shared_out([6, 3, 0], 6, "proportional", rng) == [4, 2, 0]
    drawn = np.array([shared_out([60, 60, 10], 30, "random", rng) for _ in range(200)])
    assert (drawn.sum(axis=1) == 30).all() and drawn[:, 2].max() <= 10
    # One by one to a random one that still wants: the small wish is met as often as the large.
    assert drawn.mean(axis=0) == pytest.approx([10.8, 10.8, 8.4], abs=0.8)


@pytest.mark.parametrize("style", ["full", "terse"])
@pytest.mark.parametrize("sees", ["all", "neighbour", "none"])
def test_only_catches_that_may_be_seen_are_shown(style, sees):
    """Swapping what a fisher does not see changes none of its prompts."""

    def seen(hidden):
        catches = {"fisher_0": 11, "fisher_1": 7, "fisher_2": hidden, "fisher_3": 20 - hidden}
        env = make(ID, sees=sees, fishers=4, prompt_style=style, months=2)
        play(env, lambda env, seat: catches[seat])
        return env.chat("fisher_0"), env.episode.turns[-1].round

    assert (seen(3) == seen(9)) == (sees != "all")


def test_fines_cost_both_and_are_told_to_all():
    env = make(ID, fishers=3, months=2, fine={"cost": 1, "fine": 3}, messages=True)
    assert env.payoff_range[0] == -14
    target = {"fisher_0": "fisher_1", "fisher_1": "nobody", "fisher_2": "fisher_1"}
    play(env, lambda env, seat: 2, lambda env, seat: target[seat])
    paid = [env.episode.total(a) for a in env.possible_agents]
    assert paid == [2 * (2 - 1), 2 * (2 - 6), 2 * (2 - 1)]
    assert social_outcome(env.episode)["peace"] == 2
    assert np.isnan(social_outcome(env.episode)["equality"])
    assert "fisher_0 fined fisher_1, fisher_2 fined fisher_1." in str(env.chat("fisher_1"))
    assert env.episode.outcome["fined"] == pytest.approx(2 / 3)


def test_neighbours_fine_their_neighbour_only():
    env = make(ID, sees="neighbour", fine={})
    env.reset(seed=0)
    for _ in range(5):
        env.step("[1]")
    assert env.infos["fisher_4"]["legal_actions"] == ["nobody", "fisher_0"]
    assert env.infos["fisher_4"]["caught"] == [{"fisher_0": 1, "fisher_4": 1}]


def months(**options):
    """Months that fishers last who want 5 tons each, and 2 less after every fine."""
    env = make(ID, sees="neighbour", stock=40, **options)
    wants = dict.fromkeys(env.possible_agents, 5)

    def harvest(env, seat):
        fined = env.task.fines[-1].values() if env.task.fines else ()
        wants[seat] -= 2 * (seat in fined)
        return min(wants[seat], env.task.stock)

    def judge(env, seat):
        replies = env.expert(seat, 1.0)
        return replies.texts[int(replies.probabilities.argmax())][1:-1]

    return play(env, harvest, judge).episode.outcome["months"]


def test_a_scarce_stock_is_gone_sooner_without_fines():
    assert (months(), months(fine={})) == (3, 12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stock": 3}, "stock=3 must lie between collapse=5 and capacity=100"),
        ({"fine": {}, "sees": "none"}, "nobody knows whom to fine"),
        ({"regrowth": "tripling"}, "doubling"),
        ({"collapse": 150}, "collapse=150"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises((ConfigError, KeyError), match=message):
        make(ID, **options)
