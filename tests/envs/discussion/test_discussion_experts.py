"""Experts of debate and solver-verifier: skill 1 is right, skill 0 is chance."""

import numpy as np
import pytest

from coevo.envs import make, spec
from coevo.envs.core.parsing import Status

IDS = ("coevo/debate-v0", "coevo/solver_verifier-v0")
SOURCES = ("digits", {"name": "digits", "task": "sum"}, "sums", "word_problems")


def play(id, style, skill, seed, source="digits"):
    env, rng = make(id, prompt_style=style, questions=source), np.random.default_rng(seed)
    env.reset(seed=seed)
    while env.awaiting:
        agent = env.agent_selection
        said, chances = env.expert(agent, skill)
        assert len(set(said)) == len(said) <= 12
        assert chances.sum() == pytest.approx(1)
        assert chances.min() > 0
        assert all(len(reply) <= 12 for reply in said)
        env.step(str(rng.choice(said, p=chances)))
    return env.episode


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("style", ["full", "terse"])
@pytest.mark.parametrize("source", SOURCES)
def test_full_skill_is_right_and_chance_is_as_registered(id, style, source):
    best = [play(id, style, 1.0, seed, source) for seed in range(10)]
    assert all(e.total(a, "payoff") == 1 for e in best for a in e.agents)
    assert all(t.status is Status.LEGAL for e in best for t in e.turns)
    if source == "digits":
        worst = [play(id, style, 0.0, seed) for seed in range(300)]
        mean = np.mean([e.total(a, "payoff") for e in worst for a in e.agents])
        assert mean == pytest.approx(spec(id).refs["random"], abs=0.06)
        assert all(t.status is Status.LEGAL for e in worst for t in e.turns)


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
    for _ in range(1 if said else 2):
        env.step(f"[{said}]")
    right = "[approve]" if said == "7" else "[reject]"
    replies, odds = env.expert("verifier_0", 0.8)
    assert dict(zip(replies, odds, strict=True))[right] == pytest.approx(0.9)


def test_a_question_that_nobody_knows_is_guessed_at(tmp_path):
    path = tmp_path / "why.jsonl"
    path.write_text('{"question": "Why?", "answer": "so", "kind": "text"}\n')
    for id in IDS:
        env = make(id, questions={"name": "jsonl", "path": str(path)})
        env.reset(seed=0)
        texts, chances = env.expert(env.agent_selection, 1.0)
        assert len(texts) == 10
        assert np.ptp(chances) == pytest.approx(0)
