"""Advantage Alignment in the prisoner's dilemma: exact values, and figures that can fail."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from coevo.agents.population import FrozenOpponent
from coevo.benchmarks.reproductions import aa_ipd
from coevo.benchmarks.reproductions.repeated_table import (
    Course,
    Table,
    expected_returns,
    learn,
    loss,
    play,
    seated,
    trajectories,
)
from coevo.benchmarks.reproductions.tabular import SoftmaxTable
from coevo.envs.core.errors import ConfigError
from coevo.trainers.algorithms import algorithm
from coevo.trainers.estimators import Align, LeaveOneOut, SumOthers, advantages

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
    return expected_returns(aa_ipd.dilemma(rounds), table(own), table(other), gamma)


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
    first, second = expected_returns(aa_ipd.dilemma(), late, table(ALL_C))
    assert (first, second) == pytest.approx((27.0 + 5.0, 27.0))


def test_plays_earn_what_is_expected():
    many = {"collect.episodes": 4000, "collect.group_size": 4000}
    record = algorithm("advantage_alignment", None, many)
    own, other = np.random.default_rng(7).random((2, 5))
    versions = torch.tensor([[0, 1]])
    source = torch.Generator().manual_seed(0)
    made = play(aa_ipd.dilemma(), torch.stack([table(own), table(other)]), versions, record, source)
    mean_2 = made.reward_BT.sum(1).reshape(-1, 2).mean(0)
    assert mean_2.tolist() == pytest.approx(returns(own, other), rel=0.03)


# ---- Past selves -----------------------------------------------------------------------------


def mixed(group_size=4):
    """Two groups of episodes: the policy with itself, and with a past self in the second seat."""
    record = algorithm("advantage_alignment", None, {"collect.group_size": group_size})
    odds_VCA = torch.stack([table([0.5] * 5), table([0.2] * 5)])
    source = torch.Generator().manual_seed(1)
    versions = torch.tensor([[0, 0], [0, 1]])
    return record, play(aa_ipd.dilemma(), odds_VCA, versions, record, source)


def test_seats_of_past_selves_rotate_and_are_half():
    source = torch.Generator().manual_seed(0)
    seats = torch.stack([seated(4, 3, 0.5, step, source) for step in range(500)])
    past = (seats > 0).double()
    assert past.sum(-1).max() == 1
    assert past[:, 0::2, 0].sum() == 0 and past[:, 1::2, 1].sum() == 0
    assert float(past.sum(-1).mean()) == pytest.approx(0.5, abs=0.03)
    assert set(seats.unique().tolist()) == {0, 1, 2, 3}
    assert not seated(4, 0, 0.0, 0, source).any()


def test_past_selves_are_credited_but_have_no_tokens():
    record, made = mixed()
    batch = trajectories(made, record.advantage)
    past_B = made.version_B > 0
    assert batch.token_mask_BS.any(1).tolist() == (~past_B).tolist()
    a_BS = advantages(record.advantage, batch).advantage_BS
    assert not a_BS[past_B].any() and a_BS[~past_B].any()
    naive = algorithm("advantage_alignment", "naive").advantage
    assert len(trajectories(made, naive).turn_of_BS) == int((~past_B).sum())


def test_statistics_of_learners_do_not_depend_on_past_selves():
    """What a past self was paid moves no baseline; it only aligns."""
    record, made = mixed()
    naive = replace(record.advantage, transform=())
    past_B = made.version_B > 0
    other = replace(made, reward_BT=torch.where(past_B[:, None], 100.0, made.reward_BT))
    first, second = (advantages(naive, trajectories(t, naive)) for t in (made, other))
    assert torch.equal(first.advantage_BS, second.advantage_BS)
    assert first.stats["reward/mean"] == second.stats["reward/mean"]
    alone = replace(naive, others=False)
    kept = advantages(alone, trajectories(made, alone)).advantage_BS
    assert torch.allclose(first.advantage_BS[~past_B], kept)


def test_a_past_self_gets_no_gradient_and_moves_the_learner():
    record, made = mixed()
    policy = SoftmaxTable(torch.zeros(5, 2))
    past_B = made.version_B > 0

    def gradient(which, changes=None):
        spec = replace(record, advantage=replace(record.advantage, **(changes or {})))
        return policy.gradient_CA(loss(policy, which, spec))

    shuffled = replace(made, arm_BT=torch.where(past_B[:, None], 1 - made.arm_BT, made.arm_BT))
    assert torch.equal(gradient(made), gradient(shuffled))
    poorer = replace(made, reward_BT=made.reward_BT * torch.where(past_B, 0.5, 1.0)[:, None])
    assert not torch.allclose(gradient(made), gradient(poorer))
    apart = {"others": False}  # then nobody stands beside the learner of the second group
    assert not torch.allclose(gradient(made), gradient(made, apart))


def test_a_group_that_does_not_fit_is_refused():
    record = algorithm("advantage_alignment")
    with pytest.raises(ConfigError, match="multiple of group_size=8"):
        learn(aa_ipd.dilemma(), record, Course(episodes=12, steps=1, lr=0.1), 0)


def test_a_population_without_past_selves_or_self_play_is_refused():
    record = algorithm("advantage_alignment", None, {"population": FrozenOpponent()})
    with pytest.raises(ConfigError, match="must be shared or pool"):
        learn(aa_ipd.dilemma(), record, Course(episodes=8, steps=1, lr=0.1), 0)


def test_equal_seeds_learn_equal_policies():
    record, course = algorithm("advantage_alignment"), Course(episodes=16, steps=12, lr=0.05)
    first, second, third = (learn(aa_ipd.dilemma(), record, course, s) for s in (0, 0, 1))
    assert torch.equal(first, second) and not torch.allclose(first, third)


# ---- The figures -----------------------------------------------------------------------------

SMALL = {"EPISODES": 64, "STEPS": 120, "LR": 0.1}
"""Too short for the last percent, long enough for every property."""
HELD = {
    "naive: payoff": 1.3,
    "sum of rewards: P(C | CD)": 0.5,
    "alignment: payoff": 2.2,
    "alignment: P(C | CC)": 0.85,
    "alignment: P(C | CD)": 0.15,
    "alignment: against always-defect": 0.75,
}
"""Looser bounds for the short run."""


@pytest.fixture
def figures(monkeypatch):
    def run(seeds=(0,)):
        for name, setting in SMALL.items():
            monkeypatch.setattr(aa_ipd, name, setting)
        return {row.label: row for row in aa_ipd.run(seeds).rows}

    return run


def test_the_three_ways_part(figures):
    rows = figures()
    for label, bound in HELD.items():
        row = rows[label]
        holds = row.mean <= bound if row.high < float("inf") else row.mean >= bound
        assert holds, f"{label}: {row.mean:.3f}"
    assert not rows["naive: payoff"].mean > 2.0


@pytest.mark.parametrize(
    ("component", "label"),
    [(Align, "alignment: payoff"), (SumOthers, "sum of rewards: payoff")],
)
def test_a_broken_transform_fails(monkeypatch, figures, component, label):
    monkeypatch.setattr(component, "__call__", lambda self, table: table)
    assert not figures()[label].holds


def test_the_baseline_at_another_round_fails(monkeypatch, figures):
    """Return-to-go falls with the rounds: a baseline over all of them punishes late moves."""
    loo = LeaveOneOut.__call__

    def pooled(self, y, frame, state):
        return loo(replace(self, by="group+agent"), y, frame, state)

    monkeypatch.setattr(LeaveOneOut, "__call__", pooled)
    rows = figures()
    assert not all(r.holds for label, r in rows.items() if label.startswith("alignment"))


def test_a_table_is_a_row_per_seat():
    _, made = mixed()
    assert isinstance(made, Table) and made.arm_BT.shape == (16, 10)
    own, other = made.arm_BT[0::2], made.arm_BT[1::2]
    assert torch.equal(made.reward_BT[0::2], aa_ipd.PAYOFF_AA[own, other])
    assert torch.equal(made.reward_BT[1::2], aa_ipd.PAYOFF_AA[other, own])
    # the own move first, then the other's: CD of one seat is DC of the other
    assert torch.equal(made.context_BT[0::2, 1:], 1 + 2 * own[:, :-1] + other[:, :-1])
    assert made.context_BT[:, 0].eq(0).all()
