"""Clues: their worth against play, and the references over all boards."""

import itertools

import numpy as np
import pytest

from coevo.agents import RandomAgent
from coevo.benchmarks.evaluate import evaluate
from coevo.envs import make, spec
from coevo.envs.words.codenames import CLUES, meant, worth
from coevo.envs.words.things import THINGS

ID = "coevo/codenames-v0"


def by_orders(clue, board, own):
    """Return the worth of a clue: the mean over all orders in which words may be taken."""
    mean = meant(clue, board)
    rest = [word for word in board if word not in mean]
    orders = [a + b for a in itertools.permutations(mean) for b in itertools.permutations(rest)]
    paid = []
    for order in orders:
        total = 0
        for word in order[: int(clue[-1])]:
            total += 1 if word in own else -1
            if word not in own:
                break
        paid.append(total)
    return np.mean(paid)


def test_the_worth_of_a_clue_is_the_mean_over_all_orders():
    rng = np.random.default_rng(0)
    for _ in range(6):
        drawn = [THINGS[i] for i in rng.permutation(12)[:6]]
        board, own = tuple(sorted(drawn)), frozenset(drawn[:3])
        for clue in CLUES[::2]:
            assert worth(clue, board, own) == pytest.approx(by_orders(clue, board, own))


def test_the_oracle_is_the_mean_over_all_boards():
    best = [
        max(worth(clue, board, frozenset(own)) for clue in CLUES)
        for board in itertools.combinations(THINGS, 6)
        for own in itertools.combinations(board, 3)
    ]
    assert len(best) == 924 * 20
    assert np.mean(best) == pytest.approx(spec(ID).refs["oracle"])
    assert len(CLUES) >= 20, "a clue for every choice of three words out of six"


def test_random_play_by_hand():
    """One word is worth 1/2 - 1/2; the second pays if the first did, and so on."""
    second = 1 / 2 * (2 / 5 - 3 / 5)
    third = 1 / 2 * 2 / 5 * (1 / 4 - 3 / 4)
    expected = np.mean([0, second, second + third])
    assert spec(ID).refs["random"] == pytest.approx(expected)
    assert evaluate(RandomAgent(), ID, None, 1500, seed=0).value == pytest.approx(-0.1, abs=0.1)


def test_a_wrong_word_ends_the_game_and_the_number_limits_it():
    env = make(ID)
    env.reset(seed=3)
    own = sorted(env.task.own)
    wrong = next(word for word in env.task.board if word not in own)
    env.step("[swims 2]")
    for word in own[:2]:
        env.step(f"[{word}]")
    assert not env.awaiting and env.episode.total("guesser_0") == 2
    env.reset(seed=3)
    for said in ("swims 3", own[0], wrong):
        env.step(f"[{said}]")
    assert not env.awaiting and env.episode.total("spymaster_0") == 0
