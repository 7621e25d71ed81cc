import numpy as np
import pytest

from coevo.envs.dilemmas.split import HANDS, beats, split_payoff, split_shares


@pytest.mark.parametrize(
    ("claims", "shares"),
    [
        ((10, 10), (5, 5)),
        ((10, 0), (10, 0)),
        ((0, 0), (0, 0)),
        ((3, 4), (3, 4)),
        ((5, 10), (10 / 3, 20 / 3)),
        ((7, 3), (7, 3)),
    ],
)
def test_shares_are_in_proportion_and_never_more_than_claimed(claims, shares):
    assert split_shares(claims) == pytest.approx(shares)


def test_all_claims_share_out_at_most_the_coins():
    claims = np.stack(np.meshgrid(np.arange(11), np.arange(11), indexing="ij"), axis=-1)
    shares = split_shares(claims)
    assert (shares <= claims + 1e-12).all()
    total = shares.sum(axis=-1)
    assert total == pytest.approx(np.minimum(10, claims.sum(axis=-1)))


def test_benchmarks_of_known_players():
    assert split_payoff([10, 10], [10, 1]).sum() == 55
    assert split_payoff([10, 0], [10, 1]).sum() == 100
    assert split_payoff([[10, 10], [0, 10]], [[10, 1], [1, 10]]).tolist() == [[50, 5], [0, 100]]


def test_more_coins():
    assert split_payoff([20, 20], [10, 1], coins=20).tolist() == [100, 10]


def test_each_hand_beats_exactly_one():
    wins = {(a, b) for a in HANDS for b in HANDS if beats(a, b)}
    assert wins == {("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")}
