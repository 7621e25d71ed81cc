"""Commands in processes of their own, with a fault inside: forks, which cost no import."""

import os
import re
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "shutil.rmtree")
"""Events of Python's audit that change a folder, beside `open`."""
LONGEST = 300
"""Seconds after which a command hangs."""
Fault = Callable[[], None]
"""What is done in a process before its command starts."""


class Done(NamedTuple):
    """How a command ended."""

    status: int
    """Exit status; the negative number of the signal that ended it."""
    out: str
    err: str
    seconds: float
    memory: int
    """Largest resident size in bytes."""

    def __repr__(self) -> str:
        """Return status and the end of what was said."""
        return f"({self.status}, {self.out[-150:]!r}, {self.err[-400:]!r})"

    @property
    def one_line(self) -> bool:
        """Whether it said what was wrong in one line, and was not surprised."""
        one = self.err.count("\n") == 1 and self.err.startswith("coevo: ")
        return one and "error: unexpected " not in self.err and "Traceback" not in self.err


class Child:
    """A command that runs beside this process.

    Args:
        words: after `coevo`.
        place: where its output is kept.
        fault: done in it before it starts.
    """

    def __init__(self, words: list[str], place: Path, fault: Fault | None = None) -> None:
        self.place, self.began = place, time.monotonic()
        place.mkdir(parents=True, exist_ok=True)
        self.pid = os.fork()
        if not self.pid:
            _become(words, place, fault)

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def wait(self) -> Done:
        """Wait for its end."""
        _, status, used = os.wait4(self.pid, 0)
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        out, err = (_text(self.place / name) for name in ("out", "err"))
        return Done(code, out, err, time.monotonic() - self.began, used.ru_maxrss << 10)


def run(words: list[str], place: Path, fault: Fault | None = None) -> Done:
    """Run a command to its end."""
    return Child(words, place, fault).wait()


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _become(words: list[str], place: Path, fault: Fault | None) -> None:
    """Be the command, and never return."""
    status = 70
    try:
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(place / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, usual)
        signal.alarm(LONGEST)
        from coevo.__main__ import main

        if fault is not None:
            fault()
        sys.stdout = os.fdopen(1, "w", encoding="utf-8")
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1)
        status = main(words)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as error:
        os.write(2, f"escaped: {error!r}\n".encode())
    finally:
        os._exit(status)


# ---- Faults ------------------------------------------------------------------------------------


def at_change(folder: Path, number: int, act: Callable[[str], None]) -> Fault:
    """Act at a change of a folder, in place of it: the first one has number 1."""

    def fault() -> None:
        seen = [0]

        def hook(event: str, args: tuple) -> None:
            name = changed(event, args, folder)
            if name:
                seen[0] += 1
                if seen[0] == number:
                    act(name)

        sys.addaudithook(hook)

    return fault


def at_file(folder: Path, name: str, act: Callable[[str], None]) -> Fault:
    """Act at every change of the files with this name."""

    def fault() -> None:
        def hook(event: str, args: tuple) -> None:
            found = changed(event, args, folder)
            if found and kind_of(found) == name:
                act(found)

        sys.addaudithook(hook)

    return fault


def listing(folder: Path, place: Path) -> Fault:
    """Note the name of every change of a folder."""

    def fault() -> None:
        place.write_text("")
        handle = os.open(place, os.O_WRONLY | os.O_APPEND)

        def hook(event: str, args: tuple) -> None:
            name = changed(event, args, folder)
            if name:
                os.write(handle, f"{name}\n".encode())

        sys.addaudithook(hook)

    return fault


def changed(event: str, args: tuple, folder: Path) -> str:
    """Return what an event changes in a folder; empty where it is something else."""
    if event not in CHANGES and event != "open":
        return ""
    path = args[0]
    if not isinstance(path, str | os.PathLike):
        return ""
    text = os.fspath(path)
    inside = isinstance(text, str) and (text == str(folder) or text.startswith(f"{folder}/"))
    if not inside or text.endswith(".lock"):
        return ""
    if event == "open" and not (args[2] or 0) & WRITING and ".tmp" not in text:
        return ""
    return f"{event} {text.removeprefix(str(folder)).lstrip('/') or '.'}"


def kind_of(change: str) -> str:
    """Return the name of a file without the numbers of steps and processes."""
    name = change.partition(" ")[2]
    return re.sub(r"\d+", "#", name.rpartition("/")[2])


def die(_: str) -> None:
    """Be killed."""
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(number: int) -> Callable[[str], None]:
    """Return what lets a change fail with an error of the system."""

    def act(name: str) -> None:
        raise OSError(number, os.strerror(number), name.partition(" ")[2])

    return act


def small_files(size: int) -> Fault:
    """Let no file grow beyond a size, whoever writes it."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def little_memory(more: int) -> Fault:
    """Leave a process some bytes beside what it has."""

    def fault() -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + more
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    return fault


def clock(jump: float) -> Fault:
    """Let the wall clock jump at every second look."""

    def fault() -> None:
        real, looks = time.time, [0]

        def now() -> float:
            looks[0] += 1
            return real() + (looks[0] % 2) * jump

        time.time = now

    return fault
