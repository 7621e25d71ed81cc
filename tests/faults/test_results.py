"""Comparisons, tournaments and evaluations, disturbed: the same command ends with equal tables."""

import errno
import json
import shutil
import signal
import time

import pytest

from tests.faults import child
from tests.faults.cycles import TABLE
from tests.faults.results import ALL_OF, disturbed, of_kind, undisturbed, unlike

pytestmark = pytest.mark.faults
RARE = ("comparison", "tournament", "suite")
"""Kinds that stand for all others where the fault is the same."""
SOME_OF = [pytest.param(kind, marks=pytest.mark.xdist_group(kind)) for kind in RARE]


@pytest.fixture(scope="session")
def given(tmp_path_factory):
    """Return what commands start from: a run with checkpoints."""
    folder = tmp_path_factory.mktemp("given") / "run"
    more = ["keep_checkpoints=9", "--env", "coevo/kuhn_poker-v0", "--out", str(folder)]
    done = child.run(["train", "mars", *TABLE, *more], folder.parent)
    assert done.status == 0, done.err
    return {"run": folder}


@pytest.fixture(scope="session")
def whole(given, tmp_path_factory):
    """Return a function that gives the undisturbed results of a kind."""
    found = {}

    def of(kind):
        if kind not in found:
            root = tmp_path_factory.mktemp("whole")
            found[kind] = undisturbed(
                of_kind(kind, root / "results", **given), root / "results", root
            )
        return found[kind]

    return of


@pytest.fixture
def equal(given, whole, fault):
    """Return a function that gives the command again and notes whether the tables are equal."""

    def check(what, kind, folder, told, *more):
        again = disturbed(of_kind(kind, folder, **given), folder.parent / "again")
        differing = unlike(folder, whole(kind))
        held = told and again.status == 0 and not differing
        fault(what, held, (kind, folder, differing, *more, again))

    return check


@pytest.mark.parametrize("kind", ALL_OF)
def test_killed(kind, whole, given, equal, rng, tmp_path):
    folder = tmp_path / "time" / "results"
    begun = child.Child(of_kind(kind, folder, **given), folder.parent, child.forked)
    time.sleep(whole(kind).seconds * rng.random())
    begun.kill(all=True)
    done = begun.wait()
    equal("kill of a command with results", kind, folder, done.status in (0, -9), done)
    folder = tmp_path / "change" / "results"
    at = int(rng.integers(len(whole(kind).changes))) + 1
    killed = child.at_change(folder, at, child.die_all)
    done = disturbed(of_kind(kind, folder, **given), folder.parent, killed)
    equal("kill while results are written", kind, folder, done.status in (0, -9), at, done)


FILES = 8
"""Files, of those that a command writes, that are refused with each seed."""
REFUSALS = {"full": errno.ENOSPC, "read-only": errno.EROFS}


@pytest.mark.parametrize("kind", SOME_OF)
def test_files_on_a_disk_that_is_full_or_read_only(kind, whole, given, equal, rng, tmp_path):
    names = sorted({child.kind_of(c) for c in whole(kind).changes})
    for number, name in enumerate(rng.permutation(names)[:FILES]):
        what = list(REFUSALS)[number % 2]
        folder = tmp_path / f"{what}-{name}" / "results"
        refused = child.at_file(folder, name, child.refuse(REFUSALS[what]))
        done = disturbed(of_kind(kind, folder, **given), folder.parent, refused)
        told = done.status == 2 and done.one_line
        equal("results on a disk that is full or read-only", kind, folder, told, name, done)


@pytest.mark.parametrize("kind", ALL_OF)
def test_two_writers(kind, whole, given, equal, rng, tmp_path):
    folder = tmp_path / "results"
    command = of_kind(kind, folder, **given)
    pair = []
    for number in range(2):
        pair.append(child.Child(command, tmp_path / str(number), child.forked))
        time.sleep(whole(kind).seconds * rng.random() * 0.8)
    ended = [one.wait() for one in pair]
    refused = [done for done in ended if done.status]
    told = len(refused) < 2 and all(d.status == 2 and d.one_line for d in refused)
    equal("two writers of results", kind, folder, told, ended)


def negative(value):
    """Return whether a time in results is below 0."""
    if isinstance(value, dict):
        return any(
            v < 0 if "second" in k and isinstance(v, (int, float)) else negative(v)
            for k, v in value.items()
        )
    return any(map(negative, value)) if isinstance(value, list) else False


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
@pytest.mark.parametrize("kind", SOME_OF)
def test_a_clock_that_jumps(kind, jump, given, equal, tmp_path):
    folder = tmp_path / "results"
    done = disturbed(of_kind(kind, folder, **given), tmp_path, child.clock(jump))
    texts = [p.read_text() for p in folder.rglob("*.json")]
    told = done.status == 0 and not any(map(negative, map(json.loads, texts)))
    equal("clock jump", kind, folder, told, jump, done)


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("kind", SOME_OF)
def test_signals(kind, whole, given, equal, rng, tmp_path):
    for number in SIGNALS:
        folder = tmp_path / number.name / "results"
        begun = child.Child(of_kind(kind, folder, **given), folder.parent, child.forked)
        time.sleep(whole(kind).seconds * rng.uniform(0.1, 0.9))
        begun.kill(number, all=number == signal.SIGINT)  # a terminal tells everybody
        done = begun.wait()
        told = done.status == 0 or (done.status == 130 and done.one_line)
        equal("signal to a command with results", kind, folder, told, number.name, done)


def _worthless(file, folder):
    """Return what has to go where a file of results is damaged."""
    if file.name == "manifest.json":
        return folder  # it says what all the rest is
    return file.parent if "runs" in file.relative_to(folder).parts else file


def _remove(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def _folder(path):
    path.unlink()
    path.mkdir()


HARMS = {
    "cut": lambda path, rng: path.write_bytes(
        path.read_bytes()[: rng.integers(path.stat().st_size + 1)]
    ),
    "emptied": lambda path, rng: path.write_bytes(b""),
    "of other bytes": lambda path, rng: path.write_bytes(rng.bytes(300)),
    "a list": lambda path, rng: path.write_bytes(b"[]"),
    "a folder": lambda path, rng: _folder(path),
    "missing": lambda path, rng: path.unlink(),
}


@pytest.mark.parametrize("kind", SOME_OF)
def test_a_damaged_file(kind, whole, given, equal, rng, tmp_path):
    """Either nobody needs it, or it is named in one line and the results without it are equal."""
    calm = whole(kind).folder
    files = [p for p in sorted(calm.rglob("*")) if p.is_file() and p.suffix != ".lock"]
    named = {p.name: p for p in files if "checkpoints" not in p.parts}
    for number, (name, path) in enumerate(named.items()):
        harms = rng.permutation(list(HARMS))[:2]
        for harm in harms:
            folder = shutil.copytree(calm, tmp_path / f"{number} {harm}" / "results")
            file = folder / path.relative_to(calm)
            HARMS[harm](file, rng)
            done = disturbed(of_kind(kind, folder, **given), folder.parent)
            told = done.status == 0 or (done.status == 2 and done.one_line and name in done.err)
            if done.status:
                _remove(_worthless(file, folder))
            equal("damaged results", kind, folder, told, name, harm, done)
