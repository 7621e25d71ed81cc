"""Hired analysts: what they see, which offers they obey, and mechanisms by linear programmes."""

import numpy as np
import pytest

from coevo.agents import ExpertAgent
from coevo.benchmarks.evaluate import evaluate
from coevo.envs import make, spec
from coevo.envs.societies import information_acquisition as module
from coevo.envs.societies.acquisition import Market, best_mechanism, signals

ID = "coevo/information_acquisition-v0"
KINDS = [(q, r) for q in (0.7, 0.9) for r in (0.0, 1.0)]


def started(seed=0, **options):
    env = make(ID, prompt_style="terse", **options)
    env.reset(seed=seed)
    return env


def said(env, *moves):
    for move in moves:
        env.step(f"[{move}]")


def test_references_by_enumeration_and_by_play():
    sums = [max(module.OFFERS.values(), key=lambda o: module.expected(o, *k)[0]) for k in KINDS]
    total = np.mean([module.expected(o, *k)[1] for o, k in zip(sums, KINDS, strict=True)])
    refs = spec(ID).refs
    assert refs["oracle"] == pytest.approx(4 * total / 3)
    assert refs["random"] == pytest.approx(4 * (0.5 * module.VALUE - module.COST) / 3)
    played = evaluate(ExpertAgent(1.0), ID, None, 300, 0, {"prompt_style": "terse"})
    assert played.value == pytest.approx(refs["oracle"], abs=0.9)


def test_a_round_is_paid_as_offered():
    env = started(rounds=1, accuracy=[1.0], shared=[1.0])
    said(env, "check agreement 8", "work", "work")
    seen = env.task.saw["analyst_0"]
    assert set(env.task.saw.values()) == {seen}, "both work and see alike"
    asked = list(env.task.hired)
    said(env, seen, seen, seen)
    paid = [env.episode.total(seat, "payoff") for seat in env.possible_agents]
    assert paid == ([20 - 10, 8 - 1, 2 - 1] if len(asked) == 2 else [20, -1, -1])


@pytest.mark.parametrize("offer", ["one truth 8", "nobody"])
def test_who_is_not_asked_is_not_paid(offer):
    env = started(rounds=1, accuracy=[1.0])
    said(env, offer, "rest", "work")
    right = env.task.saw["analyst_1"]
    said(env, right, right, right)
    paid = [env.episode.total(seat, "payoff") for seat in env.possible_agents]
    assert paid == ([12, 8, -1] if offer == "one truth 8" else [20, 0, -1])


def test_only_who_is_asked_knows_it():
    asked = set()
    for seed in range(40):
        env = started(seed)
        env.step("[check agreement 2]")
        first = env.chat("analyst_0")[-1]["content"]
        assert "and asked to work" in first
        asked.add("and asked to work" in env.chat("analyst_1")[-1]["content"])
        assert "accuracy" not in env.infos["principal_0"]
    assert asked == {True, False}


def test_signals_are_distributions_and_rest_is_a_coin():
    for q, r in KINDS:
        found = signals(Market(q, r))
        assert found.sum((3, 4)) == pytest.approx(np.ones((2, 2, 2)))
        assert found[0, 0] == pytest.approx(np.full((2, 2, 2), 0.25))
        assert found[1, 0, 1, 1].sum() == found[1, 1, 1, 1].sum() == pytest.approx(q)


@pytest.mark.parametrize(("accuracy", "shared"), KINDS)
def test_the_best_mechanism_is_no_worse_than_any_offer_of_the_menu(accuracy, shared):
    best = best_mechanism(Market(accuracy, shared))
    menu = max(module.expected(offer, accuracy, shared)[0] for offer in module.OFFERS.values())
    assert best.value >= menu - 1e-6
    assert best.recommended.sum() == pytest.approx(1)


def test_the_best_mechanism_correlates_efforts_where_signals_are_shared():
    best = best_mechanism(Market(0.7, 1.0)).recommended
    one, two = best.sum(1), best.sum(0)
    assert abs(best - np.outer(one, two)).max() > 0.1, "no product of its margins"
    assert best[1, 1] == pytest.approx(1 / 7, abs=1e-6)
