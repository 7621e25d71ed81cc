"""A Ray cluster: joined, or started on this machine for as long as it is needed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from coevo.envs.core.errors import ConfigError, missing_extra

Where = Literal["auto", "local"]
"""`auto` joins the cluster of RAY_ADDRESS or of this machine; `local` starts one here."""
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # it would want a network
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",  # who asks for a result hears of its error
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # who asks for no GPU of its own sees all
}
STORE = 512 << 20
"""Bytes of the object store: weights and episodes that are under way; more go to disk."""
PLACE = Path("/tmp")
"""Ray's sockets need short paths."""


@contextlib.contextmanager
def cluster(where: Where, cpus: int = 1) -> Iterator[Any]:
    """Let a cluster be there, and yield the module `ray`; a Ray that is connected is used as it is.

    What was started here is stopped and removed at the end, whatever happens.

    Args:
        where: a cluster that runs, or one of this machine's own.
        cpus: how many processes will ask for one, where it is started here.

    Raises:
        MissingExtraError: Ray is not installed.
        ConfigError: no cluster answers.
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ModuleNotFoundError:
        raise missing_extra("ray", "ray") from None
    if ray.is_initialized():
        yield ray
        return
    folder = tempfile.mkdtemp(prefix="coevo-", dir=PLACE) if where == "local" else ""
    try:
        with _unheard(ray):
            _connect(ray, folder, cpus)
            yield ray
    finally:
        ray.shutdown()
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _unheard(ray: Any) -> Iterator[None]:
    """Keep Ray from printing paragraphs about a death, of which the caller hears as an error.

    No option of Ray does that.
    """
    prints = ray._private.worker.print_to_stdstream
    ray._private.worker.print_to_stdstream = lambda data, ignore_prefix: None
    try:
        yield
    finally:
        ray._private.worker.print_to_stdstream = prints


def _connect(ray: Any, folder: str, cpus: int) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if folder:
        ray.init(
            address="local",
            num_cpus=cpus,
            include_dashboard=False,
            object_store_memory=STORE,
            _node_ip_address="127.0.0.1",
            _temp_dir=folder,
            **quiet,
        )
        return
    try:
        ray.init(address="auto", **quiet)
    except Exception as error:  # Ray raises several kinds
        given = os.environ.get("RAY_ADDRESS", "")
        said = f"RAY_ADDRESS={given} does not answer" if given else "there is none on this machine"
        raise ConfigError(
            f"--ray auto joins a cluster, but {said}; start one (ray start --head), or use "
            "--ray local"
        ) from error
