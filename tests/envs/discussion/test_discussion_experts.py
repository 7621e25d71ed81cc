"""Experts of debate and solver-verifier: skill 1 is right, skill 0 is chance."""

import json

import numpy as np
import pytest

from coevo.envs import make, spec
from coevo.envs.core.parsing import Status
from coevo.envs.discussion.question_env import guesses
from coevo.envs.questions import Question

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


FILES = {
    "jsonl": {"question": "Why?", "answer": "so it is", "kind": "text"},
    "gsm8k": {"question": "What are 999 and 2?", "answer": "They are 1,001.\n#### 1,001"},
    "math500": {"problem": "Solve.", "answer": r"\left[ 0, \pi \right)", "unique_id": "a"},
    "choice": {"question": "Which?", "choices": ["one", "two"], "answer": "B"},
}


@pytest.mark.parametrize("id", (*IDS, "coevo/peer_review-v0", "coevo/sequential_team-v0"))
@pytest.mark.parametrize("name", FILES)
def test_the_answers_of_files_are_known_and_read(tmp_path, id, name):
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps(FILES[name]) + "\n")
    right = {}
    for skill in (0.0, 1.0):
        env = make(id, prompt_style="terse", questions={"name": name, "path": str(path)})
        right[skill], rng = [], np.random.default_rng(0)
        for seed in range(8):
            env.reset(seed=seed)
            while env.awaiting:
                said, chances = env.expert(env.agent_selection, skill)
                env.step(str(rng.choice(said, p=chances)))
            right[skill].append(env.episode.outcome["accuracy"])
    assert np.mean(right[1.0]) == 1.0 > np.mean(right[0.0])


def test_an_answer_longer_than_a_number_is_guessed_by_digits():
    assert guesses(Question("?", "9" * 5000, "number")) == tuple("0123456789")
    assert guesses(Question("?", "1,001", "number"))[0] == "991"
