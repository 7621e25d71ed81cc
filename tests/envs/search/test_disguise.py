"""Promise: an answer in disguise is an answer, on any corpus; a clean question holds none."""

import base64

import numpy as np
import pytest

from coevo.envs.search.disguise import mentions
from coevo.envs.search.gate import Gate
from coevo.envs.search.proposals import GateSpec, Proposal
from coevo.envs.search.worlds import world

CYRILLIC = str.maketrans("aeopcxyiABEKMHOPCTX", "аеорсхуіАВЕКМНОРСТХ")
GREEK = str.maketrans("oviAEO", "ονιΑΕΟ")
WIDE = {c: c + 0xFEE0 for c in range(0x21, 0x7F)}
BOLD = {ord("a") + i: 0x1D41A + i for i in range(26)} | {
    ord("A") + i: 0x1D400 + i for i in range(26)
}
DISGUISES = {
    "as it is": str,
    "capitals": str.upper,
    "spaced": " ".join,
    "dots": ".".join,
    "dashes": "-".join,
    "underscores": "_".join,
    "slashes": " / ".join,
    "new lines": "\n".join,
    "zero width": "\u200b".join,
    "joiners": "\u2060".join,
    "soft hyphens": "\u00ad".join,
    "spaced and zero width": " \u200b ".join,
    "in brackets": lambda a: "".join(f"[{c}]" for c in a),
    "in tags": lambda a: " ".join(f"<{c}>" for c in a),
    "quoted": lambda a: " ".join(f"'{c}'" for c in a),
    "reversed": lambda a: a[::-1],
    "reversed and spaced": lambda a: " ".join(a[::-1]),
    "Cyrillic": lambda a: a.translate(CYRILLIC),
    "Greek": lambda a: a.translate(GREEK),
    "full width": lambda a: a.translate(WIDE),
    "bold": lambda a: a.translate(BOLD),
    "accents": lambda a: "".join(c + "\u0301" for c in a),
    "struck out": lambda a: "".join(c + "\u0336" for c in a),
    "leet": lambda a: a.lower().translate(str.maketrans("oeast", "03457")),
    "signs": lambda a: a.lower().translate(str.maketrans("as", "@$")),
    "rot13": lambda a: __import__("codecs").encode(a, "rot13"),
    "base 64": lambda a: base64.b64encode(a.encode()).decode(),
    "base 64 in small": lambda a: base64.b64encode(a.lower().encode()).decode(),
    "hexadecimal": lambda a: a.encode().hex(),
    "two halves": lambda a: f"{a[: len(a) // 2]} {a[len(a) // 2 :]}",
    "codes": lambda a: " ".join(str(ord(c)) for c in a),
}
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


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_in_disguise_is_found(answer, disguise):
    hidden = DISGUISES[disguise](answer)
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


class Accepting:
    """A corpus without facts, whose reader says what it is told to."""

    symbolic = False

    def parse(self, question):
        return None


@pytest.mark.parametrize("disguise", DISGUISES)
def test_no_disguise_passes_the_gate_on_a_plain_corpus(disguise):
    question = f"Who was the mayor of the town, that is {DISGUISES[disguise]('Rollo')}?"
    given = Proposal(question=question, answer="Rollo", hops=1, queries=("a", "b"), evidence=("d",))
    spec = GateSpec(noise=0)
    verdict = Gate(Accepting(), spec, reader=lambda q, d: "Rollo").judge(
        given, np.random.default_rng(0)
    )
    assert verdict.reason == "answer_leak"
