"""Grades programs by tests that stand outside of them.

A program is asked for values alone; whether they are right is decided elsewhere. Of `assert call ==
value` the program evaluates the call, and its value, which must be plain data, is compared here. A
test that is code (`check(candidate)`) runs in a sandbox of its own beside the reference solution,
and every call of `candidate` goes through here to the program. So an object that equals everything,
an exit, a changed `check` and a printed "passed" are worth nothing.
"""

from __future__ import annotations

import ast
import functools
import re
import time
from typing import Any

from coevo.envs.core.remembering import remembered
from coevo.envs.programs import tiers
from coevo.envs.programs.sandbox import Limits, Program, Sandbox
from coevo.envs.questions.question import ProgramTests

LIMITS = Limits(
    seconds=5.0, waiting=12.0, memory=200_000_000, depth=900, printed=100_000, value=1_000_000
)
"""Of the definition of a program, and of each call; the slowest reference of MBPP computes
for 4 s."""
ALL_CALLS = 60.0
"""Seconds of all calls that one check makes."""
REMEMBERED = 8 * 2**20
"""Bytes of answers whose grade is remembered: debates and groups repeat them."""
_GOES_ON = re.compile(r"\s|def |class |import |from |async |@|#|$")


@remembered(REMEMBERED)
def passed(answer: str, reference: str, tests: ProgramTests) -> float:
    """Return the share of tests that an answer passes, 0..1.

    What fails in the first tier of the sandbox is tried in the second, where there is one: the
    first one lacks parts of the language.

    Args:
        answer: of an agent.
        reference: the solution that is known to be right.
        tests: of the question.
    """
    first = graded(tiers.interpreter(), answer, reference, tests)
    second = tiers.language()
    if first == 1 or second is None:
        return first
    return max(first, graded(second, answer, reference, tests))


def graded(sandbox: Sandbox, answer: str, reference: str, tests: ProgramTests) -> float:
    """Return the share of tests that an answer passes in one tier."""
    program = program_of(answer, tests)
    with sandbox.open(program, limits=LIMITS) as opened:
        if tests.check:
            return float(_checked(opened, program_of(reference, tests), tests))
        held = [_holds(opened, program_of(reference, tests), x) for x in tests.asserts]
        return sum(held) / max(len(held), 1)


def program_of(answer: str, tests: ProgramTests) -> str:
    r"""Return the whole program of an answer, which may be what completes a function.

    >>> tests = ProgramTests(before="def f(x):\n    'Twice.'\n", entry_point="f")
    >>> program_of("    return 2 * x\nprint(f(1))", tests)
    "def f(x):\n    'Twice.'\n    return 2 * x"
    >>> program_of("def f(x): return x + x", tests)
    "def f(x):\n    'Twice.'\n\ndef f(x): return x + x"
    """
    if not tests.before:
        return f"{answer}\n{tests.after}"
    if re.search(rf"^(async )?def {re.escape(tests.entry_point)}\b", answer, re.MULTILINE):
        return f"{tests.before}\n{answer}"
    lines = answer.split("\n")
    end = next((n for n, line in enumerate(lines) if not _GOES_ON.match(line)), len(lines))
    return tests.before + "\n".join(lines[:end])


# ---- Asserts that compare ------------------------------------------------------------------------


def _holds(program: Program, reference: str, test: str) -> bool:
    asked, expected = sides(test)
    found = program.call(asked)
    if not found.ok:
        return False
    try:
        return bool(found.value == ast.literal_eval(expected))
    except ValueError:  # no literal: the reference has its value
        return _agrees(found.value, reference, expected)


def _agrees(value: Any, reference: str, expected: str) -> bool:
    for sandbox in filter(None, (tiers.interpreter("checks"), tiers.language("checks"))):
        with sandbox.open(reference, limits=LIMITS) as opened:
            right = opened.call(expected)
        if right.ok and right.value == value:
            return True
    return False


@functools.lru_cache(maxsize=4096)
def sides(test: str) -> tuple[str, str]:
    """Return what an assert calls, and what it compares that with.

    >>> sides("assert f(2) == [1, 2]"), sides("assert is_even(2)")
    (('f(2)', '[1, 2]'), ('bool(is_even(2))', 'True'))
    """
    (found,) = ast.parse(test.strip()).body
    assert isinstance(found, ast.Assert)  # tests are checked when they are read
    compared = found.test
    if isinstance(compared, ast.Compare) and [type(x) for x in compared.ops] == [ast.Eq]:
        return ast.unparse(compared.left), ast.unparse(compared.comparators[0])
    return f"bool({ast.unparse(compared)})", "True"


# ---- Tests that are code -------------------------------------------------------------------------


def _checked(program: Program, reference: str, tests: ProgramTests) -> bool:
    """Run a check that calls the program from outside."""
    asked = _Candidate(program, tests.entry_point)
    source = f"{reference}\n{tests.check}"
    for sandbox in filter(None, (tiers.interpreter("checks"), tiers.language("checks"))):
        functions = {"candidate": asked}
        with sandbox.open(source, limits=LIMITS, functions=functions) as opened:
            found = opened.call("check(candidate)")
        if found.verdict != "unsupported":
            return found.ok
    return False


class _Candidate:
    """The program as a function of the check."""

    def __init__(self, program: Program, name: str) -> None:
        self._program, self._name = program, name
        self._seconds = 0.0

    def __call__(self, *arguments: Any) -> Any:
        if self._seconds > ALL_CALLS:
            raise RuntimeError("the calls took too long")
        start = time.monotonic()
        found = self._program.call(f"{self._name}(*arguments)", arguments=list(arguments))
        self._seconds += time.monotonic() - start
        if not found.ok:
            raise RuntimeError(found.verdict)
        return found.value
