"""Runs that really train: budgets, failures, kills, parallel workers."""

import contextlib
import json
import os
import signal
import threading
import time

import psutil
import pytest

from coevo.benchmarks.compare import comparison, workers
from coevo.benchmarks.compare import runs as module
from coevo.benchmarks.compare.manifest import write
from coevo.benchmarks.compare.runs import PlannedRun, carry_out, result, results, runs
from coevo.benchmarks.compare.summary import summarise
from coevo.benchmarks.compare.workers import in_processes, on_ray
from coevo.benchmarks.measurement import RATES
from coevo.envs.core.errors import ConfigError
from coevo.trainers.files import StorageError
from coevo.trainers.run_folder import RunFolder
from tests.benchmarks.compare.conftest import KUHN, METRICS, plan, read_rows

TIMED = ("seconds",)
"""What differs between two runs of one run."""


@pytest.fixture
def tiny(tiny_model_dir):
    """Return a plan of four runs with a tiny model: a second or two each."""

    def make(**fields):
        given = {
            "algorithms": ("mars", "reinforce"),
            "seeds": (0, 1),
            "budgets": {KUHN: {"tokens": 200}},
            "model": str(tiny_model_dir),
            "points": 3,
            "games": 2,
            "changes": {"collect.episodes": 8},
            "sampling": {"max_new_tokens": 3},
        }
        return plan(**(given | fields))

    return make


def serially(root, manifest=None):
    """Carry a comparison out in this process."""
    found, facts = comparison.prepare(root, manifest)
    for run in runs(found):
        carry_out(root, run)
    return summarise(root, found, facts)


def untimed(root):
    return [{k: v for k, v in row.items() if k not in TIMED} for row in read_rows(root)]


def test_runs_end_within_one_update_of_their_budget_and_say_what_they_spent(tmp_path, tiny):
    manifest = tiny()
    summary = serially(tmp_path, manifest)
    assert summary["done"] == summary["runs"] == 4
    for run, found in results(tmp_path, manifest).items():
        lines = RunFolder(run.folder(tmp_path)).read_metrics()
        assert 200 <= found.tokens < 200 + lines[-1]["tokens"]
        assert found.tokens == sum(line["tokens"] for line in lines)
        assert found.turns == lines[-1]["total_turns"] > 0
        measured = [line["step"] for line in lines if "exploitability" in line]
        assert len(measured) <= 3
        assert measured[-1] == found.steps
        assert set(found.rates) == set(RATES) and found.rates["illegal_rate"] > 0  # untaught
        own = summary["environments"][run.environment]["algorithms"][run.algorithm]
        assert 0 < own["illegal_rate"] <= 1


def test_filters_of_sampling_are_those_of_measurements_alone(tmp_path, tiny):
    drawn = {"max_new_tokens": 3, "min_p": 1e-9}
    manifest = tiny(algorithms=("mars",), seeds=(0,), sampling=drawn)
    assert not module.train_config(manifest, runs(manifest)[0]).sampling.filters
    assert serially(tmp_path, manifest)["done"] == 1
    policy = module.start_agent(tiny())
    assert module._drawing({"policy": policy}, manifest).sampling.filters == {"min_p": 1e-9}
    assert module._drawing({"policy": policy}, tiny()) is policy


def test_seeds_pair_the_runs_whatever_the_algorithm(tmp_path, tiny):
    """Seed s gives every algorithm the same deals and, before it has learnt, the same plays."""
    serially(tmp_path, tiny())
    first = {}
    for name in ("mars", "reinforce"):
        for seed in (0, 1):
            lines = RunFolder(PlannedRun(KUHN, name, seed).folder(tmp_path)).read_metrics()
            first[name, seed] = lines[0]["tokens"], lines[0]["total_turns"]
    assert first["mars", 0] == first["reinforce", 0]
    assert first["mars", 1] == first["reinforce", 1]


@pytest.fixture
def failing(tmp_path, tiny, monkeypatch):
    """Return a function that plans a run which fails with an error until patches are undone."""

    def plan(error):
        def broken(*_):
            raise error

        manifest = tiny()
        write(tmp_path, manifest, lambda: {KUHN: METRICS[KUHN]})
        monkeypatch.setattr(module, "_measured", broken)
        return manifest, PlannedRun(KUHN, "mars", 0)

    return plan


def test_a_run_that_fails_is_a_run_with_its_reason_and_may_be_tried_again(
    tmp_path, failing, monkeypatch
):
    manifest, run = failing(RuntimeError("no memory\nleft"))
    found = carry_out(tmp_path, run)
    assert (found.status, found.reason) == ("failed", "RuntimeError: no memory left")
    assert "broken" in (run.folder(tmp_path) / "error.txt").read_text()
    monkeypatch.undo()
    assert carry_out(tmp_path, run) == found  # a result stays until somebody asks for another
    comparison.forget_failures(tmp_path, manifest)
    assert carry_out(tmp_path, run).status == "done"


def test_a_disk_that_refuses_is_no_failure_of_a_run(tmp_path, failing, monkeypatch):
    _, run = failing(StorageError("the disk is full"))
    with pytest.raises(StorageError):
        carry_out(tmp_path, run)
    monkeypatch.undo()
    assert carry_out(tmp_path, run).status == "done"


def test_a_worker_that_is_killed_costs_one_run(tmp_path, tiny):
    manifest = tiny(budgets={KUHN: {"tokens": 1500}})
    write(tmp_path, manifest, lambda: {KUHN: METRICS[KUHN]})
    todo = runs(manifest)
    ended = {}
    victim = RunFolder(todo[0].folder(tmp_path)).metrics
    work = in_processes(tmp_path, todo, 1, 1)

    def kill():
        while not victim.exists():
            time.sleep(0.02)
        for child in psutil.Process().children():
            with contextlib.suppress(psutil.Error):  # one that has ended has no command line
                if "spawn_main" in " ".join(child.cmdline()):
                    child.kill()

    thread = threading.Thread(target=kill)
    thread.start()
    for run, found in work:
        ended[run] = found
        if len(ended) == 2:
            work.close()
            break
    thread.join()
    assert ended[todo[0]].status == "failed"
    assert "SIGKILL" in ended[todo[0]].reason
    assert ended[todo[1]].status == "done"
    assert result(tmp_path, todo[0]) == ended[todo[0]]


@pytest.mark.usefixtures("usual_signals")
def test_a_worker_that_is_stopped_while_it_starts_says_nothing(tmp_path, tiny, capfd):
    write(tmp_path, tiny(), lambda: {KUHN: METRICS[KUHN]})
    (run, *_) = runs(tiny())
    worker = workers._worker(1)
    workers._next(worker, tmp_path, iter([run]))
    workers._dismiss([worker])
    assert worker.process.exitcode == 0
    assert capfd.readouterr().err == ""
    assert result(tmp_path, run) is None


@pytest.mark.usefixtures("usual_signals")
def test_interrupted_runs_continue_and_end_with_the_same_rows(tmp_path, tiny):
    manifest = tiny(algorithms=("mars",), budgets={KUHN: {"tokens": 1500}}, seeds=(0,))
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    serially(whole, manifest)
    count = 0

    def stop():
        nonlocal count
        count += 1
        if count == 3:
            os.kill(os.getpid(), signal.SIGINT)

    comparison.prepare(broken, manifest)
    run = PlannedRun(KUHN, "mars", 0)
    with pytest.raises(KeyboardInterrupt):
        carry_out(broken, run, stop)
    assert result(broken, run) is None
    assert len(RunFolder(run.folder(broken)).read_metrics()) >= 3
    serially(broken)
    assert untimed(broken) == untimed(whole)


def test_an_existing_comparison_is_continued_only_as_it_was_planned(tmp_path, tiny):
    comparison.prepare(tmp_path, tiny())
    with pytest.raises(ConfigError, match="holds a comparison with points=3"):
        comparison.prepare(tmp_path, tiny(points=4))


@pytest.mark.slow
def test_runs_run_on_ray_as_they_do_in_processes(tmp_path, tiny):
    pytest.importorskip("ray")
    manifest = tiny(algorithms=("mars",))
    here, there = tmp_path / "here", tmp_path / "there"
    serially(here, manifest)
    comparison.prepare(there, manifest)
    found = dict(on_ray(there, runs(manifest), 1, 1))
    assert {r.status for r in found.values()} == {"done"}
    comparison.compare(there)
    assert untimed(there) == untimed(here)
    assert json.loads((there / "comparison.json").read_text())["done"] == 2


def test_baselines_of_stable_baselines3_share_the_tables_at_equal_turns(tmp_path, tiny):
    pytest.importorskip("sb3_contrib")
    names = ("sb3:maskable_ppo", "mars")
    budget = {KUHN: {"turns": 1500}}
    manifest = tiny(algorithms=names, baseline="mars", budgets=budget, seeds=(0,))
    part = serially(tmp_path, manifest)["environments"][KUHN]
    for name in names:
        found = part["algorithms"][name]
        assert found["failed"] == []
        assert 1500 <= found["turns"] < 3000
    assert part["algorithms"]["sb3:maskable_ppo"]["tokens"] == 0
    assert part["curve"]["by"] == "turns"
    first = {r["algorithm"]: r["value"] for r in reversed(read_rows(tmp_path)) if r["step"] == 0}
    assert first["mars"] != first["sb3:maskable_ppo"]  # each begins as itself
