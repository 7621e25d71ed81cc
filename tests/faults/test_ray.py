"""Training over Ray whose processes are killed: it says what died and continues to equal bits."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.faults.child import LONGEST, Done
from tests.faults.conftest import KUHN, ends

pytestmark = pytest.mark.faults
SMALL = "--steps 8 --threads 1 --no-eval --max-new-tokens 3 --set checkpoint_every=3"
OVER_RAY = ["--ray", "local", "--rollout-workers", "2", "--ranks", "2"]
OVER_NODES = ["--ray", "auto", *OVER_RAY[2:]]
FRUGAL = {"object_store_memory": 100 << 20, "include_dashboard": False}


class OverRay:
    """A command that runs beside this process, in a session of its own: Ray cannot be forked."""

    def __init__(self, words: list[str], folder: Path) -> None:
        self.folder, self.began = folder, time.monotonic()
        self.child = subprocess.Popen(
            [sys.executable, "-P", "-m", "coevo", "train", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.seen: set[int] = set()

    def reach(self, updates: int) -> dict[int, str]:
        """Wait for so many updates, and return the processes under this one with their names."""
        metrics = self.folder / "metrics.jsonl"
        while self.child.poll() is None and time.monotonic() - self.began < LONGEST:
            if metrics.exists() and metrics.read_text().count("\n") >= updates:
                break
            time.sleep(0.01)
        found = below(self.child.pid)
        self.seen |= found.keys()
        return found

    def wait(self) -> Done:
        """Wait for its end, and for that of everything that it has started."""
        out, err = self.child.communicate(timeout=LONGEST)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and any(alive(pid) for pid in self.seen):
            time.sleep(0.1)
        return Done(self.child.returncode, out, err, time.monotonic() - self.began, 0)

    @property
    def left(self) -> list[int]:
        """Return the processes that outlived it."""
        return [pid for pid in self.seen if alive(pid)]


def alive(pid: int) -> bool:
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def below(parent: int) -> dict[int, str]:
    """Return all processes under one, and how each calls itself."""
    names, children = {}, {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            above = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            names[int(place.name)] = (place / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        children.setdefault(above, []).append(int(place.name))
    found, todo = {}, [parent]
    while todo:
        for child in children.get(todo.pop(), ()):
            found[child] = names[child]
            todo.append(child)
    return found


@pytest.fixture(scope="module")
def started(tiny_model_dir):
    """Return a function that starts a run in a folder."""
    pytest.importorskip("ray")

    def start(folder: Path, over: list[str] = OVER_RAY) -> OverRay:
        model = ["--env", KUHN, "--model", str(tiny_model_dir), "--out", str(folder)]
        given = ["mars", *SMALL.split(), "collect.episodes=16", *model, *over]
        return OverRay(given, folder)

    return start


@pytest.fixture(scope="module")
def whole(started, tmp_path_factory):
    """Return the end of an undisturbed run."""
    folder = tmp_path_factory.mktemp("calm") / "run"
    run = started(folder)
    run.reach(1)
    done = run.wait()
    assert (done.status, done.err, run.left) == (0, "", [])
    return ends(folder)


def resumed(folder: Path, over: list[str] = OVER_RAY) -> Done:
    return OverRay(["--resume", str(folder), "--no-eval", *over], folder).wait()


def killed(run: OverRay, actor: str, updates: int) -> Done:
    names = run.reach(updates)
    os.kill(min(p for p, name in names.items() if f"ray::{actor}" in name), signal.SIGKILL)
    return run.wait()


def test_a_worker_is_killed(started, whole, tmp_path, rng, fault):
    run = started(tmp_path / "run")
    done = killed(run, "Worker", int(rng.integers(1, 6)))
    told = "a rollout worker died" in done.out and done.err == ""
    held = done.status == 0 and told and not run.left and ends(run.folder) == whole
    fault("killed worker", held, (done, run.left))


def test_a_rank_is_killed(started, whole, tmp_path, rng, fault):
    run = started(tmp_path / "run")
    done = killed(run, "Rank", int(rng.integers(1, 6)))
    told = done.status == 1 and done.one_line and "rank 1 of 2 has died" in done.err
    again = resumed(run.folder)
    held = told and not run.left and again.status == 0 and ends(run.folder) == whole
    fault("killed rank", held, (done, again, run.left))


def test_the_driver_is_killed(started, whole, tmp_path, rng, fault):
    run = started(tmp_path / "run")
    run.reach(int(rng.integers(1, 6)))
    run.child.kill()
    done = run.wait()
    again = resumed(run.folder)
    held = done.status == -9 and not run.left and again.status == 0 and ends(run.folder) == whole
    fault("killed driver", held, (done, again, run.left))


def test_ctrl_c_in_the_terminal_reaches_all_processes(started, whole, tmp_path, rng, fault):
    run = started(tmp_path / "run")
    run.reach(int(rng.integers(1, 6)))
    os.killpg(run.child.pid, signal.SIGINT)
    done = run.wait()
    again = resumed(run.folder)
    told = done.status == 130 and done.one_line and not run.left
    fault("Ctrl-C", told and again.status == 0 and ends(run.folder) == whole, (done, again))


# ---- A cluster of several nodes ----------------------------------------------------------------


@pytest.fixture
def nodes(monkeypatch):
    """Start a cluster that runs join: three nodes beside the one on which they start."""
    utils = pytest.importorskip("ray.cluster_utils")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # whatever lies in the home folder
    place = utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **FRUGAL})
    monkeypatch.setenv("RAY_ADDRESS", place.address)
    yield {place.add_node(num_cpus=2, **FRUGAL): place for _ in range(3)}
    place.shutdown()


def on_node(node) -> dict[str, int]:
    """Return the actors of a node and their processes."""
    names = below(node.all_processes["raylet"][0].process.pid)
    return {name[5:].split(".")[0].strip(): p for p, name in names.items() if "ray::" in name[:5]}


@pytest.mark.parametrize("actor", ["Worker", "Rank"])
def test_a_node_is_killed(actor, started, whole, nodes, tmp_path, rng, fault):
    """With a worker the run goes on, on the nodes that are left; without a rank it cannot."""
    run = started(tmp_path / "run", OVER_NODES)
    run.reach(int(rng.integers(1, 4)))
    held = {node: on_node(node) for node in nodes}
    assert sorted(len({"Worker", "Rank"} & own.keys()) for own in held.values()) == [1, 1, 1], held
    lost = next(node for node in nodes if actor in held[node])
    nodes[lost].remove_node(lost, allow_graceful=False)
    for pid in held[lost].values():
        if alive(pid):
            os.kill(pid, signal.SIGKILL)
    done = again = run.wait()
    if actor == "Worker":
        told = done.status == 0 and "a rollout worker died" in done.out and not done.err
    else:
        again = resumed(run.folder, OVER_NODES)
        told = done.status == 1 and "rank 1 of 2 has died" in done.err and again.status == 0
    fault("killed node", told and ends(run.folder) == whole, (actor, done, again))
