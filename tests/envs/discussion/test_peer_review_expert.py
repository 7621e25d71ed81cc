"""The scripted reviewer: from chance to certainty, in short replies that always fit."""

import numpy as np
import pytest

from coevo.envs import make

ID = "coevo/peer_review-v0"


def speeches(skill, seeds=40, **options):
    """Play; give the distributions by role, and the finished plays' outcomes."""
    env = make(ID, prompt_style="terse", **options)
    rng, outcomes = np.random.default_rng(0), []
    found = {"solver": [], "evaluator": [], "scorer": []}
    for seed in range(seeds):
        env.reset(seed=seed)
        while env.awaiting:
            agent = env.agent_selection
            speech = env.expert(agent, skill)
            found[env.infos[agent]["role"]].append(speech)
            env.step(str(rng.choice(speech.texts, p=speech.probabilities)))
        outcomes.append(env.episode.outcome)
    return found, outcomes


@pytest.mark.parametrize("skill", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("questions", ["digits", {"name": "digits", "task": "sum"}, "sums"])
def test_replies_are_few_and_short_and_their_odds_sum_to_one(skill, questions):
    found, _ = speeches(skill, 5, questions=questions)
    for speech in (s for role in found.values() for s in role):
        assert len(set(speech.texts)) == len(speech.texts) <= 12
        assert all(len(reply) <= 8 for reply in speech.texts)
        assert speech.probabilities.min() >= 0
        assert speech.probabilities.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("questions", ["digits", {"name": "digits", "task": "sum"}, "sums"])
def test_full_skill_is_right_whatever_is_asked(questions):
    _, outcomes = speeches(1.0, questions=questions, num_agents=3)
    for outcome in outcomes:
        assert outcome["accuracy"] == 1.0
        assert outcome["evaluator/accuracy"] == 1.0
        assert outcome["invalid_score_rate"] == 0.0


def test_skill_raises_every_figure():
    means = []
    for skill in (0.0, 0.5, 1.0):
        _, outcomes = speeches(skill, 60)
        assert not any(o["invalid_score_rate"] for o in outcomes), "in the right form at any skill"
        names = ("accuracy", "evaluator/accuracy", "judge/accuracy")
        means.append({n: np.mean([o[n] for o in outcomes]) for n in names})
    low, middle, high = means
    for name in names:
        assert low[name] + 0.1 < middle[name] < high[name] - 0.1
    assert low["accuracy"] == pytest.approx(0.1, abs=0.06)


def test_a_review_sways_the_score():
    env = make(ID, prompt_style="terse", rounds=1, num_agents=1)
    threes = {}
    for verdict in ("right", "wrong"):
        env.reset(seed=0)
        env.step(f"[{env.task.question.answer}]")
        env.step(f"[{verdict}]")
        speech = env.expert("agent_0", 0.3)
        threes[verdict] = speech.probabilities[speech.texts.index("[3]")]
    assert threes["right"] > threes["wrong"] + 0.05
