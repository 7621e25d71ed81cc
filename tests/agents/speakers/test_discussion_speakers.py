"""Speakers of debate and solver-verifier: skill 1 is right, skill 0 is chance."""

import numpy as np
import pytest

from coevo.agents.agent import Request
from coevo.agents.speakers import speaker
from coevo.agents.speakers.questions import solve
from coevo.envs import make, spec
from coevo.envs.core.parsing import Status
from coevo.envs.questions import questions

IDS = ("coevo/debate-v0", "coevo/solver_verifier-v0")
SOURCES = ("digits", "digits:sum", "sums")


def play(id, style, skill, seed, source="digits"):
    env, rng = make(id, prompt_style=style, questions=source), np.random.default_rng(seed)
    env.reset(seed=seed)
    speak = speaker(id)
    while env.awaiting:
        agent = env.agent_selection
        speech = speak(Request(agent, env.chat(agent), env.infos[agent], rng), skill)
        assert len(set(speech.replies)) == len(speech.replies) <= 12
        assert speech.odds.sum() == pytest.approx(1)
        assert speech.odds.min() > 0
        assert all(len(reply) <= 12 for reply in speech.replies)
        env.step(str(rng.choice(speech.replies, p=speech.odds)))
    return env.episode


@pytest.mark.parametrize("source", SOURCES)
def test_every_built_in_question_is_solved(source):
    asked, rng = questions(source), np.random.default_rng(0)
    for _ in range(100):
        question = asked.draw(rng)
        assert solve(f"Solve: {question.question} Reply [answer].") == question.answer


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("style", ["full", "terse"])
@pytest.mark.parametrize("source", SOURCES)
def test_full_skill_is_right_and_chance_is_as_registered(id, style, source):
    best = [play(id, style, 1.0, seed, source) for seed in range(10)]
    assert all(e.total(a, "payoff") == 1 for e in best for a in e.agents)
    assert all(t.status is Status.LEGAL and "unread" not in t.notes for e in best for t in e.turns)
    if source == "digits":
        worst = [play(id, style, 0.0, seed) for seed in range(300)]
        mean = np.mean([e.total(a, "payoff") for e in worst for a in e.agents])
        assert mean == pytest.approx(spec(id).refs["random"], abs=0.06)
        assert not any("unread" in t.notes for e in worst for t in e.turns)


@pytest.mark.parametrize("id", IDS)
def test_more_skill_earns_more(id):
    means = [
        np.mean([play(id, "terse", skill, seed).outcome["accuracy"] for seed in range(120)])
        for skill in (0.0, 0.4, 0.8)
    ]
    assert means[0] + 0.1 < means[1] < means[2] - 0.1


@pytest.mark.parametrize("style", ["full", "terse"])
@pytest.mark.parametrize(
    ("said", "right"), [("7", "[approve]"), ("3", "[reject]"), ("", "[reject]")]
)
def test_a_skilled_verifier_judges_rightly(style, said, right):
    env = make(IDS[1], prompt_style=style)
    env.reset(seed=0, options={"item": 4783})
    env.step(f"[{said}]")
    request = Request("verifier_0", env.chat("verifier_0"), {}, np.random.default_rng(0))
    right = "[approve]" if said == "7" else "[reject]"
    replies, odds = speaker(IDS[1])(request, 0.8)
    assert dict(zip(replies, odds, strict=True))[right] == pytest.approx(0.9)


def test_a_question_that_nobody_knows_is_guessed_at():
    chat = ({"role": "user", "content": "Solve: why? Reply [answer]."},)
    for id in IDS:
        replies, odds = speaker(id)(Request("solver_0", chat, {}, np.random.default_rng(0)), 1.0)
        assert len(replies) == 10
        assert np.ptp(odds) == pytest.approx(0)
