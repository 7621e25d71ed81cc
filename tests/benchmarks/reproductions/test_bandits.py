"""Bandits that the shipped loop trains on: what they pay, and which way short runs go."""

from dataclasses import replace

import numpy as np
import pytest

from coevo.benchmarks.reproductions import bursts, search_team
from coevo.benchmarks.reproductions.claims import (
    dr_mas_spikes,
    gdpo_collapse,
    polychromic,
    ssp_gate,
)
from coevo.benchmarks.reproductions.claims import gated_accumulation as gated
from coevo.benchmarks.reproductions.run import learnt, sized, trained
from coevo.benchmarks.reproductions.worlds import BANDIT, SEAT
from coevo.envs import make
from coevo.trainers.components import GroupMean, GroupStd


def played(*replies):
    env = make(gated.StallOrSubmit.env_id, prompt_style="terse")
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


def test_the_gate_keeps_what_the_plain_sum_gives_up():
    kept, lost = (gated.CLAIM.measures(arm, steps=60)["completion"] for arm in ("gated", "summed"))
    assert kept > 1 - 0.5**5 > lost


def test_a_context_pays_its_own_arms_and_notes_what_they_are_worth_beside():
    env = make(
        BANDIT,
        prompt_style="terse",
        payoffs=((1.0, 2.0), (3.0, 4.0)),
        notes={"beside": (5, 6)},
        outcomes={"long": (0, 1)},
    )
    seen = {}
    for seed in range(20):
        env.reset(seed=seed)
        context = env.chat(SEAT)[-1]["content"]
        env.step("[a1]")
        seen[context] = env.episode.total(SEAT, "payoff")
        assert env.episode.turns[0].notes["beside"] == 6
        assert env.episode.outcome["long"] == 1
    assert seen == {"Context 0": 2.0, "Context 1": 4.0}


def test_arms_may_have_names():
    env = make(BANDIT, payoffs=((0.0, 1.0),), names=("left", "right"))
    env.reset(seed=0)
    env.step("[right]")
    assert env.episode.total(SEAT, "payoff") == 1.0


def test_a_small_reward_is_not_drowned_where_rewards_are_normalised_apart():
    summed, apart = (
        gdpo_collapse.CLAIM.measures(arm, steps=40)["both"] for arm in ("sum_small", "apart_small")
    )
    assert apart > summed + 0.005 > 1 / 3


def test_sets_keep_the_second_arm():
    single, sets = (
        polychromic.CLAIM.measures(arm, steps=150)["rarer"] for arm in ("reinforce", "sets")
    )
    assert sets > single


# ---- Agents that are called unequally often --------------------------------------------------


def stepped(env, *replies):
    for reply in replies:
        env.step(f"[{reply}]")
    return [env.episode.total(seat, "payoff") for seat in bursts.AGENTS]


@pytest.mark.parametrize(("level", "called"), [(31, True), (32, False)])
def test_the_second_agent_is_called_by_chance_and_paid_on_its_scale(level, called):
    quality = ((1.0, 2.0), (3.0, 4.0))
    env = make(bursts.ID, quality=quality, offset=(0, 5), scale=(1, 0.1), rate=(0.5, 0.5))
    env.reset(seed=0)
    first, second = (bursts.NOISE_L[i] for i in (40, 7))
    paid = stepped(env, "a1", f"a{level}", "a40", "a7")
    assert paid == pytest.approx([2.0 + first, 0.0])
    assert bool(env.awaiting) == called
    if called:
        assert stepped(env, "a0") == pytest.approx([2.0 + first, 5.0 + 0.1 * (3.0 + second)])


def test_noise_is_standard_normal_and_bursts_are_those_of_a_group():
    assert bursts.NOISE_L.mean() == pytest.approx(0.0, abs=1e-12)
    assert bursts.NOISE_L.std() == pytest.approx(1.0, abs=0.03)
    env = make(bursts.ID, rate=(0.02, 0.4))
    drawn = []
    for seed in (0, 0, 1):
        env.reset(seed=seed)
        drawn.append(env.task.calls)
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("replies", "known", "right"),
    [
        (("search", "a0", "a0"), "hard, found", 1.0),
        (("search", "a0", "a1"), "hard, found", 0.0),
        (("search", "a1", "a2", "a2"), "hard, missed", 1.0),
        (("answer", "a0", "a3"), "hard", 0.0),
    ],
)
def test_a_hard_task_is_a_guess_without_the_right_query(replies, known, right):
    env = make(search_team.ID, hard=1.0, prompt_style="terse")
    env.reset(seed=0)
    for reply in replies:
        env.step(f"[{reply}]")
    assert not env.awaiting
    assert env.chat(search_team.ANSWERER)[0]["content"] == f"answerer_0: {known}"
    assert [env.episode.total(s, "payoff") for s in search_team.TEAM] == [right] * 3


def test_the_team_starts_where_it_says():
    maker = sized(8, 8, search_team.starts())
    policy = maker("router_0")
    odds = learnt(policy)
    assert float(odds["router_0: easy"][1]) == pytest.approx(0.05)
    assert float(odds["answerer_0: easy"][0]) == pytest.approx(0.9)
    assert float(odds["answerer_0: hard, found"][0]) == pytest.approx(0.5)


def test_pooled_statistics_make_a_seldom_called_agent_spike(monkeypatch):
    def spike(arm):
        return dr_mas_spikes.CLAIM.measures(arm, steps=20)["spike_1"]

    pooled, own = spike("bandits_pooled"), spike("bandits_own")
    assert pooled > 2 * own
    for part in (GroupMean, GroupStd):
        monkeypatch.setattr(part, "__call__", pooling(part.__call__))
    assert spike("bandits_own") == pooled


def pooling(call):
    return lambda self, *given: call(replace(self, by="game"), *given)


def test_a_searcher_steps_by_the_mean_over_its_own_replies():
    claim = dr_mas_spikes.CLAIM
    arm = replace(claim.arms["team_own"], options={"hard": 0.8})
    world = replace(claim.world, watch=lambda run, done: done.episodes)
    with trained(world, arm, 0, claim.changes, steps=1) as end:
        odds = learnt(end.run.learners[search_team.SEARCHER].agent)
    replies = [
        (turn.chat[-1]["content"].split(": ")[1], int(turn.move[1:]), e.outcome["success"])
        for e in end.seen[0]
        for turn in e.turns
        if turn.agent == search_team.SEARCHER
    ]
    reward_B = np.array([right for *_, right in replies], dtype=float)
    advantage_B = (reward_B - reward_B.mean()) / (reward_B.std(ddof=1) + 1e-6)
    step_KA = {kind: np.zeros(8) for kind, *_ in replies}
    for (kind, query, _), advantage in zip(replies, advantage_B, strict=True):
        step_KA[kind] += 2.0 * advantage * (np.eye(8)[query] - 1 / 8) / len(replies)
    assert set(step_KA) == {"easy", "hard"}
    for kind, step_A in step_KA.items():
        wanted_A = np.exp(step_A) / np.exp(step_A).sum()
        assert odds[f"searcher_0: {kind}"].numpy() == pytest.approx(wanted_A, abs=1e-12)


# ---- Asking ----------------------------------------------------------------------------------


def asked(question, *answers, **options):
    env = make(ssp_gate.Asking.env_id, right=(1, 0), answers=2, solvers=2, **options)
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
    gated, open_, frozen = (
        ssp_gate.CLAIM.measures(arm, steps=40) for arm in ("gated", "open", "frozen")
    )
    assert open_["broken"] > 0.6 > gated["broken"]
    assert gated["held_out"] > open_["held_out"]
    assert frozen["broken"] == pytest.approx(0.13425, abs=1e-5), "nothing moves a frozen proposer"


def test_a_proposer_whose_baseline_is_itself_does_not_learn(monkeypatch):
    mean = GroupMean.__call__

    def nothing_alone(self, e):
        return mean(replace(self, single="zero"), e)

    monkeypatch.setattr(GroupMean, "__call__", nothing_alone)
    found = ssp_gate.CLAIM.measures("open", steps=10)
    assert found["broken"] == pytest.approx(0.13425, abs=1e-5)
