"""Advantage Alignment in the split game: payoffs, and what groups of one deal are worth."""

from dataclasses import replace

import pytest
import torch

from coevo.benchmarks.reproductions.claims import aa_split
from coevo.benchmarks.reproductions.repeated_table import expected_returns
from coevo.envs.dilemmas.split import split_payoff
from coevo.trainers.components import LeaveOneOut


def policy(low, high):
    """Claim one thing in the low role and one in the high, by arm."""
    odds_CA = torch.zeros(2 * aa_split.MEMORIES, 3, dtype=torch.float64)
    odds_CA[: aa_split.MEMORIES, low] = 1.0
    odds_CA[aa_split.MEMORIES :, high] = 1.0
    return odds_CA


def joint(policy_CA):
    return sum(expected_returns(aa_split.SPLIT, policy_CA, policy_CA)) / aa_split.ROUNDS


def test_joint_payoffs_of_known_manners():
    assert joint(aa_split.GREEDY) == pytest.approx(55.0)
    assert joint(policy(low=0, high=2)) == pytest.approx(100.0)
    assert joint(policy(low=0, high=0)) == pytest.approx(0.0)
    # 5 of 15 claimed coins for the low role, 10 of 15 for the high one
    assert joint(policy(low=1, high=2)) == pytest.approx(10 / 3 + 200 / 3)


def test_payoffs_are_those_of_the_environment():
    arms = torch.cartesian_prod(torch.arange(3), torch.arange(3))
    for role in (torch.tensor([0, 1]), torch.tensor([1, 0])):
        got_N2 = aa_split.SPLIT.pay(role.expand(9, 2), arms)
        worth = tuple(aa_split.WORTH_R[role].tolist())
        for got_2, arm_2 in zip(got_N2, arms, strict=True):
            claims = [int(c) for c in aa_split.CLAIM_A[arm_2]]
            assert got_2.tolist() == pytest.approx(split_payoff(claims, worth, 10).tolist())


@pytest.mark.slow
def test_the_four_ways_part(rows):
    found = rows()
    assert found["naive: joint payoff"].mean < found["alignment: joint payoff"].mean - 5
    assert found["sum of rewards: joint payoff"].mean > 90
    assert found["alignment: P(give | gave)"].mean > found["alignment: P(give | claimed all)"].mean
    assert found["joint payoff that groups of one deal are worth"].mean > 15


@pytest.mark.slow
def test_without_the_deal_in_its_baseline_it_fails(monkeypatch, rows):
    loo = LeaveOneOut.__call__

    def whole_batch(self, e):
        return loo(replace(self, by="agent+turn"), e)

    monkeypatch.setattr(LeaveOneOut, "__call__", whole_batch)
    assert not rows("alignment: joint payoff")["alignment: joint payoff"].holds


@pytest.fixture
def rows():
    """Return a function that gives the figures of 60 larger steps, in which the ways part."""
    claim = aa_split.CLAIM
    quick = replace(claim, changes={**claim.changes, "optim.lr": 0.3})
    return lambda some="": {f.label: f for f in quick.run([0], steps=60, labels=some).figures}
