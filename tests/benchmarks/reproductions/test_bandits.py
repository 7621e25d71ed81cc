"""Bandits that the shipped loop trains on: what they pay, and which way short runs go."""

import pytest

from coevo.benchmarks.reproductions import contexts, gdpo_collapse, polychromic
from coevo.benchmarks.reproductions import gated_accumulation as gated
from coevo.envs import make
from coevo.trainers.estimators import Decoupled, Gated, WeightedSum


def played(*replies):
    env = make(gated.ID, prompt_style="terse")
    env.reset(seed=0)
    for reply in replies:
        env.step(f"[{reply}]")
    return env


@pytest.mark.parametrize(("level", "paid"), [(0, 1.0), (2, 1.0), (3, 0.2), (9, 0.2)])
def test_a_submission_is_paid_by_chance_three_times_in_ten(level, paid):
    env = played("stall", "submit", level)
    assert not env.awaiting
    assert env.episode.total(gated.SOLVER, "payoff") == paid
    assert [t.notes["progress"] for t in env.episode.turns] == [0.5, 0.0, 0.0]


def test_five_stalls_end_without_a_payoff():
    env = played(*["stall"] * 5)
    assert not env.awaiting
    assert env.episode.total(gated.SOLVER, "payoff") == 0.0
    assert sum(t.notes["progress"] for t in env.episode.turns) == 2.5


def test_the_gate_keeps_what_the_plain_sum_gives_up(monkeypatch):
    monkeypatch.setattr(gated, "UPDATES", 60)
    kept = gated.completion(Gated(high=("payoff",), delta=gated.LOW), seed=0)
    lost = gated.completion(WeightedSum(), seed=0)
    assert kept > 1 - 0.5**5 > lost


def test_a_context_pays_its_own_arms_and_notes_what_they_are_worth_beside():
    env = make(contexts.ID, prompt_style="terse", payoffs=((1.0, 2.0), (3.0, 4.0)), beside=(5, 6))
    seen = {}
    for seed in range(20):
        env.reset(seed=seed)
        context = int(env.chat(contexts.SEAT)[-1]["content"])
        env.step("[a1]")
        seen[context] = env.episode.total(contexts.SEAT, "payoff")
        assert env.episode.turns[0].notes["beside"] == 6
    assert seen == {0: 2.0, 1: 4.0}


def test_a_small_reward_is_not_drowned_where_rewards_are_normalised_apart(monkeypatch):
    monkeypatch.setattr(gdpo_collapse, "STEPS", 40)
    grpo, gdpo = (gdpo_collapse.learn(c, 0.1, seed=0) for c in (WeightedSum(), Decoupled()))
    assert gdpo > grpo + 0.005 > 1 / 3


def test_sets_keep_the_second_arm(monkeypatch):
    monkeypatch.setattr(polychromic, "STEPS", 150)
    rows = {row.label: row.mean for row in polychromic.run([0]).rows}
    assert rows["min(P1, P2), set credit"] > rows["min(P1, P2), REINFORCE"]
