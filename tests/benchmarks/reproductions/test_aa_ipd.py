"""Advantage Alignment in the prisoner's dilemma: exact values, and figures that can fail."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from coevo.benchmarks.reproductions.claims.aa_ipd import CLAIM, DILEMMA
from coevo.benchmarks.reproductions.claims.aa_split import SPLIT
from coevo.benchmarks.reproductions.repeated_table import expected_returns
from coevo.envs import make
from coevo.trainers.components import Align, LeaveOneOut, SumOthers

PAYOFFS = np.array([3.0, 0.0, 5.0, 1.0])
"""Own payoff after CC, CD, DC, DD, the own move first."""
SWAPPED = [0, 1, 3, 2, 4]
"""What the other seat sees where the own one is at the start, CC, CD, DC, DD."""
TFT = [1.0, 1.0, 0.0, 1.0, 0.0]
GRIM = [1.0, 1.0, 0.0, 0.0, 0.0]
EXTORT_2 = [1.0, 8 / 9, 1 / 2, 1 / 3, 0.0]
ALL_C, ALL_D = [1.0] * 5, [0.0] * 5


def value(own, other, gamma):
    """Exact discounted value of memory-one play: V = p0^T (I - gamma M)^-1 r."""
    own, other = np.array(own), np.array(other)[SWAPPED]
    joint = [own * other, own * (1 - other), (1 - own) * other, (1 - own) * (1 - other)]
    start_4, moves_44 = np.stack(joint, axis=1)[0], np.stack(joint, axis=1)[1:]
    return start_4 @ np.linalg.solve(np.eye(4) - gamma * moves_44, PAYOFFS)


def table(odds):
    return torch.tensor([[p, 1 - p] for p in odds], dtype=torch.float64)


def returns(own, other, rounds=10, gamma=1.0):
    return expected_returns(replace(DILEMMA, rounds=rounds), table(own), table(other), gamma)


# ---- Exact values ----------------------------------------------------------------------------


def test_the_oracle_knows_what_is_known():
    assert value(TFT, TFT, 0.9) == pytest.approx(3 / 0.1)
    assert value(ALL_D, ALL_C, 0.5) == pytest.approx(5 / 0.5)
    # the long run of Press and Dyson: 3.5 against 2.25, twice as far from the punishment
    near_1 = 1 - 1e-7
    assert (1 - near_1) * value(EXTORT_2, ALL_C, near_1) == pytest.approx(3.5, abs=1e-5)
    assert (1 - near_1) * value(ALL_C, EXTORT_2, near_1) == pytest.approx(2.25, abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_returns_are_those_of_the_oracle(seed):
    own, other = np.random.default_rng(seed).random((2, 5))
    got = returns(own, other, rounds=300, gamma=0.9)
    assert got == pytest.approx((value(own, other, 0.9), value(other, own, 0.9)))


def test_ten_rounds_against_always_defect():
    assert returns(GRIM, ALL_D)[0] == pytest.approx(9.0)
    assert returns(ALL_C, ALL_D) == pytest.approx((0.0, 50.0))


def test_returns_of_a_policy_that_knows_the_round():
    late = torch.stack([table(ALL_C)] * 9 + [table(ALL_D)])  # defects in the last round
    first, second = expected_returns(DILEMMA, late, table(ALL_C))
    assert (first, second) == pytest.approx((27.0 + 5.0, 27.0))


# ---- The game of the table is that of the environment ----------------------------------------


@pytest.mark.parametrize("game", [DILEMMA, SPLIT], ids=["dilemma", "split"])
@pytest.mark.parametrize("seed", range(3))
def test_prompts_and_payoffs_are_those_of_the_table(game, seed):
    env = make(game.env, prompt_style="terse", **game.options)
    env.reset(seed=seed)
    memory, rng = torch.zeros(2, dtype=torch.int64), np.random.default_rng(seed)
    while env.awaiting:
        seen = [_context(game, env.chat(seat)[-1]["content"]) for seat in env.possible_agents]
        role = torch.tensor(seen) // game.memories
        assert game.roles == 1 or role.sum() == 1
        assert seen == game.context(role, memory).tolist()
        arm = torch.tensor(rng.integers(game.arms, size=2))
        before = [env.episode.total(seat, "payoff") for seat in env.possible_agents]
        for k in arm.tolist():
            env.step(f"[{env.infos[env.agent_selection]['legal_actions'][k]}]")
        after = [env.episode.total(seat, "payoff") for seat in env.possible_agents]
        assert np.subtract(after, before).tolist() == pytest.approx(game.pay(role, arm).tolist())
        memory = game.remember(role, arm)
    assert env.episode.turns[-1].round == game.rounds - 1


def _context(game, prompt):
    assert len(set(game.seen)) == game.contexts
    return game.seen.index(game.sees(prompt))


def test_equal_seeds_learn_equal_policies():
    first, second, third = (CLAIM.measures("aligned", s, steps=6) for s in (0, 0, 1))
    assert first == second != third


# ---- The figures -----------------------------------------------------------------------------


def learnt(arm):
    """Return the measures of 60 larger steps, in which the three arms part."""
    return replace(CLAIM, changes={**CLAIM.changes, "optim.lr": 0.3}).measures(arm, steps=60)


def test_naive_learners_defect():
    assert learnt("naive")["payoff"] < 1.1


def test_aligned_learners_cooperate_with_those_who_do():
    found = learnt("aligned")
    assert found["payoff"] > 2.2
    assert found["CC"] > 0.85 and found["CD"] < 0.15


@pytest.mark.slow
def test_learners_of_the_sum_are_exploited():
    found = learnt("total")
    assert found["payoff"] > 2.9
    assert found["CD"] > 0.5


@pytest.mark.parametrize(
    ("component", "arm"),
    [
        (Align, "aligned"),
        pytest.param(SumOthers, "total", marks=pytest.mark.slow),
    ],
)
def test_a_broken_transform_fails(monkeypatch, component, arm):
    monkeypatch.setattr(component, "__call__", lambda self, table: table)
    assert learnt(arm)["payoff"] < 1.5


@pytest.mark.slow
def test_the_baseline_at_another_round_fails(monkeypatch):
    """Return-to-go falls with the rounds: a baseline over all of them punishes late moves."""
    loo = LeaveOneOut.__call__

    def pooled(self, e):
        return loo(replace(self, by="group+agent"), e)

    monkeypatch.setattr(LeaveOneOut, "__call__", pooled)
    assert learnt("aligned")["CD"] > 0.5
