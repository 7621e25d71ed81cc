"""What small functions of the claims give."""

import torch

from coevo.benchmarks.reproductions.claim import Figure, Outcome
from coevo.benchmarks.reproductions.claims.mpo_rubric import features, jump, points
from coevo.benchmarks.reproductions.digits import read, words
from coevo.benchmarks.reproductions.donor_sentences import (
    carried_out,
    level_sentence,
    number_sentence,
    stands,
)
from coevo.benchmarks.reproductions.preferences import worst_case
from coevo.benchmarks.reproductions.tabular import (
    SoftmaxTable,
    credited,
    episodes,
    generators,
    moves,
    normal,
    padded,
    uniform,
)
from coevo.benchmarks.reproductions.worlds import arms, numbered


def test_mpo_rubric():
    assert (features("7: quality 2, length 3, keyword 5, flattery 0")["keyword"]) == 5
    assert (points("+quality\n-length", {"quality": 2, "length": 3})) == 4
    assert (jump([2.0, 1.0, 4.0, 1.0, 2.0], [1, 3])) == 1.5


def test_digits():
    assert (words("max", (1, 2, 3))) == "max of 1 2 3"
    assert (read("max of 1 2 3")) == (0, 0, 1, 2, 3, 6, 6)


def test_donor_sentences():
    assert (carried_out(level_sentence(50), []), carried_out(level_sentence(50), [0.25])) == (
        0.5,
        0.0,
    )
    assert (carried_out(level_sentence(50, standing=True), [0.0, 0.25])) == 0.5
    assert (carried_out(number_sentence(0.4, 0.25, 0.5), [0.5])) == 0.5
    assert (stands([0.0], 0.5), stands([0.0, 0.0], 0.5), stands([0.0, 0.5], 0.5)) == (
        False,
        True,
        False,
    )


def test_preferences():
    assert (round(worst_case(torch.tensor([0.3, 0.3, 0.4, 0.0], dtype=torch.float64)), 4)) == 0.5


def test_tabular():
    assert (moves(torch.tensor([0, 1]), torch.tensor([2, 0])).arm_BL.tolist()) == [[2], [0]]
    policy = SoftmaxTable(torch.zeros(1, 2))
    assert (policy.probabilities_CA().tolist()) == [[0.5, 0.5]]
    assert (credited({}, torch.tensor([1.0, 0.0]), group=torch.tensor([0, 0])).shape) == torch.Size(
        [2, 1]
    )
    assert (padded([[1.0], [0.0, 2.0]])[1].tolist()) == [[True, False], [True, True]]
    assert (
        episodes(torch.tensor([1.0, 0.0]), group=torch.tensor([0, 0])).reward_BTK.shape
    ) == torch.Size([2, 1, 1])
    assert (uniform(generators([0, 1]), 3).shape) == torch.Size([2, 3])
    assert (normal(generators([0]), 2, 3).shape) == torch.Size([1, 2, 3])


def test_worlds():
    assert (numbered(3)) == ("0", "1", "2")
    assert (arms(2)) == ("a0", "a1")


def test_claim():
    assert not (Outcome((Figure("seen", (1.0,)),)).holds)
