"""Training that is killed, refused, signalled or damaged: it continues to the same bits."""

import errno
import json
import os
import re
import shutil
import signal
import time

import pytest

from coevo.trainers.checkpoint import write_manifest
from tests.faults import child
from tests.faults.conftest import ends, goes_on, newest
from tests.faults.cycles import ALL_OF

pytestmark = pytest.mark.faults
KILLS = 1
"""Of either kind for every kind of cycle."""
MOMENTS = 2
"""Kinds of moment in an update after which a run of every kind is killed."""
ROOM = 4000
"""Bytes that what a command says needs, which is kept in a file too."""


@pytest.mark.parametrize("cycle", ALL_OF)
def test_killed_at_any_moment(cycle, calm, words, rng, tmp_path, fault):
    whole = calm(cycle)
    for number in range(KILLS):
        folder = tmp_path / f"time{number}" / "run"
        begun = child.Child(words(cycle, folder), folder.parent)
        time.sleep(whole.seconds * rng.random())
        begun.kill()
        _then_equal("kill", begun.wait(), folder, words(cycle, folder), whole, fault)
    for number in range(KILLS):
        folder = tmp_path / f"change{number}" / "run"
        at = int(rng.integers(len(whole.changes))) + 1
        killed = child.at_change(folder, at, child.die)
        done = child.run(words(cycle, folder), folder.parent, killed)
        kind = "kill while a file is written"
        _then_equal(kind, done, folder, words(cycle, folder), whole, fault)


@pytest.mark.parametrize("cycle", ALL_OF)
def test_killed_in_the_middle_of_an_update(cycle, calm, words, rng, tmp_path, fault):
    """After a step of the cycle, after one of several learners, within a run within a run."""
    whole = calm(cycle)
    kinds = sorted(set(whole.moments))
    for kind in rng.permutation(kinds)[:MOMENTS]:
        folder = tmp_path / kind / "run"
        at = int(rng.choice([n for n, name in enumerate(whole.moments, 1) if name == kind]))
        done = child.run(words(cycle, folder), folder.parent, child.at_moment(at, child.die))
        command = words(cycle, folder)
        _then_equal("kill between two steps", done, folder, command, whole, fault)


def _then_equal(kind, done, folder, command, whole, fault):
    again = goes_on(folder, command)
    held = again.status == 0 and ends(folder) == whole.ends
    fault(kind, held and done.status in (0, -9), (folder, done, again, where(folder, whole)))


def where(folder, whole) -> list[str]:
    """Name what differs from the undisturbed run."""
    try:
        found = ends(folder)
    except (OSError, ValueError) as error:
        return [repr(error)]
    keys = {*found, *whole.ends}
    return [k for k in sorted(keys) if found.get(k) != whole.ends.get(k)]


def test_every_file_on_a_disk_that_is_full_or_read_only(calm, words, tmp_path, fault):
    whole = calm("table")
    kinds = sorted({child.kind_of(c) for c in whole.changes})
    for name in kinds:
        for number, kind in ((errno.ENOSPC, "disk full"), (errno.EROFS, "disk read-only")):
            folder = tmp_path / f"{kind}-{name}" / "run"
            refused = child.at_file(folder, name, child.refuse(number))
            done = child.run(words("table", folder), folder.parent, refused)
            told = done.status == 2 and done.one_line
            again = goes_on(folder, words("table", folder))
            held = told and again.status == 0 and ends(folder) == whole.ends
            fault(kind, held, (name, done, again, where(folder, whole)))


@pytest.mark.parametrize("size", [0, 300, ROOM, 100_000])
def test_files_that_may_not_grow(calm, words, tmp_path, fault, size):
    whole, folder = calm("table"), tmp_path / "run"
    done = child.run(words("table", folder), tmp_path, child.small_files(size))
    again = goes_on(folder, words("table", folder))
    told = done.status == 2 and (done.one_line or size < ROOM)
    held = told and again.status == 0 and ends(folder) == whole.ends
    fault("file size limit", held, (size, done, again, where(folder, whole)))


@pytest.mark.parametrize("cycle", ["table", "adapters", "replay", "past selves"])
def test_a_damaged_checkpoint(cycle, calm, words, rng, tmp_path, fault):
    whole = calm(cycle)
    last = newest(whole.folder)
    files = sorted(p.relative_to(last) for p in last.rglob("*") if p.is_file())
    for number, file in enumerate(files):
        folder = shutil.copytree(whole.folder, tmp_path / f"{number}" / "run")
        path = folder / last.relative_to(whole.folder) / file
        content = bytearray(path.read_bytes())
        at = int(rng.integers(len(content)))
        content[at] ^= 1 << int(rng.integers(8))
        cut = bool(rng.integers(2))
        path.write_bytes(content[:at] if cut else content)
        refused = goes_on(folder, [])
        noticed = refused.status == 2 and refused.one_line and "--skip-damaged" in refused.err
        again = goes_on(folder, [], "--skip-damaged")
        aside = (path.parents[len(file.parts) - 1].parent).glob("*.damaged")
        held = noticed and again.status == 0 and ends(folder) == whole.ends and any(aside)
        fault("damaged checkpoint", held, (file, cut, at, refused, again, where(folder, whole)))


MORE = ("--steps", "8")
"""Of a run that has ended, so that it goes on."""


def _edit(path, **keys) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


@pytest.mark.parametrize("other", ["version", "torch", "processor", "gpu"])
def test_another_version_or_machine(calm, tmp_path, fault, other):
    whole = calm("table")
    plain, folder = (shutil.copytree(whole.folder, tmp_path / n / "run") for n in ("plain", "run"))
    assert goes_on(plain, [], *MORE).status == 0
    summary = json.loads((folder / "summary.json").read_text())
    hardware = summary["hardware"] | ({} if other == "version" else {other: "another"})
    _edit(folder / "summary.json", hardware=hardware)
    if other == "version":
        _edit(folder / "summary.json", version="another")
    again = goes_on(folder, [], *MORE)
    lines = [
        line for line in (again.out + again.err).splitlines() if "the run was made with" in line
    ]
    held = again.status == 0 and len(lines) == 1 and "another (here " in lines[0]
    fault("another version or machine", held and ends(folder) == ends(plain), (other, again))


def test_a_checkpoint_of_another_schema(calm, tmp_path, fault):
    whole = calm("table")
    folder = shutil.copytree(whole.folder, tmp_path / "run")
    _edit(newest(folder) / "progress.json", schema=10_000)
    write_manifest(newest(folder))
    again = goes_on(folder, [], *MORE)
    held = again.status == 2 and again.one_line and "schema 10000" in again.err
    fault("another version or machine", held, again)


def test_other_threads(calm, tmp_path, fault):
    whole = calm("table")
    folder = shutil.copytree(whole.folder, tmp_path / "run")
    again = goes_on(folder, [], *MORE, "--threads", "2")
    held = again.status == 2 and again.one_line and "--threads" in again.err
    fault("another version or machine", held and ends(folder) == whole.ends, again)


def test_two_writers(calm, words, tmp_path, fault):
    whole = calm("policy gradient")
    for cycle_start in ("new", "resumed"):
        folder = tmp_path / cycle_start / "run"
        command = words("policy gradient", folder)
        if cycle_start == "resumed":
            at = len(whole.changes) * 2 // 3
            child.run(command, folder.parent, child.at_change(folder, at, child.die))
            command = ["train", "--resume", str(folder), "--no-eval"]
        pair = [child.Child(command, folder.parent / str(n)) for n in range(2)]
        first, second = (c.wait() for c in pair)
        told = [d for d in (first, second) if d.status]
        again = goes_on(folder, command)
        held = len(told) == 1 and told[0].status == 2 and told[0].one_line
        held = held and again.status in (0, 2) and ends(folder) == whole.ends
        fault("two writers", held, (first, second, again, where(folder, whole)))


@pytest.mark.parametrize("jump", [-4e7, 4e7, -3600.0])
def test_a_clock_that_jumps(calm, words, tmp_path, fault, jump):
    whole, folder = calm("table"), tmp_path / "run"
    done = child.run(words("table", folder), tmp_path, child.clock(jump))
    fault("clock jump", done.status == 0 and ends(folder) == whole.ends, (jump, done))


@pytest.mark.parametrize("more", [4 << 20, 64 << 20, 200 << 20])
def test_too_little_memory(calm, words, tmp_path, fault, more):
    whole, folder = calm("policy gradient"), tmp_path / "run"
    command = words("policy gradient", folder)
    done = child.run(command, tmp_path, child.little_memory(more))
    again = goes_on(folder, command)
    told = done.status == 0 or (done.status in (1, 2) and done.one_line)
    held = told and again.status == 0 and ends(folder) == whole.ends
    fault("out of memory", held, (more, done, again, where(folder, whole)))


SIGNALS = {
    "Ctrl-C": (signal.SIGINT,),
    "SIGTERM": (signal.SIGTERM,),
    "SIGHUP": (signal.SIGHUP,),
    "a second Ctrl-C": (signal.SIGINT, signal.SIGINT),
    "SIGTERM after Ctrl-C": (signal.SIGINT, signal.SIGTERM),
    "three signals": (signal.SIGINT, signal.SIGINT, signal.SIGTERM),
}


@pytest.mark.parametrize("kind", SIGNALS)
def test_signals(kind, calm, words, rng, tmp_path, fault):
    whole, folder = calm("policy gradient"), tmp_path / "run"
    command = words("policy gradient", folder)
    begun = child.Child(command, tmp_path)
    until = time.monotonic() + 60
    while not (folder / "metrics.jsonl").exists() and time.monotonic() < until:
        time.sleep(0.002)
    time.sleep(whole.seconds / 5 * rng.random())
    for number in SIGNALS[kind]:
        begun.kill(number)
        time.sleep(0.01 * rng.random())
    done = begun.wait()
    logged = len((folder / "metrics.jsonl").read_text().splitlines())
    told = done.status == 0 or (done.status == 130 and done.one_line)
    held = told and _saved(folder) >= logged
    if done.status == 130 and _saved(folder):
        held = held and re.search(rf"\b{_saved(folder)} updates? (is|are) saved", done.err)
    again = goes_on(folder, command)
    held = bool(held) and again.status == 0 and ends(folder) == whole.ends
    fault(kind, held, (logged, done, again, where(folder, whole)))


def _saved(folder) -> int:
    """Return the step of the newest checkpoint; 0 where there is none."""
    return int(newest(folder).name[5:]) if any(folder.glob("checkpoints/*/manifest.json")) else 0


def test_a_pipe_that_nobody_reads(calm, words, tmp_path, fault):
    whole, folder = calm("policy gradient"), tmp_path / "run"

    def closed() -> None:
        read, write = os.pipe()
        os.close(read)
        os.dup2(write, 1)

    command = words("policy gradient", folder)
    done = child.run(command, tmp_path, closed)
    again = goes_on(folder, command)
    held = done.status == 141 and not done.err and again.status == 0
    held = held and ends(folder) == whole.ends
    fault("closed pipe", held, (done, again, where(folder, whole)))
