"""Mathematics by value: every gold answer of GSM8K and MATH-500 counts as right, in any thread."""

import json
import threading
import time
from pathlib import Path

import pytest

from coevo.envs.questions import final_answer, questions
from coevo.envs.questions.answers import as_number
from coevo.envs.questions.mathematics import Algebra, same_mathematics

DATA = Path(__file__).parents[4] / "shared" / "data"
real_data = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"real question files are not here: {DATA}"
)


@pytest.fixture(scope="module")
def algebra():
    made = Algebra()
    yield made
    made.close()


@real_data
@pytest.mark.parametrize(("split", "count"), [("test", 1319), ("train", 7473)])
def test_every_answer_of_gsm8k(split, count):
    source = questions({"name": "gsm8k", "path": str(DATA / "gsm8k"), "split": split})
    assert len(source) == count
    path = DATA / "gsm8k" / f"{split}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    for index, line in enumerate(lines):
        question, worked = source.item(index), json.loads(line)["answer"]
        said = final_answer(worked, question.kind)
        assert source.grade(question, said) == 1, (index, said, question.answer)
        number = as_number(question.answer)
        assert source.grade(question, str(number + 1)) == 0
        assert source.grade(question, f"${float(number):,.2f}") == 1


@real_data
def test_every_answer_of_math_500():
    source = questions({"name": "math500", "path": str(DATA / "math500")})
    assert len(source) == 500
    path = DATA / "math500" / "test.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    for index, line in enumerate(lines):
        question, worked = source.item(index), json.loads(line)["solution"]
        said = final_answer(worked, question.kind)
        assert source.grade(question, said) == 1, (index, said, question.answer)
        if index % 25 == 0:  # by algebra, which takes longer
            assert source.grade(question, f"{said}+17") == 0


@real_data
def test_every_answer_of_math_500_by_algebra_alone(algebra):
    source = questions({"name": "math500", "path": str(DATA / "math500")})
    golds = [source.item(i).answer for i in range(len(source))]
    hard = [gold for gold in golds if as_number(gold) is None]
    assert len(hard) > 150
    wrong = [gold for gold in hard if not algebra.compare(gold, gold)]
    assert wrong == []
    assert not algebra.compare(hard[0], "x+17")
    assert algebra.given_up == 0


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        (r"\frac{2}{4}", "1/2", True),
        ("0.5", r"\frac12", True),
        (r"18 \text{ dollars}", "18", True),
        ("18 dollars", "18", True),
        ("5 cm^2", "5", True),
        ("5 x", "5", False),
        ("7 or 8", "8", False),
        ("I do not know 7", "7", False),
        ("(3, 4)", "4", False),
        (r"\frac{1}{2}+17", r"\frac{1}{2}", False),
        ("pi/2", r"\frac{\pi}{2}", True),
        ("sqrt(8)", r"2\sqrt{2}", True),
        ("(3, pi/2)", r"\left( 3, \frac{\pi}{2} \right)", True),
        (r"\{2,1\}", r"\{1,2\}", True),
        ("x^2+2x+1", "(x+1)^2", True),
        ("x^2+2x+2", "(x+1)^2", False),
        (r"\frac{1}{3}", "0.5", False),
        ("12", "1,2", False),
        ("1,000", "1000", True),
        (r"\text{(C)}", "C", True),
        ("", "7", False),
        ("x" * 600, "7", False),
        ("}{\\frac\x00\ud83d\n", r"\frac{1}{2}", False),
    ],
)
def test_values_and_not_spellings_are_compared(answer, gold, same):
    assert same_mathematics(answer, gold) is same


def test_any_thread_may_grade(algebra):
    found = []

    def ask(gold, answer):
        found.append(algebra.compare(gold, answer))

    asking = [
        threading.Thread(target=ask, args=(f"\\frac{{{n}}}{{7}}", f"\\frac{{{2 * n}}}{{14}}"))
        for n in range(1, 9)
    ]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert found == [True] * 8


def test_an_answer_without_end_is_wrong_and_the_next_is_judged(algebra):
    assert algebra.compare("x", "x")
    given_up, algebra.seconds = algebra.given_up, 0.5
    start = time.monotonic()
    assert not algebra.compare("3", "9^{9^{9^{9}}}")
    assert time.monotonic() - start < 10
    assert algebra.given_up == given_up + 1
    algebra.seconds = 25.0
    assert algebra.compare(r"\frac{1}{2}", r"\frac{3}{6}")


def test_a_process_that_died_is_started_again(algebra):
    assert algebra.compare("y", "y")
    algebra._process.kill()
    algebra._process.wait()
    assert algebra.compare("y", "y")


def test_closing_leaves_no_process_behind(algebra):
    assert algebra.compare("z", "z")
    process = algebra._process
    algebra.close()
    algebra.close()
    assert process.poll() is not None
