"""Undercover and the Chameleon: beliefs by enumeration, ends by hand, the random references."""

from fractions import Fraction
from itertools import product

import pytest

from coevo.envs import make, spec
from coevo.envs.core.parsing import answer
from coevo.envs.deduction.clue_game import SLIP, HiddenWords
from coevo.envs.deduction.undercover import NEAR, PAIRS
from coevo.envs.words.things import PROPERTIES, THINGS, TRUE_OF

UNDERCOVER, CHAMELEON = "coevo/undercover-v0", "coevo/chameleon-v0"
P = [f"player_{i}" for i in range(4)]


def started(id, world, **options):
    env = make(id, **options)
    env.reset(seed=0)
    env.task.world = world
    if id == CHAMELEON:
        env.task.board = ["bat", "cow", "eagle", world.word]
    return env


def voted(env, clues, votes):
    for clue in clues:
        env.step(answer(clue))
    for _ in P:
        env.step("I say nothing.")
    for vote in votes:
        env.step(answer(P[vote]))


@pytest.mark.parametrize(
    ("votes", "paid"), [((2, 2, 0, 2), [1, 1, 0, 1]), ((2, 2, 0, 0), [0, 0, 1, 0])]
)
def test_undercover_pays_those_who_find_it(votes, paid):
    env = started(UNDERCOVER, HiddenWords("bat", "cat", P[2]))
    voted(env, PROPERTIES[:4], votes)
    assert [env.episode.total(s) for s in P] == paid


def test_beliefs_about_pairs_of_words_by_enumeration():
    env = started(UNDERCOVER, HiddenWords("salmon", "snake", P[1]))
    clues = ("swims", "lays eggs", "flies")
    for clue in clues:
        env.step(answer(clue))
    weights = {}
    for (word, other), who in product(PAIRS, P):
        if (other if who == P[3] else word) != "salmon":
            continue
        p, left = 1.0, list(PROPERTIES)
        for seat, clue in zip(P, clues, strict=False):
            true = [c for c in left if c in TRUE_OF[other if seat == who else word]] or left
            p *= 1 / len(true) if clue in true else SLIP
            left.remove(clue)
        weights[who] = weights.get(who, 0.0) + p
    total = sum(weights.values())
    expected = {who: weights[who] / total for who in P[:3]}
    assert env.task.suspicion(P[3]) == pytest.approx(expected)


def test_pairs_are_alike_and_every_thing_has_one():
    assert {a for a, _ in PAIRS} == set(THINGS)
    assert all(len(TRUE_OF[a] ^ TRUE_OF[b]) <= NEAR and (b, a) in PAIRS for a, b in PAIRS)


@pytest.mark.parametrize(("guess", "paid"), [("cow", [0, 1, 1, 1]), ("otter", [1, 0, 0, 0])])
def test_a_chameleon_that_is_found_may_still_name_the_word(guess, paid):
    env = started(CHAMELEON, HiddenWords("otter", None, P[0]))
    voted(env, PROPERTIES[:4], (1, 0, 0, 0))
    assert "You were found." in env.chat(P[0])[-1]["content"]
    env.step(answer(guess))
    assert [env.episode.total(s) for s in P] == paid


def test_an_expert_chameleon_guesses_by_the_clues_alone():
    env = started(CHAMELEON, HiddenWords("eagle", None, P[3]))
    env.task.board = ["bat", "cow", "eagle"]
    for clue in ("flies", "lays eggs", "eats meat"):
        env.step(answer(clue))
    assert max(env.task.word_odds(env.task.clues).items(), key=lambda w: w[1])[0] == "eagle"
    odds = env.task.clue_odds(env.task.world, P[3], env.task.clues)
    assert odds["has legs"] == max(odds.values()) and odds["swims"] < 0.01
    assert sum(odds.values()) == pytest.approx(1)


def test_random_play_by_hand():
    ballots = list(product(*[[o for o in range(4) if o != i] for i in range(4)]))
    alone = [b for b in ballots if all(b.count(0) > b.count(i) for i in (1, 2, 3))]
    found = Fraction(len(alone), len(ballots))
    assert spec(UNDERCOVER).refs["random"] == pytest.approx(float((3 * found + 1 - found) / 4))
    lost = found * Fraction(5, 6)
    assert spec(CHAMELEON).refs["random"] == pytest.approx(float((3 * lost + 1 - lost) / 4))
