"""Advantage Alignment in the split game: payoffs, and what groups of one deal are worth."""

from dataclasses import replace

import pytest
import torch

from coevo.benchmarks.reproductions import aa_split
from coevo.benchmarks.reproductions.repeated_table import expected_returns, play
from coevo.envs.dilemmas.split import split_payoff
from coevo.trainers.algorithms import algorithm
from coevo.trainers.estimators import LeaveOneOut


def policy(low, high):
    """Claim one thing in the low role and one in the high, by arm."""
    odds_CA = torch.zeros(2 * aa_split.MEMORIES, 3, dtype=torch.float64)
    odds_CA[: aa_split.MEMORIES, low] = 1.0
    odds_CA[aa_split.MEMORIES :, high] = 1.0
    return odds_CA


def joint(policy_CA):
    return sum(expected_returns(aa_split.split(), policy_CA, policy_CA)) / aa_split.ROUNDS


def test_joint_payoffs_of_known_manners():
    assert joint(aa_split.GREEDY) == pytest.approx(55.0)
    assert joint(policy(low=0, high=2)) == pytest.approx(100.0)
    assert joint(policy(low=0, high=0)) == pytest.approx(0.0)
    # 5 of 15 claimed coins for the low role, 10 of 15 for the high one
    assert joint(policy(low=1, high=2)) == pytest.approx(10 / 3 + 200 / 3)


def test_payoffs_are_those_of_the_environment():
    arms = torch.cartesian_prod(torch.arange(3), torch.arange(3))
    for role in (torch.tensor([0, 1]), torch.tensor([1, 0])):
        got_N2 = aa_split.split().pay(role.expand(9, 2), arms)
        worth = tuple(aa_split.WORTH_R[role].tolist())
        for got_2, arm_2 in zip(got_N2, arms, strict=True):
            claims = [int(c) for c in aa_split.CLAIM_A[arm_2]]
            assert got_2.tolist() == pytest.approx(split_payoff(claims, worth, 10).tolist())


def test_a_seat_sees_its_role_and_what_the_other_was_and_did():
    record = algorithm("advantage_alignment", "split", {"collect.group_size": 4})
    source = torch.Generator().manual_seed(0)
    odds_VCA = torch.full((1, 14, 3), 1 / 3, dtype=torch.float64)
    versions = torch.zeros(2, 2, dtype=torch.int64)
    made = play(aa_split.split(), odds_VCA, versions, record, source)
    role_BT = made.context_BT // aa_split.MEMORIES
    memory_BT = made.context_BT % aa_split.MEMORIES
    assert torch.equal(role_BT[0::2], 1 - role_BT[1::2])
    first, other = memory_BT[0::2], slice(1, None, 2)
    assert first[:, 0].eq(0).all()
    assert torch.equal(first[:, 1:], 1 + 3 * role_BT[other, :-1] + made.arm_BT[other, :-1])
    # episodes of a group are of one deal, and not all groups of the same
    assert role_BT[0:8:2].unique(dim=0).shape[0] == 1
    assert not torch.equal(role_BT[0], role_BT[8])


@pytest.fixture
def figures(monkeypatch):
    def run():
        for name, setting in {"EPISODES": 64, "STEPS": 120, "LR": 0.1}.items():
            monkeypatch.setattr(aa_split, name, setting)
        return {row.label: row for row in aa_split.run([0]).rows}

    return run


def test_the_four_ways_part(figures):
    rows = figures()
    assert rows["naive: joint payoff"].mean < rows["alignment: joint payoff"].mean - 5
    assert rows["sum of rewards: joint payoff"].mean > 90
    assert rows["alignment: P(give | gave)"].mean > rows["alignment: P(give | claimed all)"].mean
    assert rows["joint payoff that groups of one deal are worth"].mean > 15


def test_without_the_deal_in_its_baseline_it_fails(monkeypatch, figures):
    loo = LeaveOneOut.__call__

    def whole_batch(self, y, frame, state):
        return loo(replace(self, by="agent+turn"), y, frame, state)

    monkeypatch.setattr(LeaveOneOut, "__call__", whole_batch)
    rows = figures()
    assert not rows["alignment: joint payoff"].holds
    assert not rows["joint payoff that groups of one deal are worth"].holds
