"""Ray's own processes are watched: the death of one is a line, not an exit without a word."""

import shutil
import subprocess
import threading

import pytest

from coevo.trainers.remote import watch
from coevo.trainers.remote.watch import said, started, watched


@pytest.fixture
def child(tmp_path):
    """Return a process that is called as Ray calls one of its own."""
    program = shutil.copy("/bin/cat", tmp_path / "raylet")
    with subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as made:
        made.stdin.write(b"\n")
        made.stdin.flush()
        made.stdout.readline()  # it has its own name only from where it runs
        yield made
        made.kill()


def test_a_process_of_ray_that_dies_is_one_line_and_an_exit(child, monkeypatch, capfd):
    ended, seen, cleaned = threading.Event(), threading.Event(), []
    assert started() == {child.pid: "raylet"}

    def leave(status):
        cleaned.append(status)
        ended.set()
        seen.wait()

    monkeypatch.setattr(watch.os, "_exit", leave)
    with watched(lambda: cleaned.append("folder")):
        assert not ended.is_set()
        child.kill()
        ended.wait()
        seen.set()
    assert cleaned == ["folder", 1]
    line = capfd.readouterr().err
    assert line == said("raylet") and line.startswith("coevo: error: ") and line.count("\n") == 1


def test_a_process_that_outlives_the_block_is_not_spoken_of(child, capfd):
    with watched(lambda: None):
        pass
    child.kill()
    child.wait()
    assert capfd.readouterr().err == "" and started() == {}
