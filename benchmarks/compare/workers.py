"""Runs in parallel: in processes of this machine, or as Ray tasks.

A run that fails says so itself. A process that dies takes only its own run with it; the run is
then written off with the reason, and another process takes the next one. Where the disk refuses a
write nothing goes on.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from coevo.agents.engines.processes import signalled, unsignalled
from coevo.benchmarks.compare.runs import PlannedRun, RunResult, carry_out, reason, write_result
from coevo.trainers.files import StorageError
from coevo.trainers.remote.cluster import cluster

INTERRUPTED = "interrupted"


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    run: PlannedRun | None = None


def in_processes(
    root: Path, todo: Sequence[PlannedRun], workers: int, threads: int
) -> Iterator[tuple[PlannedRun, RunResult]]:
    """Carry runs out, some at a time, in processes of their own; yield each as it ends.

    KeyboardInterrupt, and StorageError where the disk refused a write, are raised after every run
    in progress has saved itself.
    """
    rest = iter(todo)
    started = [_worker(threads) for _ in range(min(workers, len(todo)))]
    try:
        for worker in started:
            _next(worker, root, rest)
        while busy := [w for w in started if w.run is not None]:
            for worker in _ready(busy):
                run, found = _received(worker, root)
                if found is None:
                    raise KeyboardInterrupt
                yield run, found
                if not worker.process.is_alive():
                    fresh = _worker(threads)
                    worker.process, worker.pipe = fresh.process, fresh.pipe
                _next(worker, root, rest)
    finally:
        _dismiss(started)


def _worker(threads: int) -> _Worker:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, threads), daemon=True)
    with unsignalled():
        process.start()
    theirs.close()
    return _Worker(process, ours)


def _next(worker: _Worker, root: Path, rest: Iterator[PlannedRun]) -> None:
    worker.run = next(rest, None)
    if worker.run is not None:
        worker.pipe.send((root, worker.run))


def _ready(busy: Sequence[_Worker]) -> list[_Worker]:
    found = set(wait([w.pipe for w in busy]))
    return [w for w in busy if w.pipe in found]


def _received(worker: _Worker, root: Path) -> tuple[PlannedRun, RunResult | None]:
    """Return what a worker found; None where it had to stop."""
    run = worker.run
    assert run is not None  # only busy workers are waited for
    worker.run = None
    try:
        found = worker.pipe.recv()
    except (EOFError, OSError):
        worker.process.join()
        found = RunResult("failed", _death(worker.process.exitcode))
        write_result(root, run, found)
    if isinstance(found, StorageError):
        raise found
    return run, None if found == INTERRUPTED else found


def _death(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        name = signal.Signals(-exitcode).name
        memory = "; out of memory?" if name == "SIGKILL" else ""
        return f"the process was ended by {name}{memory}"
    return f"the process ended with status {exitcode}"


def _dismiss(started: Sequence[_Worker]) -> None:
    """Let workers finish the update they are in, and go."""
    for worker in started:
        if worker.run is not None and worker.process.is_alive() and worker.process.pid:
            os.kill(worker.process.pid, signal.SIGINT)
        worker.pipe.close()
    for worker in started:
        worker.process.join()


def _serve(pipe: Connection, threads: int) -> None:
    """Carry runs out, until the other end is closed. Signals to stop arrive only within a run."""
    import torch

    from coevo.agents.load import no_progress_bars

    torch.set_num_threads(threads)

    def alive() -> None:
        if pipe.poll():  # it was closed: the result is not wanted any more
            os.kill(os.getpid(), signal.SIGINT)

    with no_progress_bars():
        while True:
            try:
                root, run = pipe.recv()
                with signalled():
                    found = carry_out(root, run, alive)
                pipe.send(found)
            except (EOFError, BrokenPipeError):
                return
            except KeyboardInterrupt:
                with_reader(pipe.send, INTERRUPTED)
                return
            except StorageError as error:
                with_reader(pipe.send, error)
                return


def with_reader(send: Callable[[Any], None], message: Any) -> None:
    try:
        send(message)
    except OSError:
        return


def on_ray(
    root: Path, todo: Sequence[PlannedRun], workers: int, threads: int
) -> Iterator[tuple[PlannedRun, RunResult]]:
    """Carry runs out as Ray tasks; the folder must be one that every node sees.

    A Ray that is connected already is used as it is; else one is started on this machine with
    `workers` times `threads` CPUs.
    """
    with cluster("local", workers * threads) as ray:
        task = ray.remote(num_cpus=threads, max_retries=0)(_ray_run)
        waiting = {task.remote(str(root.absolute()), run, threads): run for run in todo}
        try:
            while waiting:
                (done, *_), _ = ray.wait(list(waiting), num_returns=1)
                run = waiting.pop(done)
                try:
                    found = ray.get(done)
                except ray.exceptions.RayError as error:
                    if isinstance(cause := getattr(error, "cause", None), StorageError):
                        raise cause from None
                    found = RunResult("failed", reason(error)[:500])
                    write_result(root, run, found)
                yield run, found
        finally:
            for task_id in waiting:
                ray.cancel(task_id)


def _ray_run(root: str, run: PlannedRun, threads: int) -> RunResult:
    import torch

    torch.set_num_threads(threads)
    return carry_out(Path(root), run)


WHERE = {"processes": in_processes, "ray": on_ray}
"""Name -> how runs are carried out."""
