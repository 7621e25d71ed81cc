"""Rollout workers: what they play is what one process plays; a worker that dies is replaced."""

import json
import os
import signal
from dataclasses import replace

import pytest

from coevo.agents.models import manifest
from coevo.envs.core.errors import CoevoError, ConfigError
from coevo.trainers import checkpoint, loop
from coevo.trainers.collect.part import play_part
from coevo.trainers.loop import train
from coevo.trainers.remote.cluster import cluster
from coevo.trainers.remote.origin import Origin
from coevo.trainers.remote.processes import check_devices, start_processes
from coevo.trainers.remote.workers import Worker, Workers, begun

TIS = {"loss.is_correction": {"name": "token_tis"}, "ema": 0.0, "magnet": None}
ORIGIN = Origin("here", {}, "", os.getcwd(), {}, ())
LORA = {"population": {"name": "adapters", "rank": 2, "targets": ["q_proj", "v_proj"]}}
MIXED = {"population": {"name": "past_selves", "every": 1, "size": 1, "members": ["expert:0.8"]}}


def content(folder):
    """Return the tensors of the last checkpoint, what every update logged, and the episodes."""
    last = checkpoint.latest(folder.checkpoints)
    files = json.loads((last / manifest.FILE).read_text())["files"]
    tensors = {n: e["sha256"] for n, e in files.items() if n != "progress.json"}
    numbers = [
        {k: v for k, v in m.items() if "seconds" not in k and k != "tokens_per_second"}
        for m in folder.read_metrics()
    ]
    return tensors, numbers, folder.episodes.read_text()


def played(run):
    """Return every episode of a run as text."""
    return [[e.to_json() for e in done.episodes] for done in loop.updates(run)]


@pytest.fixture(scope="module")
def here():
    """A cluster of this machine that all tests of this module use, and that is gone afterwards."""
    pytest.importorskip("ray")
    with cluster("local", cpus=4) as ray:
        yield ray
    assert not ray.is_initialized()


def pids(ray, processes):
    """Return the processes of a crew's workers, which are idle."""
    idle = [processes._play._idle.get() for _ in range(processes.workers)]
    for worker in idle:
        processes._play._idle.put(worker)
    return ray.get([worker.pid.remote() for worker in idle])


@pytest.mark.slow
@pytest.mark.parametrize("changes", [LORA, MIXED | TIS | {"collect.staleness": 1}])
def test_workers_play_what_one_process_plays_to_the_bit(here, config, folder, changes):
    given = config("reinforce", changes, steps=3, checkpoint_every=1, rollout_parts=3)
    one, two = folder(given, "one"), folder(given, "two")
    expected = played(loop.start(given, one))
    with start_processes("local", given, two, workers=2) as processes:
        found = played(loop.start(given, two, make_backend=processes.backend))
    assert found == expected
    assert content(two) == content(one)


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced_and_its_episodes_played_again(here, config, folder):
    given = config("mars", {}, steps=3, checkpoint_every=1, rollout_parts=2)
    one, two = folder(given, "one"), folder(given, "two")
    train(given, one)
    said = []
    with start_processes("local", given, two, workers=2, say=said.append) as processes:
        run = loop.start(given, two, make_backend=processes.backend)
        for done in loop.updates(run):
            if done.step == 1:
                os.kill(pids(here, processes)[0], signal.SIGKILL)
    assert content(two) == content(one)
    assert len(said) == 1 and said[0].startswith("a rollout worker died (")
    assert "plays its 4 episodes again" in said[0]


@pytest.mark.slow
def test_an_error_in_a_worker_is_the_error_of_the_run(here, config, folder):
    given = config("mars", {}, sampling=replace(config().sampling, max_new_tokens=2))
    made = folder(given)
    with (
        pytest.raises(ConfigError, match="max_new_tokens=2 is too short"),
        start_processes("local", given, made, workers=1) as processes,
    ):
        list(loop.updates(loop.start(given, made, make_backend=processes.backend)))


# ---- Without Ray -----------------------------------------------------------------------------


class Here:
    """What workers need of Ray, in this process: calls are done at once."""

    class exceptions:
        class RayError(Exception):
            pass

        class RayTaskError(RayError):
            cause = ConfigError("no")

    def __init__(self, worker, deaths=0, room=True):
        self.worker, self.deaths, self.started, self.room = worker, deaths, 0, room

    def start(self):
        self.started += 1
        return self

    def __getattr__(self, name):
        return self

    def remote(self, *args):
        return args

    def put(self, packed):
        return packed

    def kill(self, worker):
        pass

    def wait(self, asked, timeout):
        return (asked, []) if self.room else ([], asked)

    def get(self, asked):
        if self.deaths:
            self.deaths -= 1
            raise self.exceptions.RayError("The actor died.\nIts logs are elsewhere.")
        return self.worker.play(*asked)


@pytest.fixture
def at_hand(monkeypatch):
    """Let references to the object store be what they refer to, and all be on one machine."""
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "get", lambda packed: packed)
    monkeypatch.setattr(ray.util, "get_node_ip_address", lambda: "here")


@pytest.mark.parametrize(
    "changes", [{}, LORA, MIXED, {"advantage.baseline": {"name": "greedy_baseline"}}]
)
def test_a_worker_plays_as_the_process_that_learns(config, folder, changes, at_hand):
    given = config("reinforce", changes, steps=3, rollout_parts=2)
    one, two = folder(given, "one"), folder(given, "two")
    expected = played(loop.start(given, one))
    ray = Here(Worker(given, 1, False, ORIGIN))
    run = loop.start(given, two, make_backend=lambda p: Workers(ray, ray.start, 1, p, print))
    assert played(run) == expected
    assert content(two) == content(one)


def test_parts_are_whole_groups_and_their_number_changes_last_digits_alone(config, folder):
    turns = {}
    for parts in (1, 2, 99):
        given = config("grpo", {"collect.episodes": 16, "collect.group_size": 4}, steps=1)
        given = replace(given, rollout_parts=parts)
        run = loop.start(given, folder(given, f"in{parts}"))
        seen = []

        def play(parts, agents, run=run, seen=seen):
            seen += [len(p.specs) for p in parts]
            return [play_part(p, run.envs, agents) for p in parts]

        run.collector.backend = play
        episodes = [json.loads(text) for text in played(run)[0]]
        turns[parts] = [(e["task"], t) for e in episodes for t in e["turns"]]
        assert seen == {1: [16], 2: [8, 8], 99: [4] * 4}[parts]
    said = {n: [(task, t["token_ids"]) for task, t in every] for n, every in turns.items()}
    assert said[1] == said[2] == said[99]
    one, *others = ([x for _, t in every for x in t["logprobs"]] for every in turns.values())
    assert all(other == pytest.approx(one, abs=1e-5) for other in others)


@pytest.mark.parametrize("deaths", [2, 3])
def test_workers_that_die_of_the_same_episodes_end_the_run(config, folder, at_hand, deaths):
    given, said = config("mars", {}, steps=1), []
    ray = Here(Worker(given, 1, False, ORIGIN), deaths)
    run = loop.start(
        given, folder(given), make_backend=lambda p: Workers(ray, ray.start, 1, p, said.append)
    )
    if deaths < 3:
        assert len(played(run)) == 1
    else:
        with pytest.raises(CoevoError, match=r"3 rollout workers died .* \(?The actor died"):
            played(run)
    assert len(said) == 2 and ray.started == 3
    assert "(The actor died); another one" in said[0]


def test_a_worker_that_cannot_be_replaced_leaves_its_work_to_the_others(config, folder, at_hand):
    given, said = config("mars", {}, steps=1, rollout_parts=2), []
    ray = Here(Worker(given, 1, False, ORIGIN), deaths=1, room=False)
    run = loop.start(
        given, folder(given), make_backend=lambda p: Workers(ray, ray.start, 2, p, said.append)
    )
    assert len(played(run)) == 1
    assert said[1].endswith("1 go on without it")


def test_workers_of_whom_none_can_be_replaced_end_the_run(config, folder, at_hand):
    given = config("mars", {}, steps=1, rollout_parts=2)
    ray = Here(Worker(given, 1, False, ORIGIN), deaths=9, room=False)
    run = loop.start(
        given, folder(given), make_backend=lambda p: Workers(ray, ray.start, 1, p, len)
    )
    with pytest.raises(CoevoError, match="no rollout worker is left, and the cluster has had no"):
        played(run)


def test_a_machine_without_coevo_is_named():
    class exceptions(Here.exceptions):
        class GetTimeoutError(Exception):
            pass

    class Bare:
        def get(asked, timeout):
            raise Here.exceptions.RayError(
                "The actor died in ray::Rank.__init__() (pid=1, ip=10.0.0.2, repr=x)\n"
                "RuntimeError: The actor with name Rank failed to import on the worker.\n"
                "ModuleNotFoundError: No module named 'coevo'"
            )

    Bare.exceptions = exceptions
    with pytest.raises(ConfigError, match=r"machine 10\.0\.0\.2 has no module 'coevo'"):
        begun(Bare, [None])


def test_a_table_plays_where_it_learns(config, folder):
    given = config("reinforce", {}, model="table")
    ray = Here(None)
    with pytest.raises(ConfigError, match=r"TabularPolicy, which plays .* --rollout-workers"):
        loop.start(
            given, folder(given), make_backend=lambda p: Workers(ray, ray.start, 1, p, print)
        )


def test_more_ranks_than_devices_are_refused(config, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    check_devices(config(), 2)
    with pytest.raises(ConfigError, match="--ranks 3 must be at most 2, the CPU cores"):
        check_devices(config(), 3)
