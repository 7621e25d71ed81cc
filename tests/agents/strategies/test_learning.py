"""Players who learn within an episode of a 2x2 game."""

import numpy as np
import pytest

from coevo.agents import SCRIPTED
from coevo.agents.strategies.iterated import LEARNERS, fictitious_play, regret_matching
from coevo.benchmarks.evaluate import evaluate
from coevo.envs.core.errors import ConfigError
from coevo.envs.dilemmas.catalogue import matrix_game

ITERATED = "coevo/iterated_game-v0"


def rules(first, second, game):
    payoffs = matrix_game(game).payoffs
    return [SCRIPTED[name]().rule(payoffs, i) for i, name in enumerate((first, second))]


def played(first, second, game, rounds, seed=0):
    """Joint moves, [rounds, 2]."""
    rng, pasts = np.random.default_rng(seed), ([], [])
    both = rules(first, second, game)
    for _ in range(rounds):
        shares = both[0](pasts[0], pasts[1]), both[1](pasts[1], pasts[0])
        for past, share in zip(pasts, shares, strict=True):
            past.append(int(rng.random() >= share))
    return np.array(pasts).T


@pytest.mark.parametrize("name", LEARNERS)
def test_frequencies_approach_the_equilibrium_of_a_zero_sum_game(name):
    """Brown, Robinson: empirical play converges in zero-sum games; so do regret minimisers."""
    moves = played(name, name, "matching_pennies", 600)
    assert moves.mean(axis=0) == pytest.approx([0.5, 0.5], abs=0.08)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_dominant_action_is_learnt_and_kept(name):
    assert played(name, "always_c", "prisoners_dilemma", 60)[20:, 0].all()
    assert not played(name, "always_d", "harmony", 60)[20:, 0].any()


def test_both_seats_of_an_uneven_game_read_their_own_payoffs():
    first, second = rules("fictitious_play", "fictitious_play", "battle_of_sexes")
    assert (first([], []), second([], [])) == (1.0, 0.0)


def test_small_histories_by_hand():
    own = np.array([[3.0, 0.0], [5.0, 1.0]])
    hunt = np.array([[4.0, 0.0], [3.0, 2.0]])
    # The other's stags and hares, one each at first: 4:5 for stag and hare, then 8:8, 12:11.
    assert [fictitious_play(hunt, [0] * n, [0] * n) for n in (0, 1, 2)] == [0.0, 0.5, 1.0]
    assert regret_matching(own, [], []) == 0.5
    assert regret_matching(own, [1], [0]) == 0.5  # nothing would have been better
    # Got 3 and 0; always stag 4 + 0 = 4, always hare 3 + 2 = 5: regrets 1 and 2.
    assert regret_matching(hunt, [1, 0], [0, 1]) == pytest.approx(1 / 3)


@pytest.mark.parametrize("name", LEARNERS)
def test_they_play_in_the_environment_and_name_games_that_they_cannot(name):
    found = evaluate(SCRIPTED[name](), ITERATED, "tft", 4)
    assert found.illegal_rate == 0
    with pytest.raises(ConfigError, match="for two players"):
        evaluate(SCRIPTED[name](), ITERATED, games=2, env_options={"game": "volunteers_dilemma"})
    with pytest.raises(ConfigError, match="only"):
        evaluate(SCRIPTED[name](), "coevo/kuhn_poker-v0", games=2)
