"""Bubblewrap: a program without files, network, other processes or rights, by Linux namespaces.

In the jail only /usr can be read and only an empty /tmp written. It needs no rights itself. Started
by root it hands them over first and runs as the user nobody, so that the limit on processes holds.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from coevo.envs.core.errors import ConfigError

REQUIRED = "COEVO_REQUIRE_JAIL"
"""Variable of the process: 1 refuses to run a program where there is no jail."""
ABSENT = "bubblewrap is not installed (apt install bubblewrap)"
NOBODY = 65534
PROCESSES, FILES, FILE_BYTES = 64, 64, 1_000_000
"""What a jail may hold: processes, open files, and bytes of a file in /tmp."""
START_SECONDS = 20.0
"""For the attempt to start one."""


class Jailed(NamedTuple):
    """How to start a program in a jail."""

    command: tuple[str, ...] = ()
    """Command line; empty where no jail can be made."""
    why_not: str = ""
    """Why, in words."""


@functools.lru_cache(maxsize=64)
def jailed(program: str, tried_with: str, memory: int) -> Jailed:
    """Return the command that runs a program in a jail, after a trial.

    Args:
        program: path of an executable.
        tried_with: argument with which it ends at once, such as `--version`.
        memory: bytes of its address space.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return Jailed(why_not=ABSENT)
    command = (*_without_rights(), bwrap, *_namespaces(program), *_limits(memory), _inside(program))
    try:
        tried = subprocess.run(
            [*command, tried_with], capture_output=True, timeout=START_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Jailed(why_not=f"bubblewrap does not start: {error}")
    if tried.returncode:
        said = (tried.stderr.decode(errors="replace").strip().splitlines() or [""])[-1]
        return Jailed(why_not=f"bubblewrap does not start here: {said or tried.returncode}")
    return Jailed(command)


def check_required(why_not: str) -> None:
    """Raise ConfigError where a jail is required and there is none."""
    given = os.environ.get(REQUIRED, "0")
    if given not in ("0", "1"):
        raise ConfigError(f"{REQUIRED}={given} must be 0 or 1")
    if given == "1" and why_not:
        raise ConfigError(f"{REQUIRED}=1, and programs have no jail here: {why_not}")


def _without_rights() -> tuple[str, ...]:
    if os.geteuid():
        return ()
    setpriv = shutil.which("setpriv") or "setpriv"  # that there is none is said by the trial
    return (setpriv, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


def _namespaces(program: str) -> tuple[str, ...]:
    folders: tuple[str, ...] = ()
    for name in ("bin", "lib", "lib64"):
        if Path("/", name).is_symlink():
            folders += ("--symlink", f"usr/{name}", f"/{name}")
        elif Path("/", name).is_dir():
            folders += ("--ro-bind", f"/{name}", f"/{name}")
    own = () if _inside(program) == program else ("--ro-bind", program, _inside(program))
    return (
        *("--ro-bind", "/usr", "/usr", *folders, *own),
        *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/"),
        *("--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        *("--clearenv", "--setenv", "PYTHONHASHSEED", "0"),
    )


def _inside(program: str) -> str:
    return program if program.startswith("/usr/") else "/program"


def _limits(memory: int) -> tuple[str, ...]:
    """A file may have some bytes: a process that logs one to a file of size 0 would be killed."""
    return (
        *("/usr/bin/prlimit", f"--as={memory}", f"--nofile={FILES}", f"--fsize={FILE_BYTES}"),
        *(f"--nproc={PROCESSES}", "--core=0"),
    )
