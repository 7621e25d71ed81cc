"""What every source of questions promises, and how sources are named."""

import copy
import json
import pickle
import re

import numpy as np
import pytest

from coevo.envs.core.errors import ConfigError, DataError, UnknownNameError
from coevo.envs.questions import Question, QuestionSource, final_answer, questions

MINE = [
    {"question": "Capital of Italy?", "answer": "Rome"},
    {"question": "2+2?", "answer": 4, "kind": "number", "id": "four"},
    {"question": "Half of 1?", "answer": "\\frac{1}{2}", "kind": "mathematics"},
    {"question": "Which? A: no, B: yes", "answer": "B", "kind": "choice"},
]


def drawn_by(source, rng):
    return source.item(int(rng.integers(len(source))))


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in MINE), encoding="utf-8")
    return path


def test_a_line_may_have_paraphrases(tmp_path):
    path = tmp_path / "mine.jsonl"
    line = {**MINE[0], "paraphrases": ["Rome is the capital of?<|end|>"]}
    path.write_text(json.dumps(line), encoding="utf-8")
    question = questions({"name": "jsonl", "path": str(path)}).item(0)
    other = question.reworded(1)
    assert other.in_full == "Question:\n| Rome is the capital of?‹|end|›"
    assert other.answer == question.answer and question.reworded(0) == question
    with pytest.raises(ConfigError, match="has 1 paraphrases, asked for number 2"):
        question.reworded(2)
    path.write_text(json.dumps({**line, "paraphrases": "one"}), encoding="utf-8")
    with pytest.raises(DataError, match="must be a list of texts"):
        questions({"name": "jsonl", "path": str(path)})


@pytest.fixture
def source(request, mine):
    spec = request.param
    return questions({"name": "jsonl", "path": str(mine)} if spec == "mine" else spec)


EVERY = pytest.mark.parametrize(
    "source",
    [
        "digits",
        {"name": "digits", "task": "sum"},
        {"name": "digits", "low": 10, "high": 19, "split": "test"},
        "sums",
        "word_problems",
        {"name": "word_problems", "task": "stories", "hardest": 0, "split": "test"},
        {"name": "reasoning_gym", "task": "leg_counting"},
        {"name": "reasoning_gym", "task": "string_manipulation", "size": 9, "seed": 3},
        "mine",
    ],
    indirect=True,
    ids=str,
)


@EVERY
def test_every_source_keeps_its_promises(source):
    drawn = [drawn_by(source, np.random.default_rng(5)) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert source.item(0) == source.item(0) != source.item(len(source) - 1)
    for question in (source.item(0), source.item(len(source) - 1), *drawn):
        assert isinstance(question, Question)
        assert question.question
        assert question.source == source.name
        assert source.grade(question, question.answer) == 1
        assert source.grade(question, None) == 0
        assert source.grade(question, "no idea at all") < 1
    with pytest.raises(ConfigError, match=f"questions 0..{len(source) - 1}"):
        source.item(len(source))
    with pytest.raises(ConfigError, match="asked for -1"):
        source.item(-1)


@EVERY
def test_every_source_is_made_again_from_its_spec(source):
    spec = json.loads(json.dumps(source.record))
    for other in (questions(spec), pickle.loads(pickle.dumps(source)), copy.deepcopy(source)):
        assert other.record == source.record
        assert len(other) == len(source)
        assert other.item(1) == source.item(1)
    assert copy.deepcopy(source) is source
    assert questions(source) is source


def test_the_built_in_arithmetic_is_right():
    for spec, right in (
        ("digits", lambda a, b: max(a % 10, b % 10)),
        ({"name": "digits", "task": "sum"}, lambda a, b: (a + b) % 10),
        ("sums", lambda a, b, c, d, e, f: a + b * c + d - e * f),
    ):
        source, rng = questions(spec), np.random.default_rng(0)
        drawn = [drawn_by(source, rng) for _ in range(200)]
        numbers = [map(int, re.findall(r"\d+", q.question)) for q in drawn]
        assert [q.answer for q in drawn] == [str(right(*n)) for n in numbers]
        assert len({q.id for q in drawn}) > 150
    assert questions().item(4783).question == "larger last digit of 47, 83?"
    assert questions({"name": "sums", "high": 3}).item(4**6 - 1).question == "3+3*3+3-3*3=?"


WAYS = {"plus": lambda a, b: a + b, "minus": lambda a, b: a - b, "times": lambda a, b: a * b}
WAYS["twice"] = lambda a, b, c: a * b + c


@pytest.mark.parametrize("task", ["sums", "stories", "mixed"])
def test_word_problems_say_their_numbers_and_answer_them(task):
    source, rng = questions({"name": "word_problems", "task": task}), np.random.default_rng(0)
    drawn = [drawn_by(source, rng) for _ in range(400)]
    drawn += [source.item(source.draw(rng, d)) for d in source.difficulties for _ in range(40)]
    for asked in drawn:
        way, *numbers = asked.id.split("-")
        assert asked.answer == str(WAYS[way](*map(int, numbers)))
        assert re.findall(r"\d+", asked.sentence) == re.findall(r"\d+", asked.question) == numbers
        assert asked.sentence.endswith("?")
        assert len(asked.question) < 120
    stories = np.mean([asked.question == asked.sentence for asked in drawn])
    assert {"sums": stories == 0, "stories": stories == 1, "mixed": 0.3 < stories < 0.7}[task]


def test_word_problems_are_drawn_by_difficulty():
    source, rng = questions("word_problems"), np.random.default_rng(0)
    levels = list(source.difficulties)
    assert (levels[0], levels[-1], len(levels)) == (0, 1, 7)
    drawn = [source.item(source.draw(rng)).difficulty for _ in range(1400)]
    assert all(
        140 < drawn.count(level) < 260 for level in levels
    )  # however many questions each has
    for asked, level in ((0, 0), (0.07, 0), (0.5, 0.5), (0.95, 1)):
        assert source.item(source.draw(rng, asked)).difficulty == level
    place = source.draw(rng, 0.5)
    assert source.item(source.near(place, rng)).difficulty == 0.5
    easy = questions({"name": "word_problems", "hardest": 0})
    assert {easy.item(easy.draw(rng, 1)).difficulty for _ in range(9)} == {0}
    assert all(int(n) < 10 for i in range(len(easy)) for n in easy.item(i).id.split("-")[1:])


def test_no_numbers_of_a_word_problem_are_in_both_splits_however_hard():
    train = questions({"name": "word_problems", "split": "train", "hardest": 0.2, "task": "sums"})
    test = questions({"name": "word_problems", "split": "test"})
    ids = [{s.item(i).id for i in range(len(s))} for s in (train, test)]
    assert min(map(len, ids)) > 90
    assert not ids[0] & ids[1]


def test_a_fifth_is_held_out():
    whole = questions("digits")
    parts = {p: questions({"name": "digits", "split": p}) for p in ("train", "test")}
    ids = {p: {s.item(i).id for i in range(len(s))} for p, s in parts.items()}
    assert len(ids["test"]) == len(whole) // 5
    assert not ids["test"] & ids["train"]
    assert ids["test"] | ids["train"] == {whole.item(i).id for i in range(len(whole))}
    answers = [parts["test"].item(i).answer for i in range(len(parts["test"]))]
    assert {str(d) for d in range(10)} == set(answers)


@pytest.mark.parametrize(
    ("spec", "error", "says"),
    [
        ("digit", UnknownNameError, "did you mean 'digits'"),
        ({"name": "digits", "task": "product"}, ConfigError, "'product' must be 'larger' or 'sum'"),
        ({"task": "sum"}, ConfigError, "must be a name, or a mapping with one"),
        ({"name": "digits", "hihg": 9}, UnknownNameError, "did you mean 'high'"),
        ({"name": "digits", "low": 9, "high": 3}, ConfigError, "low=9 must be at most high=3"),
        ({"name": "digits", "split": "dev"}, ConfigError, "split='dev'"),
        ({"name": "sums", "split": "test"}, ConfigError, "not 5 to 1000000"),
        ({"name": "sums", "high": 2000}, ConfigError, "at most 1400"),
        ({"name": "word_problems", "easiest": 0.8, "hardest": 0.7}, ConfigError, "no level lies"),
        ({"name": "word_problems", "hardest": 7}, ConfigError, "hardest=7"),
        ("gsm8k", ConfigError, "gsm8k.path is missing"),
        ({"name": "jsonl", "path": "/no/at/all.jsonl"}, DataError, "cannot read /no/at/all.jsonl"),
        ("reasoning_gym", ConfigError, "task is missing"),
        (
            {"name": "reasoning_gym", "task": "leg_countin"},
            UnknownNameError,
            "did you mean 'leg_counting'",
        ),
        (
            {"name": "reasoning_gym", "task": "leg_counting", "settings": {"legs": 3}},
            ConfigError,
            "leg_counting.*legs",
        ),
        (
            {"name": "reasoning_gym", "task": "leg_counting", "settings": {"min_animals": -3}},
            ConfigError,
            "leg_counting",
        ),
    ],
)
def test_a_wrong_spec_says_what_is_wrong(spec, error, says):
    with pytest.raises(error, match=says):
        questions(spec)


def test_a_file_of_ones_own(mine):
    source = questions({"name": "jsonl", "path": str(mine)})
    assert [source.item(i).kind for i in range(4)] == ["text", "number", "mathematics", "choice"]
    assert [source.item(i).id for i in range(4)] == ["1", "four", "3", "4"]
    assert source.grade(source.item(0), "rome.") == 1
    assert source.grade(source.item(1), "4.0") == 1
    assert source.grade(source.item(2), "0.5") == 1
    assert source.grade(source.item(2), "0.4") == 0
    assert source.grade(source.item(3), "(B) yes") == 1
    assert (
        questions({"name": "jsonl", "path": str(mine), "kind": "choice"}).item(0).kind == "choice"
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{not json", "not JSON"),
        (b"[1, 2]", "an object is expected, found list"),
        (b'{"question": "a"}', "'answer' must be text, found None"),
        (b'{"question": "a", "answer": ["b"]}', "'answer' must be text"),
        (b'{"question": "a", "answer": true}', "'answer' must be text, found True"),
        (b'{"question": " ", "answer": "b"}', "'question' is empty"),
        (b'{"question": "a", "answer": "b", "kind": 3.5, "id": null}', "'id' must be text"),
        (b'{"question": "a", "answer": "b", "id": "1"}', "the id '1' was there before"),
        (b'{"question": "\xff", "answer": "b"}', "not JSON"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_broken_line_is_named_or_skipped_and_counted(tmp_path, line, says):
    path = tmp_path / "mine.jsonl"
    good = b'{"question": "a", "answer": "b"}'
    path.write_bytes(b"\n".join([good, b"", line, good]))
    with pytest.raises(DataError, match=rf"mine.jsonl, line 3: {says}"):
        questions({"name": "jsonl", "path": str(path)})
    source = questions({"name": "jsonl", "path": str(path), "on_error": "skip"})
    assert len(source) == 2
    assert len(source.skipped) == 1
    assert source.skipped[0].startswith(f"line 3: {says}")
    assert questions(source.record).skipped == source.skipped


def test_a_file_without_a_question_stops_before_anything_starts(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text("\n\n{\n")
    for arguments in ({"path": str(path), "on_error": "skip"}, {"path": str(tmp_path)}):
        with pytest.raises(DataError, match=r"holds no question|cannot read"):
            questions({"name": "jsonl", **arguments})
    with pytest.raises(ConfigError, match="on_error='ignore'"):
        questions({"name": "jsonl", "path": str(path), "on_error": "ignore"})


def test_the_published_form_of_gsm8k_is_asked_for(tmp_path):
    path = tmp_path / "test.jsonl"
    path.write_text('{"question": "a", "answer": "4"}\n')
    with pytest.raises(DataError, match=r"line 1: 'answer' does not end with '#### N'"):
        questions({"name": "gsm8k", "path": str(tmp_path)})


def test_reasoning_gym_grades_by_its_own_verifier():
    source = questions({"name": "reasoning_gym", "task": "countdown", "size": 5})
    question = source.item(2)
    assert source.grade(question, question.answer) == 1
    turned = f"0 + ({question.answer})"  # right value, but with a number that was not given
    assert source.grade(question, turned) < 1
    assert source.grade(question, "(" * 5000) < 1
    assert final_answer(f"<answer>{question.answer}</answer>") == question.answer


def test_a_source_of_ones_own_is_taken_as_it_is():
    class Two(QuestionSource):
        name = "two"

        def __len__(self):
            return 2

        def item(self, index):
            return Question("1+1?", "2", "number", str(self._place(index)), self.name)

    source = questions(Two())
    assert source.record == {"name": "two"}
    assert source.grade(drawn_by(source, np.random.default_rng(0)), "2.0") == 1
