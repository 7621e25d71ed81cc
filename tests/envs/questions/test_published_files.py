"""Questions of published files: multiple choice, SciBench, AIME, and questions over paragraphs."""

import json
from pathlib import Path

import pytest

from coevo.envs import make
from coevo.envs.core.errors import DataError
from coevo.envs.questions import questions

DATA = Path(__file__).parents[4] / "shared" / "data"
real_data = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"real question files are not here: {DATA}"
)


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return str(path)


def lines(*entries):
    return "\n".join(map(json.dumps, entries))


# ---- Multiple choice ----------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["B", "b", 1, "four"])
def test_a_choice_is_named_by_letter_place_or_text(tmp_path, answer):
    entry = {"question": "2 + 2?", "choices": ["three", "four"], "answer": answer}
    source = questions({"name": "choice", "path": written(tmp_path, "a.jsonl", lines(entry))})
    asked = source.item(0)
    assert (asked.answer, asked.choices, asked.kind) == ("B", ("A", "B"), "choice")
    assert asked.sentence == "2 + 2?\nA. three\nB. four"
    assert asked.question == "2 + 2? (A) three (B) four"
    assert [source.grade(asked, said) for said in ("b", "(B) four", "A", None)] == [1, 1, 0, 0]


def test_choices_are_moves_of_teams(tmp_path):
    entry = {"question": "2 + 2?", "choices": ["three", "four"], "answer": "B"}
    spec = {"name": "choice", "path": written(tmp_path, "a.jsonl", lines(entry))}
    env = make("coevo/pioneer_observer-v0", questions=spec)
    env.reset(seed=0)
    assert env.infos["pioneer_0"]["legal_actions"] == ["A", "B"]
    assert "B. four\nLegal moves: [A], [B]" in env.chat("pioneer_0")[-1]["content"]
    env.step("[B]")
    env.step("So (A). [A]")
    assert dict(env.rewards) == {"pioneer_0": 1.0, "observer_0": 1.0}


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"choices": ["a"], "answer": "A"}, "2 to 26 texts"),
        ({"choices": "ab", "answer": "A"}, "2 to 26 texts"),
        ({"choices": ["a", "b"], "answer": "C"}, "a letter from A to B, a place from 0 to 1"),
        ({"choices": ["a", "b"], "answer": 2}, "found 2"),
        ({"choices": ["x", "x"], "answer": "x"}, "one of the choices"),
        ({"choices": ["x", None], "answer": "A"}, "'choices' must be text"),
    ],
)
def test_a_choice_without_a_right_answer_is_refused(tmp_path, entry, says):
    path = written(tmp_path, "a.jsonl", lines({"question": "Which?", **entry}))
    with pytest.raises(DataError, match=rf"line 1: .*{says}"):
        questions({"name": "choice", "path": path})


def test_mmlu_is_a_table_without_a_head(tmp_path):
    text = '"Who, of these, is it?",Ann,Ben,"Mia, or so",Tom,C\nNext?,1,2,3,4,A\n'
    source = questions({"name": "mmlu", "path": written(tmp_path, "a_test.csv", text)})
    assert len(source) == 2
    assert source.item(0).answer == "C"
    assert source.item(0).sentence.endswith("C. Mia, or so\nD. Tom")
    broken = written(tmp_path, "b.csv", "What?,1,2,3,4,E\n")
    with pytest.raises(DataError, match="a letter from A to D"):
        questions({"name": "mmlu", "path": broken})


def test_gpqa_orders_its_answers_by_question_alone(tmp_path):
    head = "Record ID,Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,"
    rows = [f"r{n},Question {n}?,right {n},a{n},b{n},c{n}" for n in range(40)]
    both = []
    for name, kept in (("a.csv", rows), ("b.csv", rows[::-1])):
        text = "\n".join([f"{head}Incorrect Answer 3", *kept])
        source = questions({"name": "gpqa", "path": written(tmp_path, name, text)})
        both.append({q.id: q for q in (source.item(i) for i in range(40))})
    assert both[0] == both[1]
    for asked in both[0].values():
        assert f"{asked.answer}. right {asked.id[1:]}" in asked.sentence
    assert {asked.answer for asked in both[0].values()} == set("ABCD")


# ---- Numbers ------------------------------------------------------------------------------------


def test_aime_answers_are_numbers_up_to_999(tmp_path):
    path = written(tmp_path, "a.jsonl", lines({"problem": "How many?", "answer": "042"}))
    source = questions({"name": "aime", "path": path})
    assert source.grade(source.item(0), "42") == source.grade(source.item(0), "042") == 1
    for answer in ("1000", "-1", "x", 3.5):
        broken = written(tmp_path, "b.jsonl", lines({"problem": "How many?", "answer": answer}))
        with pytest.raises(DataError, match="a whole number from 0 to 999"):
            questions({"name": "aime", "path": broken})


@pytest.mark.parametrize(
    ("gold", "said", "right"),
    [
        ("50.7", "50.7", 1),
        ("50.7", "53.2", 1),
        ("50.7", "53.3", 0),
        ("-131.1", "131.1", 0),
        ("\u22122", "-2.05", 1),
        ("89,034.79", "89000", 1),
        ("0", "0.0000009", 1),
        ("0", "0.00001", 0),
        ("0.0015", "1.5e-3", 1),
        ("4", "1e999", 0),
        ("4", "four", 0),
    ],
)
def test_scibench_is_right_within_five_per_cent(tmp_path, gold, said, right):
    entry = {"problem_text": "How hot? ", "unit": " $\\mathrm{K}$", "answer_number": gold}
    source = questions({"name": "scibench", "path": written(tmp_path, "a.json", [entry])})
    asked = source.item(0)
    assert asked.question == "How hot? (Give the number alone; the unit is $\\mathrm{K}$.)"
    assert source.grade(asked, said) == right


def test_lists_that_are_none_are_refused(tmp_path):
    for text, says in (
        ("{}", "must hold a list, found dict"),
        ("[", "not JSON"),
        ("[3]", "found int"),
    ):
        with pytest.raises(DataError, match=says):
            questions({"name": "scibench", "path": written(tmp_path, "a.json", text)})
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match="holds no question"):
        questions({"name": "scibench", "path": str(tmp_path / "none")})
    with pytest.raises(DataError, match="cannot read"):
        questions({"name": "scibench", "path": str(tmp_path / "absent.json")})


@real_data
def test_every_gold_answer_of_scibench_is_right():
    source = questions({"name": "scibench", "path": str(DATA / "scibench")})
    asked = [source.item(i) for i in range(len(source))]
    assert len(asked) == 580
    assert len({q.id for q in asked}) == 580
    assert all(source.grade(q, q.answer) == 1 for q in asked)
    solutions = [
        entry["solution"]
        for path in sorted((DATA / "scibench").glob("*.json"))
        for entry in json.loads(path.read_text(encoding="utf-8"))
        if len(entry.get("solution", "")) > 200
    ]
    told = "\n".join(q.question for q in asked)
    assert not any(solution in told for solution in solutions)


# ---- Paragraphs ---------------------------------------------------------------------------------


HOTPOT = {
    "_id": "h1",
    "question": "Where was the author born?",
    "answer": "Rome",
    "context": [["Ann", ["Ann is an author.", " She was born in Rome."]], ["Ben", ["No."]]],
}
MUSIQUE = {
    "id": "m1",
    "question": "Who?",
    "answer": "the Rollo",
    "answer_aliases": ["Rollo I"],
    "paragraphs": [{"title": "T", "paragraph_text": "It was Rollo."}],
}
NATURAL = {"question": "when was it", "answer": ["1815", "June 1815"]}


def test_questions_over_paragraphs_are_read_as_published(tmp_path):
    source = questions({"name": "multi_hop", "path": written(tmp_path, "h.json", [HOTPOT])})
    asked = source.item(0)
    assert (asked.id, asked.kind) == ("h1", "open")
    assert asked.documents[0] == "Ann: Ann is an author. She was born in Rome."
    assert asked.question == HOTPOT["question"]
    path = written(tmp_path, "m.jsonl", lines(MUSIQUE, NATURAL))
    source = questions({"name": "multi_hop", "path": path})
    first, second = source.item(0), source.item(1)
    assert [source.grade(first, said) for said in ("Rollo", "rollo i.", "Ben")] == [1, 1, 0]
    assert [source.grade(second, said) for said in ("1815", "june 1815", "1816")] == [1, 1, 0]


@pytest.mark.parametrize(
    "change", [{"context": [["a"]]}, {"context": 3}, {"answer": []}, {"answer": None}]
)
def test_paragraphs_that_are_not_as_published_are_refused(tmp_path, change):
    path = written(tmp_path, "h.json", [HOTPOT | change])
    with pytest.raises(DataError, match="line 1"):
        questions({"name": "multi_hop", "path": path})


@pytest.mark.parametrize("style", ["full", "terse"])
def test_no_prompt_has_the_paragraphs_or_the_answer(tmp_path, style):
    spec = {"name": "multi_hop", "path": written(tmp_path, "h.json", [HOTPOT])}
    for name in ("debate", "pioneer_observer", "sequential_team", "moderated_debate"):
        env = make(f"coevo/{name}-v0", questions=spec, prompt_style=style)
        env.reset(seed=0)
        while env.awaiting:
            told = " ".join(m["content"] for m in env.chat(env.agent_selection))
            assert "Rome" not in told
            assert "author." not in told
            env.step("[Paris]")
