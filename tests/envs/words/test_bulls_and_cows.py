"""Secret codes: answers by hand, trees against a search of all trees, the references."""

import itertools

import pytest

from coevo.agents import ExpertAgent
from coevo.benchmarks.evaluate import evaluate
from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import answer
from coevo.envs.words.code_search import CodeSearch, answered

ID = "coevo/bulls_and_cows-v0"


def told(guess, code):
    """Count as players do, letter by letter."""
    bulls = cows = 0
    for place, letter in enumerate(guess):
        if letter == code[place]:
            bulls += 1
        elif letter in code:
            cows += 1
    return bulls, cows


def fewest(codes, left):
    """Return T of a set of codes by trying all trees; nothing is pruned or remembered."""
    if len(left) <= 1:
        return len(left)
    best = None
    for guess in codes:
        parts = {}
        for code in left:
            parts.setdefault(told(guess, code), []).append(code)
        if len(parts) == 1 and guess not in left:
            continue
        rest = [p for key, p in parts.items() if key[0] < len(guess)]
        if any(len(p) == len(left) for p in rest):
            continue
        total = len(left) + sum(fewest(codes, p) for p in rest)
        best = total if best is None else min(best, total)
    return best


def test_answers_count_places_and_letters():
    codes = list(map("".join, itertools.permutations("ABCD", 3)))
    assert all(answered(g, c) == told(g, c) for g in codes for c in codes)


@pytest.mark.parametrize(("letters", "length", "total"), [(3, 2, 13), (4, 2, 30), (3, 3, 15)])
def test_totals_are_those_of_a_search_through_all_trees(letters, length, total):
    search = CodeSearch(letters, length)
    assert search.total(search.all) == fewest(search.codes, list(search.codes)) == total


def test_the_expert_needs_as_many_guesses_as_its_tree_says():
    env, guesses = make(ID), []
    for code in env.task.search.codes:
        env.reset(seed=0)
        env.step(answer(code))
        while env.awaiting:
            replies = env.expert("breaker_0", 1.0)
            env.step(replies.texts[int(replies.probabilities.argmax())])
        guesses.append(env.episode.outcome["guesses"])
        assert env.episode.outcome["found"] == 1
    assert sum(guesses) == env.task.search.total(env.task.search.all) == 72
    assert max(guesses) <= 4


def test_renaming_letters_maps_every_code_to_every_other_and_changes_no_answer():
    """So no setter does better than an even one: see code_search.py."""
    codes = CodeSearch(4, 3).codes
    renamings = [str.maketrans("ABCD", "".join(p)) for p in itertools.permutations("ABCD")]
    assert {codes[0].translate(names) for names in renamings} == set(codes)
    for names in renamings:
        moved = [code.translate(names) for code in codes]
        for (g, mg), (c, mc) in itertools.product(zip(codes, moved, strict=True), repeat=2):
            assert answered(g, c) == answered(mg, mc)


def test_the_references_are_exact():
    value = 1 - 2 * (72 / 24 - 1) / 6
    found = [(23 / 24) ** (g - 1) / 24 for g in range(1, 7)]
    even = sum(p * (1 - 2 * n / 6) for n, p in enumerate(found)) - (1 - sum(found))
    assert spec(ID).refs["oracle"] == pytest.approx((value - even) / 2)
    played = evaluate(ExpertAgent(1.0), ID, "random", 400, seed=0)
    assert played.value == pytest.approx(spec(ID).refs["oracle"], abs=0.05)


def test_codes_that_are_too_many_are_refused():
    with pytest.raises(ConfigError, match="more than 60 codes"):
        make(ID, letters=6, length=3)
    with pytest.raises(ConfigError, match="length=3 must be at most letters=2"):
        make(ID, letters=2)
