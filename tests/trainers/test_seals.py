"""Promise: episodes that are not those of the run are noticed before they are used."""

import copy
import hashlib

import pytest

from coevo.envs.core.errors import DataError
from coevo.trainers import seals
from coevo.trainers.seals import Seals


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(b"one\n")
    return path


def grow(log, text):
    with log.open("ab") as file:
        file.write(text)


def test_a_seal_is_the_digest_of_what_was_there(log):
    found = Seals(log)
    found.add(1, [])
    grow(log, b"two\n")
    found.add(2, [1])
    assert [(s.step, s.bytes) for s in found.read()] == [(1, 4), (2, 8)]
    assert found.read()[1].sha256 == hashlib.sha256(b"one\ntwo\n").hexdigest()
    found.add(3, [2])
    assert [s.step for s in found.read()] == [2, 3]


def test_bytes_are_hashed_once(log, monkeypatch):
    read = []

    class Counted:
        def __init__(self):
            self.real = hashlib.new("sha256")

        def update(self, block):
            read.append(bytes(block))
            self.real.update(block)

        def hexdigest(self):
            return self.real.hexdigest()

    monkeypatch.setattr(seals.hashlib, "sha256", Counted)
    found = Seals(log)
    for step, text in enumerate([b"", b"two\n", b"three\n"], start=1):
        grow(log, text)
        found.add(step, [])
    assert read == [b"one\n", b"two\n", b"three\n"]
    copy.deepcopy(found).check()
    assert read[3:] == [b"one\ntwo\nthree\n"]


@pytest.mark.parametrize("content", [b"one\n", b"one\ntwX\nmore\n", b""])
def test_what_was_changed_is_refused_in_one_line(log, content):
    grow(log, b"two\n")
    Seals(log).add(2, [])
    grow(log, b"more\n")
    Seals(log).check(2)
    log.write_bytes(content)
    with pytest.raises(DataError, match=r"episodes.jsonl was changed since update 2") as caught:
        Seals(log).check()
    assert "\n" not in str(caught.value) and "--skip-damaged" in str(caught.value)
    Seals(log).check(1)  # no checkpoint of which a digest is known
    found = Seals(log)
    with pytest.raises(DataError):
        found.check(2)
    found.forget()
    log.write_bytes(b"another one\n")
    found.add(3, [])
    Seals(log).check()
    log.unlink()
    Seals(log).check(3)


def test_going_back_cuts_off_what_came_after(log):
    found = Seals(log)
    found.add(1, [])
    grow(log, b"two\n")
    found.add(2, [1])
    grow(log, b"torn")
    assert not found.back_to(3)
    assert found.back_to(1) and log.read_bytes() == b"one\n"
    assert [s.step for s in found.read()] == [1]
    grow(log, b"2\n")
    found.add(2, [1])
    Seals(log).check(2)


def test_a_damaged_seal_is_one_line(log):
    Seals(log).add(1, [])
    for text in ("{", '{"seals": [{"step": "x"}]}', "[" * 100_000):
        Seals(log).path.write_text(text)
        with pytest.raises(DataError, match=r"seals.json is damaged .* remove it"):
            Seals(log).check()
