"""Language evolution: codes are carried out, recombined without a word twice, and found out."""

import numpy as np
import pytest

from coevo.benchmarks.reproductions.claims import language_evolution as evolution
from coevo.benchmarks.reproductions.code_words import Recombined, code_of, sentence
from coevo.trainers.archive.archive import Artifact


def test_children_take_words_of_their_parents_and_none_twice():
    one, two = ("fox", "owl", "elm"), ("owl", "fox", "ant")
    parents = [Artifact(str(i), "instruction", sentence(c)) for i, c in enumerate((one, two))]
    every = (*one, "ant", "bee")
    still, moved = (Recombined(words=every, numbers=3, mutation=share) for share in (0.0, 1.0))
    children = [
        code_of(still(None, parents, np.random.default_rng(seed)).text) for seed in range(50)
    ]
    assert all(
        word in (a, b) for child in children for word, a, b in zip(child, one, two, strict=True)
    )
    assert all(len(set(child)) == 3 for child in children)
    assert len({tuple(child) for child in children}) == 4, (
        "two words are swapped or not, one of two"
    )
    drawn = [code_of(moved(None, parents, np.random.default_rng(seed)).text) for seed in range(50)]
    assert "bee" in {word for child in drawn for word in child}
    assert code_of(still(None, [], np.random.default_rng(0)).text) != []


def test_partners_read_what_their_code_says_and_a_supervisor_finds_one_code_out():
    first = evolution.CLAIM.measures("fixed", steps=1)
    assert first["accuracy"] == pytest.approx(1 - first["stopped"]), "what passes is understood"
    later = evolution.CLAIM.measures("fixed", steps=40)
    assert later["accuracy"] < first["accuracy"] / 2 + 0.1
