r"""Grades mathematical answers: plain numbers here, all else by math-verify in a second process.

math-verify limits its time by the alarm signal, which works in the main thread of a program only,
and answers such as 9^{9^{9^9}} never end without a limit. So it runs in a process of its own, one
for each program, started when it is first needed; any thread may ask. What it cannot judge in time
counts as wrong, and it is started again.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import queue
import re
import subprocess
import sys
import threading

from coevo.envs.core.errors import missing_extra
from coevo.envs.core.remembering import remembered
from coevo.envs.questions.answers import as_number

LONGEST = 500
"""Characters of an answer that is compared; the longest of MATH-500 has 53."""
SECONDS = 25.0
"""For one comparison, hard; its steps have softer limits."""
START_SECONDS = 120.0
"""For the first comparison, which waits for the start."""

REMEMBERED = 8 * 2**20
"""Bytes of comparisons whose result is remembered."""

_SPACE = re.compile(r"\s+|\\[,;!]|\\left(?![a-z])|\\right(?![a-z])")
_NAME = re.compile(r"(?<![A-Za-z])(pi|infty)(?![A-Za-z])")
_ROOT = re.compile(r"(?<![A-Za-z])sqrt\(([^()]*)\)")
_TEXT = re.compile(r"\\(?:text|mathrm|textbf|mbox)\s*\{([^{}]*)\}")


def check_installed() -> None:
    """Raise MissingExtraError where math-verify is not installed."""
    if importlib.util.find_spec("math_verify") is None:
        raise missing_extra("math-verify", "questions")


def same_mathematics(answer: str, gold: str) -> bool:
    r"""Return whether two answers have one value.

    >>> same_mathematics("1,000.0", "1000"), same_mathematics("0.3", "1/3")
    (True, False)
    >>> same_mathematics(r"\text{ odd}", "odd")
    True
    """
    ours, right = as_number(answer), as_number(gold)
    if ours is not None and right is not None:
        return ours == right
    if len(answer) > LONGEST:
        return False
    if _spelled(answer) == _spelled(gold):
        return True
    return _compared(_latex(gold), _latex(answer))


def _latex(answer: str) -> str:
    r"""Return LaTeX for what people type: dollar signs off, `pi` and `sqrt(2)` with a backslash.

    >>> _latex("$2*pi$"), _latex("sqrt(2)/2"), _latex(r"2\pi")
    ('2*\\pi', '\\sqrt{2}/2', '2\\pi')
    """
    plain = answer.strip().strip("$")
    if "\\" in plain:
        return plain
    return _ROOT.sub(r"\\sqrt{\1}", _NAME.sub(r"\\\1", plain))


def _spelled(answer: str) -> str:
    plain = _TEXT.sub(r"\1", answer.strip().strip("$").replace("dfrac", "frac"))
    return _SPACE.sub("", plain)


@remembered(REMEMBERED)
def _compared(gold: str, answer: str) -> bool:
    """Ask the other process; groups of episodes repeat the same few answers."""
    return _ALGEBRA.compare(gold, answer)


class Algebra:
    """The process that compares, seen from here."""

    def __init__(self, seconds: float = SECONDS) -> None:
        """Args: seconds: after which a comparison is given up."""
        self.seconds = seconds
        self.given_up = 0
        """Comparisons that ended with the process instead of an answer."""
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._owner = 0
        os.register_at_fork(after_in_child=self._forget)

    def compare(self, gold: str, answer: str) -> bool:
        """Return whether both have one value; False where that took too long."""
        with self._lock:
            first = self._process is None or self._process.poll() is not None
            if first:
                self._start()
            try:
                self._put(json.dumps([gold, answer]))
                line = self._lines.get(timeout=START_SECONDS if first else self.seconds)
                if line:
                    return bool(json.loads(line))
            except (queue.Empty, OSError):
                pass
            self.given_up += 1
            self._stop()
            return False

    def close(self) -> None:
        """End the process; the next comparison starts another."""
        with self._lock:
            self._stop()

    def _start(self) -> None:
        check_installed()
        self._stop()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "coevo.envs.questions.algebra"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        self._lines: queue.Queue[str] = queue.Queue()
        reader = threading.Thread(target=_read, args=(self._process, self._lines), daemon=True)
        reader.start()

    def _put(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        with contextlib.suppress(OSError):  # a pipe that broke in the middle of a line
            if process.stdin is not None:
                process.stdin.close()

    def _forget(self) -> None:
        """In a fork, leave the process to the program that started it."""
        self._lock = threading.Lock()
        self._process = None


def _read(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    """Pass lines on until the process ends; then an empty one."""
    if process.stdout is not None:
        with process.stdout as answers:
            for line in answers:
                lines.put(line)
    lines.put("")


_ALGEBRA = Algebra()
atexit.register(_ALGEBRA.close)
