"""Promise: an answer in disguise is an answer, on any corpus; a clean question holds none."""

import time
from pathlib import Path

import numpy as np
import pytest

from coevo.envs.search.disguise import mentions
from coevo.envs.search.worlds import world
from tests.envs.search.hidden_answers import FRAMES, KINDS, PLACES, judged

SQUAD = Path(__file__).resolve().parents[4] / "shared" / "data" / "squad_subset"
PLAINLY = (
    "as it is/capitals/alternate capitals/spaced/dots/dashes/commas/underscores/slashes/stars/"
    "new lines/in brackets/in tags/quoted/two halves/reversed/reversed and spaced/possessive/"
    "zero width/joiners/soft hyphens/isolates/full width/bold/circled/Cyrillic/Greek/accents/"
    "struck out/leet/rot13/base 64/base 64 in small/hexadecimal/decimal codes"
)
"""Kinds that need no corpus to be seen."""
ANSWERS = ("Rollo", "Marisol Veit", "Okeanos", "Tabasco")
NUMBERS = {
    "1984": ("nineteen eighty-four", "one nine eight four", "1 9 8 4", "1,984", "١٩٨٤"),
    "42": ("forty-two", "four two", "4 2", "Forty Two", "\u200b4\u200b2"),
    "7": ("seven", "SEVEN", "\uff17"),
}
CLEAN = (
    "Who was the mayor of the town in which the first of the two poets was born?",
    "Which river flows through the capital that lies south of the old harbour, 19 km from it?",
    "What did the others roll on the seventh day, and at which of their tables?",
    "In 1894 a bridge was built; how many arches did it have at the end of forty years?",
)


@pytest.mark.parametrize("kind", PLAINLY.split("/"))
@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_in_disguise_is_found(answer, kind):
    hidden = KINDS[kind](answer)
    assert mentions(f"Who, if not {hidden}, was the mayor?", answer), hidden


@pytest.mark.parametrize("answer", NUMBERS)
def test_numbers_in_words_are_found(answer):
    missed = [t for t in NUMBERS[answer] if not mentions(f"Is it {t} or more?", answer)]
    assert not missed


@pytest.mark.parametrize("answer", [*ANSWERS, "1984", "42", "8", "no", "us", "Ollie", "Stada"])
def test_clean_questions_hold_no_answer(answer):
    assert [q for q in CLEAN if mentions(q, answer)] == []


def test_questions_of_a_world_hold_no_name_but_their_own():
    here, rng = world("fictional", 3), np.random.default_rng(0)
    for _ in range(100):
        path = here.sample_path(rng, 2)
        along = here.trace(path)
        question = here.question(path, terse=False)
        assert mentions(question, path.start)
        assert not any(mentions(question, name) for name in along[1:] if name != path.start)


@pytest.fixture(scope="module")
def squad():
    if not SQUAD.is_dir():
        pytest.skip(f"the SQuAD subset is not at {SQUAD}")
    return world({"name": "corpus", "path": str(SQUAD)})


@pytest.mark.parametrize("kind", KINDS)
def test_no_hidden_answer_passes_the_gate_on_a_plain_corpus(squad, kind):
    questions = [(squad.questions[i].text, a) for i, a in PLACES.items()]
    asked = [(f.format(q=q, h=KINDS[kind](a)), a) for q, a in questions for f in FRAMES]
    passed = [q for q, a in asked if judged(squad, q, a, "Normans#0").valid]
    assert passed == []


def test_talk_about_spelling_is_odd(squad):
    asked = "What is the anagram of the name of the Norse leader?"
    assert judged(squad, asked, "Rollo", "Normans#0").detail == "talk about spelling: anagram"


def test_honest_questions_pass(squad):
    """Twenty-eight of 705 are refused, of which eleven do name their answer."""
    verdicts = [judged(squad, q.text, q.answers[0], q.support[0]) for q in squad.questions]
    refused = [v.reason for v in verdicts if not v.valid]
    assert set(refused) == {"answer_leak", "odd_text"}
    assert len(refused) / len(verdicts) <= 0.05


def test_lengths_are_looked_at_before_work_is_done(squad):
    started = time.process_time()
    for text in ("a1!" * 20_000, "\u0430 " * 40_000, ".- " * 30_000, "Rol lo " * 9_000):
        assert judged(squad, text, "Rollo", "Normans#0").reason in ("too_long", "too_short")
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    "text", ["a1!" * 310, "a" * 950, ". " * 470, "0" * 950, "A4" * 470, "%" * 950, "a " * 190]
)
def test_the_longest_question_takes_no_time(squad, text):
    started = time.process_time()
    judged(
        squad, f"Who is it {text}", "Rollo of Normandy and all the others of his time", "Normans#0"
    )
    assert time.process_time() - started < 0.5
