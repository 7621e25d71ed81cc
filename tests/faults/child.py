"""Commands in processes of their own, with a fault inside: forks, which cost no import."""

import contextlib
import faulthandler
import mmap
import multiprocessing
import os
import re
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "shutil.rmtree")
"""Events of Python's audit that change a folder, beside `open`."""
LONGEST = 300
"""Seconds after which a command hangs."""
Fault = Callable[[], None]
"""What is done in a process before its command starts."""
Command = Sequence[str] | Callable[[], int]
"""Words after `coevo`; or what is done in its place, and returns the exit status."""


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
    """A command that runs beside this process, in a group of processes of its own.

    Args:
        command: what it does.
        place: where its output is kept.
        fault: done in it before it starts.
    """

    def __init__(self, command: Command, place: Path, fault: Fault | None = None) -> None:
        self.place, self.began = place, time.monotonic()
        place.mkdir(parents=True, exist_ok=True)
        self.pid = os.fork()
        if not self.pid:
            os.setpgid(0, 0)
            _become(command, place, fault)
        with contextlib.suppress(OSError):  # it was faster, or is gone
            os.setpgid(self.pid, self.pid)

    def kill(self, number: int = signal.SIGKILL, *, all: bool = False) -> None:
        """Send a signal to the command, or to all of its processes."""
        (os.killpg if all else os.kill)(self.pid, number)

    def workers(self) -> list[int]:
        """Return the processes that it has started itself."""
        found = Path(f"/proc/{self.pid}/task").glob("*/children")
        return [int(pid) for path in found for pid in path.read_text().split()]

    @property
    def ended(self) -> bool:
        """Whether it is over; one that hangs is, after a while."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def wait(self) -> Done:
        """Wait for its end."""
        _, status, used = os.wait4(self.pid, 0)
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        out, err = (_text(self.place / name) for name in ("out", "err"))
        return Done(code, out, err, time.monotonic() - self.began, used.ru_maxrss << 10)


def run(command: Command, place: Path, fault: Fault | None = None) -> Done:
    """Run a command to its end."""
    return Child(command, place, fault).wait()


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _become(command: Command, place: Path, fault: Fault | None) -> None:
    """Be the command, and never return."""
    status = 70
    try:
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(place / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, usual)
        signal.alarm(LONGEST)
        faulthandler.disable()  # the test's own would write what the command does not
        from coevo.__main__ import main

        if fault is not None:
            fault()
        sys.stdout = os.fdopen(1, "w", encoding="utf-8")
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1)
        status = command() if callable(command) else main(command)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as error:
        os.write(2, f"escaped: {error!r}\n".encode())
    finally:
        os._exit(status)


# ---- Faults ------------------------------------------------------------------------------------


def at_change(folder: Path, number: int, act: Callable[[str], None]) -> Fault:
    """Act at a change of a folder, in place of it, whichever of the processes makes it.

    The first one has number 1.
    """

    def fault() -> None:
        count = counter()

        def hook(event: str, args: tuple) -> None:
            name = changed(event, args, folder)
            if name and count() == number:
                act(name)

        sys.addaudithook(hook)

    return fault


def counter() -> Callable[[], int]:
    """Return what counts from 1, over this process and those that it is going to fork."""
    seen = mmap.mmap(-1, 8)

    def count() -> int:
        number = int.from_bytes(seen[:8]) + 1
        seen[:8] = number.to_bytes(8)
        return number

    return count


def both(*faults: Fault) -> Fault:
    """Return all of some faults."""
    return lambda: [one() for one in faults][:0] or None


def forked() -> None:
    """Let the workers of a comparison be forks of its command, so that faults reach them."""
    from coevo.benchmarks.compare import workers

    serve = workers._serve

    def alone(pipe: Connection, *more: int) -> None:
        for place in Path("/proc/self/fd").iterdir():  # what a process that is no fork has not
            if place.is_socket() and place.name != str(pipe.fileno()):
                os.close(int(place.name))
        serve(pipe, *more)

    workers._serve = alone
    workers.get_context = lambda kind: multiprocessing.get_context("fork")


def at_moment(number: int, act: Callable[[str], None]) -> Fault:
    """Act after the so manieth moment of training: see `moments`."""
    count = counter()
    return lambda: moments(lambda name: act(name) if count() == number else None)


def noted(place: Path) -> Fault:
    """Note the name of every moment of training."""

    def fault() -> None:
        handle = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        moments(lambda name: os.write(handle, f"{name}\n".encode()))

    return fault


def moments(told: Callable[[str], object]) -> None:
    """Tell of every moment of this process after which a run differs from what it has saved.

    That is when a step of a cycle was taken, in the run or in one within it; when one parameter
    set has learnt and others have not; when a module was fitted.
    """
    from coevo.envs.rewards import RewardModule
    from coevo.trainers.cycle import Step
    from coevo.trainers.learners.learner import Learner

    for base, method in ((Step, "__call__"), (Learner, "update"), (RewardModule, "fit")):
        for kind in (base, *_below(base)):
            if method in vars(kind):
                _tell_after(kind, method, told)


def _below(kind: type) -> list[type]:
    return [k for own in kind.__subclasses__() for k in (own, *_below(own))]


def _tell_after(kind: type, method: str, told: Callable[[str], object]) -> None:
    done = getattr(kind, method)

    def call(self: object, *args: object, **more: object) -> object:
        found = done(self, *args, **more)
        told(f"{type(self).__name__}.{method}")
        return found

    setattr(kind, method, call)


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


def die_all(_: str) -> None:
    """Be killed with all processes of the command."""
    os.killpg(0, signal.SIGKILL)


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
