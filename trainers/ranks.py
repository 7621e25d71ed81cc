"""The ranks of a run: processes that carry it out together, as `torchrun` or Ray starts them.

    torchrun --nproc-per-node 2 -m coevo train grpo --env coevo/kuhn_poker-v0
    coevo train grpo --env coevo/kuhn_poker-v0 --ray local --ranks 2

Every rank takes the same steps. The first one alone plays, measures, writes and decides when to
stop, and tells the others; passes and gradients are shared out. One process alone is the first of
one, and nothing here does anything.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from coevo.envs.core.errors import CoevoError

T = TypeVar("T")
MEETING = timedelta(minutes=2)
"""How long ranks that are all there may take to meet."""
INTERFACE = "GLOO_SOCKET_IFNAME"
"""Variable that names the network interface of gloo."""
SIOCGIFADDR = 0x8915
"""Linux: asks an interface for its address."""
_chosen = ""
"""Interface that was chosen here for the ranks that are joined."""


class RankLostError(CoevoError, RuntimeError):
    """Another rank of the run is gone, so that nothing can be shared out any more."""

    exit_code = 1


@contextlib.contextmanager
def together() -> Iterator[None]:
    """Say so in words where this rank is left alone, whatever it was about to share.

    Raises:
        RankLostError: another rank has died.
    """
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, dist.DistError) and "gloo" not in str(error):  # has no own kind
            raise
        raise RankLostError(
            f"rank {number()} of {count()} lost another one, which has died or was stopped; what "
            "the newest checkpoint holds is safe: start all ranks again with --resume"
        ) from error


@dataclass(frozen=True)
class Place:
    """Which rank a process is, and where the ranks meet."""

    number: int
    """From 0."""
    count: int
    address: str
    """HOST:PORT, at which the first one listens."""


def join(place: Place | None = None) -> None:
    """Join the other ranks, at a place or at the one that `torchrun` has given, if it has.

    Raises:
        RankLostError: the others are not reached.
    """
    if dist.is_initialized() or (place is None and int(os.environ.get("WORLD_SIZE", "1")) < 2):
        return
    backend = "gloo"
    if torch.cuda.is_available():
        backend = "cpu:gloo,cuda:nccl"
        if place is None:
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    if place is None:
        dist.init_process_group(backend)
    else:
        _meet(place, backend)


def _meet(place: Place, backend: str) -> None:
    global _chosen
    host, _, port = place.address.rpartition(":")
    if INTERFACE not in os.environ and (_chosen := interface_towards(host)):
        os.environ[INTERFACE] = _chosen  # later groups read it too
    first = place.number == 0
    try:
        store = dist.TCPStore(host, int(port), place.count, is_master=first, timeout=MEETING)
    except dist.DistError as error:
        raise RankLostError(
            f"rank {place.number} of {place.count} did not meet the others at {place.address} "
            f"within {MEETING.seconds} s: machines must reach each other at any port"
        ) from error
    store.set_timeout(dist.default_pg_timeout)
    dist.init_process_group(backend, store=store, rank=place.number, world_size=place.count)


def interface_towards(host: str) -> str:
    """Return the network interface by which this machine speaks with a host; empty if unknown.

    gloo would take the address of the machine's own name, which is 127.0.1.1 on many systems.
    """
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect((host, 1))  # sends nothing
            own = socket.inet_aton(asked.getsockname()[0])
        except OSError:
            return ""
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):  # it has no address
                found = fcntl.ioctl(asked.fileno(), SIOCGIFADDR, name.encode().ljust(256, b"\0"))
                if found[20:24] == own:
                    return name
    return ""


def hang_up(host: str) -> None:
    """Close the connections with a machine that is gone: gloo waits for it half an hour."""
    for path in Path("/proc/self/fd").glob("*"):
        with contextlib.suppress(OSError):  # it is closed by now, or has no other end
            if path.is_socket():
                with socket.socket(fileno=os.dup(int(path.name))) as one:
                    if one.getpeername()[0].removeprefix("::ffff:") == host:
                        one.shutdown(socket.SHUT_RDWR)


def leave() -> None:
    """Leave them, at the end of the process or of a run."""
    global _chosen
    if dist.is_initialized():
        dist.destroy_process_group()
    if _chosen:
        os.environ.pop(INTERFACE, None)
        _chosen = ""


def count() -> int:
    return dist.get_world_size() if dist.is_initialized() else 1


def number() -> int:
    """Return which of them this process is, from 0."""
    return dist.get_rank() if dist.is_initialized() else 0


def broadcast_from_first(work: Callable[[], T]) -> T:
    """Let the first rank alone do some work, and return its result, or raise its error, on all."""
    if count() == 1:
        return work()
    shared: list[Any] = [None, None]
    if number() == 0:
        try:
            shared[0] = work()
        except Exception as error:
            shared[1] = error
    dist.broadcast_object_list(shared, src=0)
    if shared[1] is not None:
        raise shared[1]
    found: T = shared[0]
    return found


def add(tensor: Tensor) -> None:
    """Replace a tensor by its sum over the ranks."""
    if count() > 1:
        dist.all_reduce(tensor)


def shared_out(parts: Sequence[T]) -> Iterator[tuple[T, bool]]:
    """Return this rank's share of some parts, and whether each counts.

    Where shares are unequal the shorter ones end with a part that does not count: its gradient is
    to be multiplied by 0, so that all ranks do the same number of passes.
    """
    if not parts:
        return
    for first in range(0, len(parts), count()):
        at = first + number()
        yield (parts[at], True) if at < len(parts) else (parts[0], False)


def joined(found: Sequence[T]) -> list[T]:
    """Return what all ranks found of the parts that count, in the order of the parts."""
    if count() == 1:
        return list(found)
    every: list[Any] = [None] * count()
    dist.all_gather_object(every, list(found))
    longest = max(map(len, every))
    return [own[i] for i in range(longest) for own in every if i < len(own)]
