"""The processes that a run has beside its own: rollout workers, and the ranks after the first.

    with start_processes("local", config, folder, workers=2, ranks=2) as processes:
        run = start(config, folder, make_backend=processes.backend)
        finish(run)

This process is the first rank; it plans, writes and decides. All others end with it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
import warnings
from collections.abc import Iterator, Mapping
from threading import Event, Thread
from typing import Any

import torch

from coevo.agents.load import pick_device
from coevo.agents.population import Population
from coevo.envs.core.errors import CoevoError, ConfigError, DataError
from coevo.trainers import checkpoint, ranks
from coevo.trainers.collect.part import RolloutBackend
from coevo.trainers.config import TrainConfig
from coevo.trainers.loop import finish
from coevo.trainers.ranks import RankLostError
from coevo.trainers.remote.cluster import Where, cluster
from coevo.trainers.remote.origin import Origin, address
from coevo.trainers.remote.workers import Say, Worker, Workers, begun
from coevo.trainers.run import start
from coevo.trainers.run_folder import RunFolder

PATIENCE = 5.0
"""Seconds that Ray may take to notice a death."""
ROOM = 10.0
"""Seconds that Ray may take to notice that processes of others have ended."""


class Rank:
    """One rank after the first, as a Ray actor."""

    def ready(self, config: TrainConfig, folder: RunFolder, origin: Origin, step: int) -> str:
        """Return the address of its machine when the process can take part in a run.

        `step` is the update of the newest checkpoint, as the first rank sees it.

        Raises:
            CoevoError: something that the run needs is not on this machine.
        """
        origin.adopt(config)
        if (found := checkpoint.latest_step(folder.checkpoints)) != step:
            raise DataError(
                f"machine {address()} sees update {found} as the newest in {folder.checkpoints}, "
                f"and {origin.address} sees {step}: ranks on several machines resume from a folder "
                "that all of them share"
            )
        return address()

    def gpus(self) -> list[int]:
        """Return the GPUs that it has for itself."""
        import ray

        return [int(number) for number in ray.get_gpu_ids()]

    def follow(
        self, config: TrainConfig, folder: RunFolder, place: ranks.Place, threads: int, trust: bool
    ) -> None:
        """Take its part in a run, to the end."""
        torch.set_num_threads(threads)
        ranks.join(place)
        try:
            finish(start(config, folder, trust_remote_code=trust))
        except KeyboardInterrupt:  # the first one was asked to stop
            return
        finally:
            ranks.leave()  # ranks that wait for this one get an error


class Processes:
    """Workers and ranks of one run.

    Args:
        folder: where it is written; ranks on other machines must see it.
        workers: rollout workers; 0 lets this process play.
        ranks: this process included.
        say: tells that a worker was replaced.
    """

    def __init__(
        self,
        ray: Any,
        config: TrainConfig,
        folder: RunFolder,
        workers: int,
        ranks: int,
        trust_remote_code: bool,
        say: Say,
    ) -> None:
        self.ray, self.config = ray, config
        self.folder = RunFolder(folder.path.absolute())  # others may run elsewhere
        self.workers, self.ranks = workers, ranks
        self.trust, self.say = trust_remote_code, say
        self.origin = Origin.of(config)
        self._gpus = 0.0
        """What Ray keeps for a worker; 0 shares the GPUs of ranks, if there are any."""
        self._actors: list[Any] = []
        self._following: dict[Any, int] = {}
        self._play: Workers | None = None
        self._watch: Thread | None = None
        self._over = Event()

    @property
    def threads(self) -> int:
        return self.config.threads or torch.get_num_threads()

    def start(self) -> None:
        """Start the other ranks and join them."""
        gpu = pick_device(self.config.device).type == "cuda"
        keeps = self.ranks if gpu and self.ranks > 1 else 0
        self._wait_for_room({"CPU": self.workers + self.ranks - 1, "GPU": keeps})
        if gpu and self.workers:
            self._gpus = max(0.0, min(1.0, (self._free("GPU") - self.ranks) / self.workers))
        # GPUs of one machine are near each other; CPUs are better shared out over machines.
        where = "DEFAULT" if gpu else "SPREAD"
        actor = self.ray.remote(num_cpus=1, num_gpus=int(gpu), scheduling_strategy=where)(Rank)
        if gpu and (self.ranks > 1 or self._gpus):
            self._keep_one(actor)
        if self.ranks == 1:
            return
        others = [actor.remote() for _ in range(1, self.ranks)]
        self._actors += others
        step = checkpoint.latest_step(self.folder.checkpoints)
        ready = [one.ready.remote(self.config, self.folder, self.origin, step) for one in others]
        machines = begun(self.ray, ready)
        meeting = f"{self.origin.address}:{_free_port()}"
        for number, one in enumerate(others, start=1):
            place = ranks.Place(number, self.ranks, meeting)
            reply = one.follow.remote(self.config, self.folder, place, self.threads, self.trust)
            self._following[reply] = number
        there = dict(zip(self._following, machines, strict=True))
        self._watch = Thread(target=self._cut_off, args=(there,))
        self._watch.start()
        ranks.join(ranks.Place(0, self.ranks, meeting))

    def backend(self, population: Population) -> RolloutBackend | None:
        """Return the rollout backend: the workers, or None to play in this process."""
        if not self.workers:
            return None
        wanted = {"num_cpus": 1, "num_gpus": self._gpus, "scheduling_strategy": "SPREAD"}
        actor = self.ray.remote(**wanted)(Worker)

        def one() -> Any:
            return actor.remote(self.config, self.threads, self.trust, self.origin)

        self._play = Workers(self.ray, one, self.workers, population, self.say)
        return self._play

    def lost(self) -> str:
        """Return which rank has died, and of what; empty where all are well."""
        done, _ = self.ray.wait(
            list(self._following), num_returns=len(self._following), timeout=PATIENCE
        )
        for reply in done:
            try:
                self.ray.get(reply)
            except self.ray.exceptions.RayTaskError as error:
                own = isinstance(error.cause, CoevoError)
                if own and not isinstance(error.cause, RankLostError):
                    return f"rank {self._following[reply]} has ended: {error.cause}"
            except self.ray.exceptions.RayError:
                return f"rank {self._following[reply]} of {self.ranks} has died"
        return ""

    def _cut_off(self, there: dict[Any, str]) -> None:
        """Close connections with machines that are gone: waiting ranks get no other sign."""
        while there and not self._over.wait(1.0):
            done, _ = self.ray.wait(list(there), num_returns=len(there), timeout=0)
            for reply in done:
                machine = there.pop(reply)
                try:
                    self.ray.get(reply)
                except self.ray.exceptions.RayTaskError:
                    pass  # it has closed them
                except self.ray.exceptions.RayError:
                    if machine != self.origin.address:
                        ranks.hang_up(machine)

    def stop(self) -> None:
        self._over.set()
        if self._watch is not None:
            self._watch.join()
        if self._play is not None:
            self._play.close()
        for one in self._actors:
            self.ray.kill(one)
        ranks.leave()

    def _keep_one(self, actor: Any) -> None:
        """Let Ray know which GPU this process, the first rank, computes on."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = self.ray.get_runtime_context().get_node_id()
        near = NodeAffinitySchedulingStrategy(here, soft=False)
        holder = actor.options(num_cpus=0, scheduling_strategy=near).remote()
        torch.cuda.set_device(self.ray.get(holder.gpus.remote())[0])
        self._actors.append(holder)

    def _wait_for_room(self, wanted: Mapping[str, int]) -> None:
        """Wait a while for what processes of other runs are giving back, by kind of device."""
        end = time.monotonic() + ROOM
        while lacking := [k for k, n in wanted.items() if self._free(k) < n]:
            kind = lacking[0]
            there = int(self.ray.cluster_resources().get(kind, 0))
            if there < wanted[kind] or time.monotonic() > end:
                raise ConfigError(
                    f"{self.workers} rollout workers and {self.ranks} ranks need {wanted[kind]} "
                    f"{kind}s{' beside this process' * (kind == 'CPU')}; the cluster has {there}, "
                    f"of which {int(self._free(kind))} are free"
                )
            time.sleep(0.2)

    def _free(self, kind: str) -> float:
        return float(self.ray.available_resources().get(kind, 0.0))


@contextlib.contextmanager
def start_processes(
    where: Where,
    config: TrainConfig,
    folder: RunFolder,
    *,
    workers: int = 0,
    ranks: int = 1,
    trust_remote_code: bool = False,
    say: Say = warnings.warn,
) -> Iterator[Processes]:
    """Start workers and ranks, and yield them; at the end none is left.

    Raises:
        ConfigError: there are too few devices.
        RankLostError: a rank has died.
    """
    if where == "local":
        check_devices(config, ranks)
    with cluster(where, cpus=workers + ranks - 1) as ray:
        processes = Processes(ray, config, folder, workers, ranks, trust_remote_code, say)
        try:
            processes.start()
            yield processes
        except Exception as error:
            if isinstance(error, CoevoError) and not isinstance(error, RankLostError):
                raise
            if processes.ranks > 1 and (lost := processes.lost()):
                raise RankLostError(
                    f"{lost}; what was learnt up to the last checkpoint is in {folder.path}; "
                    f"continue with: coevo train --resume {folder.path}"
                ) from error
            raise
        finally:
            processes.stop()


def check_devices(config: TrainConfig, ranks: int) -> None:
    """Refuse more ranks than this machine has devices: GPUs, or CPU cores."""
    cuda = pick_device(config.device).type == "cuda"
    there = torch.cuda.device_count() if cuda else os.cpu_count() or 1
    if ranks > there:
        kind = "GPUs" if cuda else "CPU cores"
        raise ConfigError(f"--ranks {ranks} must be at most {there}, the {kind} of this machine")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("", 0))
        return int(free.getsockname()[1])
