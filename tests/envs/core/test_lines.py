"""Files from elsewhere are read within limits."""

import os

import pytest

from coevo.envs.core import lines
from coevo.envs.core.errors import DataError
from coevo.envs.core.lines import lines_of
from coevo.envs.questions import files, questions
from coevo.envs.search.corpus import load_documents


def test_lines_come_with_their_numbers_and_blank_ones_are_left_out(tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_bytes(b"a\n\n  \nb")
    assert list(lines_of(path)) == [(1, b"a\n"), (4, b"b")]


@pytest.mark.parametrize(
    ("limit", "said"), [({"most": 1}, "more than 1 lines"), ({"largest": 4}, "bytes")]
)
def test_what_is_beyond_a_limit_is_named(tmp_path, limit, said):
    path = tmp_path / "large.jsonl"
    path.write_bytes(b"ab\nabcdef\n")
    with pytest.raises(DataError, match=said):
        list(lines_of(path, **limit))


def test_a_line_that_is_too_long_is_named(tmp_path, monkeypatch):
    path = tmp_path / "long.jsonl"
    path.write_bytes(b"ab\nabcdef\n")
    monkeypatch.setattr(lines, "LONGEST", 3)
    with pytest.raises(DataError, match="line 2: longer than 3"):
        list(lines_of(path))


def test_questions_are_held_in_memory_and_bounded(tmp_path, monkeypatch):
    path = tmp_path / "many.jsonl"
    with path.open("wb") as file:
        file.truncate(files.LARGEST + 1)  # of no room on the disk
    with pytest.raises(DataError, match=f"{files.LARGEST} is the most"):
        questions({"name": "jsonl", "path": str(path)})
    path.write_text('{"question": "a", "answer": "1"}\n' * 3)
    monkeypatch.setattr(files, "MOST", 2)
    with pytest.raises(DataError, match="more than 2 lines"):
        questions({"name": "jsonl", "path": str(path), "on_error": "skip"})


def test_a_line_of_many_megabytes_stops_every_reader_at_once(tmp_path):
    path = tmp_path / "huge.jsonl"
    path.write_bytes(b'{"question": "' + b"x" * 5_000_000 + b'", "answer": "1"}\n')
    with pytest.raises(DataError, match="line 1: longer than"):
        questions({"name": "jsonl", "path": str(path)})
    with pytest.raises(DataError, match="line 1: longer than"):
        load_documents(path)


def test_a_pipe_or_a_folder_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(DataError, match="not a file"):
            list(lines_of(path))


def test_half_a_surrogate_pair_is_refused_where_the_question_is_read(tmp_path):
    path = tmp_path / "half.jsonl"
    path.write_text('{"question": "a\\ud83d", "answer": "1"}\n')
    with pytest.raises(DataError, match="half a surrogate pair"):
        questions({"name": "jsonl", "path": str(path)})
