"""Processes that die under a command that goes on: it says so, and nothing is lost."""

import os
import signal
import socket
import time
from pathlib import Path

import pytest

from tests.faults import child, results
from tests.faults.conftest import ends
from tests.faults.cycles import KUHN, SMALL
from tests.faults.results import disturbed, undisturbed, unlike

pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("workers")]
KIND = "comparison in parallel"
MEMORY = 200 << 20


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the undisturbed comparison: two algorithms with two seeds."""
    root = tmp_path_factory.mktemp("whole")
    return undisturbed(results.of_kind(KIND, root / "results"), root / "results", root)


def ended(done, what: str) -> bool:
    """Return whether a comparison without one of its runs says all that it should."""
    tables = "IQM" in done.out and "--retry" in done.out and f"failed: {what}" in done.out
    return done.status == 1 and tables and not done.err


def in_some_run(whole, rng) -> int:
    """Draw a change that a worker makes."""
    own = [n for n, name in enumerate(whole.changes, 1) if " runs/" in name]
    return int(rng.choice(own))


def _retried(command, done, death, whole, tmp_path, fault) -> None:
    """Carry out again what a dead worker has left, and note whether all is there."""
    told = ended(done, "") and death in done.out
    again = disturbed([*command, "--retry"], tmp_path / "again")
    differing = unlike(tmp_path / "results", whole)
    fault("dying worker", told and again.status == 0 and not differing, (done, differing, again))


DEATHS = {
    "SIGKILL": child.die,
    "SIGSEGV": lambda _: os.kill(os.getpid(), signal.SIGSEGV),
    "status 3": lambda _: os._exit(3),
}


@pytest.mark.parametrize("death", DEATHS)
def test_a_worker_of_a_comparison_dies(death, whole, rng, tmp_path, fault):
    folder = tmp_path / "results"
    command = results.of_kind(KIND, folder)
    at = child.at_change(folder, in_some_run(whole, rng), DEATHS[death])
    done = disturbed(command, tmp_path, at)
    _retried(command, done, death, whole, tmp_path, fault)


def test_a_worker_that_was_not_forked_dies(whole, rng, tmp_path, fault):
    folder = tmp_path / "results"
    command = results.of_kind(KIND, folder)
    begun = child.Child(command, tmp_path)
    _until(lambda: list(folder.glob("runs/*/*/*/config.yaml")), begun)
    workers = [pid for pid in begun.workers() if "spawn_main" in _command_line(pid)]
    os.kill(int(rng.choice(workers)), signal.SIGKILL)
    done = begun.wait()
    _retried(command, done, "SIGKILL", whole, tmp_path, fault)


@pytest.mark.parametrize("size", [4000, 9000])
def test_a_disk_refuses_workers_that_were_not_forked(size, whole, tmp_path, fault):
    """One of them meets the limit while the other one may still be starting, and is stopped."""
    folder = tmp_path / "results"
    command = results.of_kind(KIND, folder)
    done = child.run(command, tmp_path, child.small_files(size))
    again = disturbed(command, tmp_path / "again")
    differing = unlike(folder, whole)
    held = done.status == 2 and done.one_line and again.status == 0 and not differing
    fault("workers on a disk that refuses", held, (done, differing, again))


def test_only_the_command_of_a_comparison_dies(whole, rng, tmp_path, fault):
    folder = tmp_path / "results"
    command = results.of_kind(KIND, folder)
    begun = child.Child(command, tmp_path, child.forked)
    time.sleep(whole.seconds * rng.uniform(0.2, 0.8))
    begun.kill()
    begun.wait()
    again = disturbed(command, tmp_path / "again")
    differing = unlike(folder, whole)
    fault("orphaned workers", again.status == 0 and not differing, (differing, again))


def test_a_worker_without_memory(whole, tmp_path, fault):
    folder = tmp_path / "results"
    command = results.of_kind(KIND, folder)
    done = disturbed(command, tmp_path, child.little_memory(MEMORY))
    told = done.status == 0 or done.one_line or ended(done, "")
    again = disturbed([*command, "--retry"], tmp_path / "again")
    differing = unlike(folder, whole)
    fault("worker without memory", told and again.status == 0 and not differing, (done, again))


def test_a_ray_task_dies(whole, rng, tmp_path, fault):
    pytest.importorskip("ray")
    folder = tmp_path / "results"
    command = [*results.of_kind(KIND, folder), "--on", "ray"]
    begun = child.Child(command, tmp_path)
    _until(lambda: list(folder.glob("runs/*/*/*/config.yaml")), begun)
    tasks = [pid for pid in _session(begun.pid) if "ray::" in _command_line(pid)]
    busy = [pid for pid in tasks if "_ray_run" in _command_line(pid)]
    os.kill(int(rng.choice(busy or tasks)), signal.SIGKILL)
    done = begun.wait()
    again = disturbed([*results.of_kind(KIND, folder), "--retry"], tmp_path / "again")
    differing = unlike(folder, whole)
    held = ended(done, "") and again.status == 0 and not differing
    fault("dying Ray task", held, (done, differing, again))


def _until(there, *children: child.Child) -> None:
    while not there():
        assert not any(one.ended for one in children)
        time.sleep(0.01)


def _command_line(pid: int) -> str:
    path = Path(f"/proc/{pid}/cmdline")
    return path.read_text(errors="replace") if path.exists() else ""


def _session(pid: int) -> list[int]:
    """Return a process and all that it, or they, have started."""
    found = [pid]
    for one in found:
        for path in Path(f"/proc/{one}/task").glob("*/children"):
            found += map(int, path.read_text().split())
    return found


RANKS = ("mars", "--model", "{model}", *SMALL, "collect.episodes=8", "schedules={}")


class Ranks:
    """Two ranks of a run, which share out its passes."""

    def __init__(self, folder: Path, model: Path) -> None:
        own = [w.replace("{model}", str(model)) for w in RANKS]
        more = ["--env", KUHN, "--max-new-tokens", "3", "--device", "cpu", "--threads", "1"]
        begun = (folder / "config.yaml").exists()
        new = ["train", *own, *more, "--out", str(folder)]
        self.command = ["train", "--resume", str(folder), "--no-eval"] if begun else new
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        place = folder.parent / ("again" if begun else "begun")
        self.pair = [child.Child(self.command, place / str(n), self.rank(n)) for n in range(2)]

    def rank(self, number: int) -> child.Fault:
        """Return what makes a process one of the two."""
        told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(self.port), "WORLD_SIZE": "2"}
        return lambda: os.environ.update(told, RANK=str(number), LOCAL_RANK=str(number))

    def wait(self) -> list[child.Done]:
        """Wait for both."""
        return [one.wait() for one in self.pair]


@pytest.mark.parametrize("number", [0, 1])
def test_a_rank_dies(number, tiny_model_dir, rng, tmp_path, fault):
    """The other one says so, soon; both, started again, end as those that nobody disturbed."""
    calm, folder = tmp_path / "calm" / "run", tmp_path / "killed" / "run"
    whole = Ranks(calm, tiny_model_dir).wait()
    assert [d.status for d in whole] == [0, 0], whole
    begun = Ranks(folder, tiny_model_dir)
    _until((folder / "metrics.jsonl").exists, *begun.pair)
    time.sleep(rng.random())
    begun.pair[number].kill()
    done = begun.wait()[1 - number]
    told = done.status == 0 or (done.status == 1 and done.one_line and "rank" in done.err)
    again = Ranks(folder, tiny_model_dir).wait()
    after = ends(folder) == ends(calm)
    fault("dying rank", told and after and not any(d.status for d in again), (done, again))
