"""A Ray cluster: joined, or started on this machine for as long as it is needed."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from coevo.envs.core.errors import ConfigError, missing_extra
from coevo.trainers.remote.watch import watched

Where = Literal["auto", "local"]
"""`auto` joins the cluster of RAY_ADDRESS or of this machine; `local` starts one here."""
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # it would want a network
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",  # who asks for a result hears of its error
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # who asks for no GPU of its own sees all
    "RAY_DEDUP_LOGS_SKIP_REGEX": "(?s).*",  # of a death the caller hears as an error
}
STORE = 512 << 20
"""Bytes of the object store: weights and episodes that are under way; more go to disk."""
ANSWER = 10.0
"""Seconds in which a cluster answers."""
AUTHENTICATION = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN")
TOKEN = secrets.token_hex(32)
"""Of the clusters that this process starts."""
PLACE = Path("/tmp")
"""Ray's sockets need short paths."""


@contextlib.contextmanager
def cluster(where: Where, cpus: int = 1) -> Iterator[Any]:
    """Let a cluster be there, and yield the module `ray`; a Ray that is connected is used as it is.

    What was started here is stopped and removed at the end, whatever happens.

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
        with _own_token(where):
            _connect(ray, folder, cpus)
        with watched(lambda: shutil.rmtree(folder, ignore_errors=True)):
            yield ray
    finally:
        ray.shutdown()
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _own_token(where: Where) -> Iterator[None]:
    """Give a cluster of one's own a token of its own.

    Ray would keep one in the origin folder, and every cluster started later would ask for it.
    """
    before = {name: os.environ.get(name) for name in AUTHENTICATION}
    if where == "local":
        os.environ.setdefault("RAY_AUTH_TOKEN", TOKEN)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)


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
    given = os.environ.get("RAY_ADDRESS", "")
    _check_there(given)
    try:
        ray.init(address="auto", **quiet)
    except Exception as error:  # Ray raises several kinds
        raise ConfigError(_unjoined(given, error)) from error


def _check_there(given: str) -> None:
    """Refuse a HOST:PORT that Ray would try for minutes, or die of; other forms it finds itself."""
    host, _, port = given.rpartition(":")
    if not port.isdecimal() or "/" in host:
        return
    try:
        socket.create_connection((host, int(port)), timeout=ANSWER).close()
    except OSError:
        raise ConfigError(_no_cluster(f"RAY_ADDRESS={given} does not answer")) from None
    names = {_text(path) for path in Path("/proc").glob("[0-9]*/comm")}
    if names and "raylet" not in names:
        raise ConfigError(
            f"--ray auto joins the cluster of RAY_ADDRESS={given}, but this machine is no part of "
            f"it: run `ray start --address={given}` here, or coevo on one of its machines"
        )


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:  # it has ended
        return ""


def _unjoined(given: str, error: Exception) -> str:
    """Return why no cluster was joined, and what to do about it."""
    said = " ".join(str(error).split())
    if "ersion mismatch" in said:
        return f"--ray auto: {said}"
    if type(error).__name__ == "AuthenticationError":
        return (
            f"--ray auto: the cluster {f'of RAY_ADDRESS={given} ' * bool(given)}wants its token: "
            "set RAY_AUTH_MODE=token here, with the token in ~/.ray/auth_token or RAY_AUTH_TOKEN"
        )
    at = f"RAY_ADDRESS={given} does not answer" if given else "there is none on this machine"
    return _no_cluster(at)


def _no_cluster(where: str) -> str:
    return (
        f"--ray auto joins a cluster, but {where}; start one (ray start --head), or use --ray local"
    )
