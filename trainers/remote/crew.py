"""The processes that a run has beside its own: rollout workers, and the ranks after the first.

    with crew("local", config, folder, workers=2, ranks=2) as hands:
        run = start(config, folder, hire=hands.hire)
        finish(run)

This process is the first rank; it plans, writes and decides. All others end with it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from coevo.agents.load import pick_device
from coevo.agents.population import Population
from coevo.envs.core.errors import CoevoError, ConfigError
from coevo.trainers import ranks
from coevo.trainers.collect.part import Play
from coevo.trainers.config import TrainConfig
from coevo.trainers.loop import finish
from coevo.trainers.ranks import RankLostError
from coevo.trainers.remote.cluster import Where, cluster
from coevo.trainers.remote.workers import Say, Worker, Workers
from coevo.trainers.run import start
from coevo.trainers.run_folder import RunFolder

PATIENCE = 5.0
"""Seconds that Ray may take to notice a death."""


class Rank:
    """One rank after the first, as a Ray actor."""

    def ready(self) -> None:
        """Return when the process is there."""

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
            ranks.leave()  # who waits for this one hears of it


class Crew:
    """Workers and ranks of one run.

    Args:
        ray: the module, connected.
        config: the run.
        folder: where it is written; ranks on other machines must see it.
        workers: rollout workers; 0 lets this process play.
        ranks: this process included.
        trust_remote_code: run code that comes with a model.
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
        self._gpus = self._gpus_of_a_worker()
        self._actors: list[Any] = []
        self._following: dict[Any, int] = {}
        self._play: Workers | None = None

    @property
    def threads(self) -> int:
        """Threads of torch in every process."""
        return self.config.threads or torch.get_num_threads()

    def gather(self) -> None:
        """Start the other ranks and join them."""
        gpu = pick_device(self.config.device).type == "cuda"
        actor = self.ray.remote(num_cpus=1, num_gpus=int(gpu))(Rank)
        if gpu and (self.ranks > 1 or self._gpus):
            self._keep_one(actor)
        if self.ranks == 1:
            return
        others = [actor.remote() for _ in range(1, self.ranks)]
        self._actors += others
        self.ray.get([one.ready.remote() for one in others])
        address = f"{self.ray.util.get_node_ip_address()}:{_free_port()}"
        for number, one in enumerate(others, start=1):
            place = ranks.Place(number, self.ranks, address)
            told = one.follow.remote(self.config, self.folder, place, self.threads, self.trust)
            self._following[told] = number
        ranks.join(ranks.Place(0, self.ranks, address))

    def hire(self, population: Population) -> Play | None:
        """Return who plays for a population: the workers, or None for this process."""
        if not self.workers:
            return None
        actor = self.ray.remote(num_cpus=1, num_gpus=self._gpus)(Worker)

        def one() -> Any:
            return actor.remote(self.config, self.threads, self.trust)

        self._play = Workers(self.ray, one, self.workers, population, self.say)
        return self._play

    def lost(self) -> str:
        """Return which rank has died, and of what; empty where all are well."""
        done, _ = self.ray.wait(
            list(self._following), num_returns=len(self._following), timeout=PATIENCE
        )
        for told in done:
            try:
                self.ray.get(told)
            except self.ray.exceptions.RayTaskError as error:
                own = isinstance(error.cause, CoevoError)
                if own and not isinstance(error.cause, RankLostError):
                    return f"rank {self._following[told]} has ended: {error.cause}"
            except self.ray.exceptions.RayError:
                return f"rank {self._following[told]} of {self.ranks} has died"
        return ""

    def dismiss(self) -> None:
        """End all processes."""
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

    def _gpus_of_a_worker(self) -> float:
        """Return what Ray is to keep for a worker; 0 shares the GPUs of ranks, if there are any.

        Raises:
            ConfigError: there are too few devices for this crew.
        """
        there = self.ray.cluster_resources()
        cpus, gpus = int(there.get("CPU", 0)), int(there.get("GPU", 0))
        wanted = self.workers + self.ranks - 1
        if wanted > cpus:
            raise ConfigError(
                f"{self.workers} rollout workers and {self.ranks} ranks need {wanted} CPUs beside "
                f"this process; the cluster has {cpus}"
            )
        if pick_device(self.config.device).type != "cuda":
            return 0.0
        if self.ranks > max(gpus, 1):
            raise ConfigError(f"--ranks {self.ranks} must be at most the number of GPUs, {gpus}")
        spare = gpus - self.ranks
        return min(1.0, spare / self.workers) if self.workers and spare > 0 else 0.0


@contextlib.contextmanager
def crew(
    where: Where,
    config: TrainConfig,
    folder: RunFolder,
    *,
    workers: int = 0,
    ranks: int = 1,
    trust_remote_code: bool = False,
    say: Say = warnings.warn,
) -> Iterator[Crew]:
    """Start workers and ranks, and yield them; at the end none is left.

    Raises:
        ConfigError: there are too few devices.
        RankLostError: a rank has died.
    """
    if where == "local":
        check_devices(config, ranks)
    with cluster(where, cpus=workers + ranks - 1) as ray:
        hands = Crew(ray, config, folder, workers, ranks, trust_remote_code, say)
        try:
            hands.gather()
            yield hands
        except Exception as error:
            if isinstance(error, CoevoError) and not isinstance(error, RankLostError):
                raise
            if hands.ranks > 1 and (lost := hands.lost()):
                raise RankLostError(
                    f"{lost}; what was learnt up to the last checkpoint is in {folder.path}; "
                    f"continue with: coevo train --resume {folder.path}"
                ) from error
            raise
        finally:
            hands.dismiss()


def check_devices(config: TrainConfig, ranks: int) -> None:
    """Refuse more ranks than this machine has devices: GPUs, or CPU cores.

    Raises:
        ConfigError: there are fewer.
    """
    cuda = pick_device(config.device).type == "cuda"
    there = torch.cuda.device_count() if cuda else os.cpu_count() or 1
    if ranks > there:
        kind = "GPUs" if cuda else "CPU cores"
        raise ConfigError(f"--ranks {ranks} must be at most {there}, the {kind} of this machine")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("", 0))
        return int(free.getsockname()[1])
