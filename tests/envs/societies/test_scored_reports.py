"""Scoring rules: which reports they pay best, what improper ones do, and the references."""

import itertools

import numpy as np
import pytest

from coevo.agents import ExpertAgent, RandomAgent
from coevo.benchmarks.evaluate import evaluate
from coevo.envs import make, spec
from coevo.envs.societies.scored_reports import CHANCES, expected, references

ID = "coevo/scored_reports-v0"


@pytest.mark.parametrize("rule", ["brier", "logarithmic", "spherical"])
def test_a_proper_rule_pays_the_truth_best_and_nothing_else(rule):
    for skill in CHANCES:
        worth = {report: expected(rule, report, skill) for report in CHANCES}
        assert [r for r in CHANCES if worth[r] >= worth[skill] - 1e-9] == [skill]


def test_an_improper_rule_pays_exaggeration_best():
    for skill in CHANCES:
        worth = [expected("linear", report, skill) for report in CHANCES]
        best = {CHANCES[i] for i in np.flatnonzero(np.isclose(worth, max(worth)))}
        assert best == ({90} if skill > 50 else {10} if skill < 50 else set(CHANCES))


def test_the_references_by_enumeration():
    best = np.mean([max(pair) for pair in itertools.product(CHANCES, repeat=2)]) / 100
    s = np.array(CHANCES) / 100
    true = np.mean(1 - s * (1 - s))  # what is left of Brier's rule when reports are true
    found = references("brier", 2)
    assert found["oracle"] == pytest.approx((best + 2 * true) / 3)
    r = s[:, None]
    guessed = np.mean(1 - s * (1 - r) ** 2 - (1 - s) * r**2)
    assert found["random"] == pytest.approx((0.5 + 2 * guessed) / 3)
    assert spec(ID).refs == pytest.approx(found)


def test_play_agrees_with_the_references():
    for agent, name in ((RandomAgent(), "random"), (ExpertAgent(1.0), "oracle")):
        played = evaluate(agent, ID, None, 1500, seed=0)
        assert played.value == pytest.approx(spec(ID).refs[name], abs=0.03)


@pytest.mark.parametrize(("rule", "gap"), [("brier", 0), ("linear", None)])
def test_experts_are_true_where_that_pays(rule, gap):
    env, gaps, best = make(ID, pay=rule, workers=4), [], []
    for seed in range(40):
        env.reset(seed=seed)
        while env.awaiting:
            replies = env.expert(env.agent_selection, 1.0)
            env.step(replies.texts[int(replies.probabilities.argmax())])
        gaps.append(env.episode.outcome["gap"])
        best.append(env.episode.outcome["best_hired"])
    if gap is None:
        assert np.mean(gaps) > 15 and np.mean(best) < 0.9
    else:
        assert (set(gaps), set(best)) == ({0.0}, {1.0})
