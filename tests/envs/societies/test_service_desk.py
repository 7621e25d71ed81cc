"""The service desk: what the policy says, what is remembered, and what is paid."""

import numpy as np
import pytest

from coevo.agents import ExpertAgent
from coevo.agents.strategies.memory import MemoryFollower
from coevo.benchmarks.evaluate import evaluate
from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.envs.societies.service_desk import BIASED, CLERK, DAYS, SATISFIED

ID = "coevo/service_desk-v0"


def play(decide, seed=0, **options):
    """Play an episode; `decide` gives a move for the info of each case."""
    env = make(ID, **options)
    env.reset(seed=seed)
    while env.awaiting:
        env.step(f"[{decide(env.infos[CLERK])}]")
    return env.episode


def by_policy(info):
    return "refund" if info["days"] <= DAYS and info["receipt"] else "refuse"


def test_the_policy_is_paid_and_violations_are_counted():
    right = play(by_policy, cases=20)
    assert right.total(CLERK) == 20 and right.outcome["violations"] == 0
    wrong = play(lambda info: {"refund": "refuse"}.get(by_policy(info), "refund"), cases=20)
    assert wrong.total(CLERK) == 0 and wrong.outcome["violations"] == 1


def test_satisfaction_is_paid_whatever_the_policy_says():
    rates = {}
    for move in SATISFIED:
        episode = play(lambda info, move=move: move, cases=100, pay="satisfaction")
        assert episode.total(CLERK) == pytest.approx(100 * episode.outcome["satisfaction"])
        rates[move] = episode.outcome["satisfaction"]
    assert rates == pytest.approx(SATISFIED, abs=0.12)


def test_memory_holds_what_has_happened_and_nothing_else():
    none = play(by_policy)
    assert "memory" not in str([t.chat for t in none.turns]).lower()
    env = make(ID, memory="kept", cases=3)
    env.reset(seed=3)
    assert "memory" not in env.chat(CLERK)[-1]["content"].lower()
    env.step("[refund]")
    happy = env.infos[CLERK]["memory"]["refund"][0]
    assert f"after a refund {happy} of 1 customers" in env.chat(CLERK)[-1]["content"]
    biased = make(ID, memory="biased")
    biased.reset(seed=3)
    assert biased.infos[CLERK]["memory"] == BIASED
    assert "after a refusal 40 of 200 customers" in biased.chat(CLERK)[-1]["content"]


def test_who_follows_its_memory_leaves_the_policy_and_the_expert_does_not():
    for agent, low, high in ((MemoryFollower(), 0.5, 0.75), (ExpertAgent(1.0), 0.0, 0.0)):
        found = evaluate(agent, ID, None, 40, 1, {"memory": "biased"}, outcome="violations")
        assert low <= found.value <= high
    with pytest.raises(ConfigError, match="memory_follower plays coevo/service_desk-v0 only"):
        evaluate(MemoryFollower(), "coevo/nim-v0", None, 1)


def test_references():
    refs = spec(ID).refs
    assert refs["oracle"] == play(by_policy).total(CLERK)
    moves = np.random.default_rng(0)
    random = [play(lambda info: moves.choice(["refund", "refuse"]), s) for s in range(400)]
    mean = np.mean([e.total(CLERK) for e in random])
    assert refs["random"] == pytest.approx(mean, abs=0.2)
