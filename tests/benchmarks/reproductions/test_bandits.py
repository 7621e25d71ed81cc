"""Bandits that the shipped loop trains on: what they pay, and which way short runs go."""

from dataclasses import replace

import pytest

from coevo.benchmarks.reproductions import (
    asking,
    contexts,
    gdpo_collapse,
    polychromic,
    ssp_gate,
)
from coevo.benchmarks.reproductions import gated_accumulation as gated
from coevo.envs import make
from coevo.trainers.estimators import Decoupled, Gated, GroupMean, WeightedSum


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


# ---- Asking ----------------------------------------------------------------------------------


def asked(question, *answers, **options):
    env = make(asking.ID, right=(1, 0), answers=2, solvers=2, **options)
    env.reset(seed=0)
    for reply in (question, *answers):
        env.step(f"[{reply}]")
    assert not env.awaiting
    return [env.episode.total(seat, "payoff") for seat in env.possible_agents]


def test_the_gate_rejects_the_broken_question_and_without_it_nobody_answers():
    assert asked("q2", invalid_reward=-1.0) == [-1.0, 0.0, 0.0]
    assert asked("q2", "a0", "a1", gate=False) == [1.0, 0.0, 0.0]
    assert asked("q0", "a0", "a1") == [0.5, 0.0, 1.0]
    hard = {"proposer_reward": "learnability", "edge_reward": -0.5}
    assert asked("q1", "a0", "a0", **hard) == [-0.5, 1.0, 1.0]
    assert asked("q1", "a0", "a1", **hard) == [1.0, 1.0, 0.0]


def test_a_proposer_without_a_gate_asks_what_nobody_can_answer():
    variants = ssp_gate.VARIANTS
    gated = ssp_gate.trained(variants["1 - s, gate on"], 0, 40)
    open_ = ssp_gate.trained(variants["1 - s, gate off"], 0, 40)
    frozen = ssp_gate.trained(variants["solver only, frozen proposer"], 0, 40)
    assert open_[2] > 0.6 > gated[2]
    assert gated[0] > open_[0]
    assert frozen[2] == pytest.approx(0.13425, abs=1e-5), "nothing moves a frozen proposer"


def test_a_proposer_whose_baseline_is_itself_does_not_learn(monkeypatch):
    mean = GroupMean.__call__

    def nothing_alone(self, y, frame, state):
        return mean(replace(self, single="zero"), y, frame, state)

    monkeypatch.setattr(GroupMean, "__call__", nothing_alone)
    open_ = ssp_gate.trained(ssp_gate.VARIANTS["1 - s, gate off"], 0, 10)
    assert open_[2] == pytest.approx(0.13425, abs=1e-5)
