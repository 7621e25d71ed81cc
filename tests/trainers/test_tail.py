import json

import pytest

from coevo.trainers.files import truncate_lines
from coevo.trainers.tail import News, Tail


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lines.jsonl"


def add(path, *texts):
    with path.open("ab") as file:
        file.writelines(t.encode() for t in texts)


def test_a_file_that_is_not_there_yet_is_empty(path):
    tail = Tail(path)
    assert tail.read() == News([], anew=False)
    add(path, "a\n")
    assert tail.read() == News([b"a"], anew=False)


def test_every_line_is_given_once(path):
    tail = Tail(path)
    add(path, "one\n", "two\n")
    assert tail.read().lines == [b"one", b"two"]
    assert tail.read() == News([], anew=False)
    add(path, "three\n")
    assert tail.read() == News([b"three"], anew=False)


def test_a_line_waits_until_it_is_whole(path):
    tail = Tail(path)
    add(path, "one\n", '{"half": ')
    assert tail.read().lines == [b"one"]
    assert tail.read().lines == []
    add(path, "1}\n")
    assert tail.read() == News([b'{"half": 1}'], anew=False)


def test_only_a_line_feed_ends_a_line(path):
    add(path, "a\rb\u2028c\x85d\r\n", "e\n")
    assert Tail(path).read().lines == ["a\rb\u2028c\x85d\r".encode(), b"e"]


@pytest.mark.parametrize("added", [0, 1, 5])
def test_a_file_that_was_cut_back_is_read_from_its_start(path, added):
    tail = Tail(path)
    add(path, *(json.dumps({"step": s, "seconds": s / 7}) + "\n" for s in range(1, 6)))
    assert len(tail.read().lines) == 5
    truncate_lines(path, lambda line: line["step"] <= 3)
    add(path, *(json.dumps({"step": s, "seconds": s / 3}) + "\n" for s in range(4, 4 + added)))
    found = tail.read()
    assert found.anew
    assert [json.loads(line)["step"] for line in found.lines] == list(range(1, 4 + added))
    assert tail.read() == News([], anew=False)


def test_cutting_that_drops_nothing_changes_nothing(path):
    tail = Tail(path)
    add(path, '{"step": 1}\n')
    tail.read()
    truncate_lines(path, lambda line: True)
    add(path, '{"step": 2}\n')
    assert tail.read() == News([b'{"step": 2}'], anew=False)


def test_a_file_that_vanishes_is_forgotten(path):
    tail = Tail(path)
    add(path, "one\n")
    tail.read()
    path.unlink()
    assert tail.read() == News([], anew=True)
    assert tail.read() == News([], anew=False)
    add(path, "two\n")
    assert tail.read() == News([b"two"], anew=False)
