"""Grades programs by tests that stand outside of them.

A program is asked for values alone; whether they are right is decided elsewhere. Of `assert call ==
literal` the program evaluates the call, and its value, which must be plain data, is compared here.
Any other assert, and a test that is code (`check(candidate)`), runs in a sandbox of its own beside
the reference solution, and every call of the function goes through here to the program. So an
object that equals everything, an exit, a changed `check` and a printed "passed" are worth nothing.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import re
import time
from typing import Any

from coevo.envs.core.remembering import remembered
from coevo.envs.programs import tiers
from coevo.envs.programs.sandbox import Limits, Program, Sandbox
from coevo.envs.questions.question import ProgramTests, tested

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
            source = f"{program_of(reference, tests)}\n{tests.check}"
            return float(_checked(opened, source, tests.entry_point))
        right, name = program_of(reference, tests), tests.entry_point
        held = [_holds(opened, right, test, name) for test in tests.asserts]
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


def _holds(program: Program, reference: str, test: str, name: str) -> bool:
    """Return whether an assert holds: a call is compared here, any other test runs outside."""
    asked, expected = sides(test)
    if not asked:
        return _checked(program, f"{reference}\n{as_check(test, name)}", name)
    found = program.call(asked)
    return bool(found.ok and found.value == ast.literal_eval(expected))


@functools.lru_cache(maxsize=4096)
def sides(test: str) -> tuple[str, str]:
    """Return what an assert calls and the literal that it compares that with; else empty texts.

    >>> sides("assert f(2) == [1, 2]"), sides("assert is_even(2)")
    (('f(2)', '[1, 2]'), ('', ''))
    """
    compared = tested(test)
    if isinstance(compared, ast.Compare) and [type(x) for x in compared.ops] == [ast.Eq]:
        expected = ast.unparse(compared.comparators[0])
        with contextlib.suppress(ValueError):
            ast.literal_eval(expected)
            return ast.unparse(compared.left), expected
    return "", ""


def as_check(test: str, name: str) -> str:
    """Return an assert about a function as the source of `check(candidate)`.

    >>> print(as_check("assert abs(f(2) - 3.14) < .01", "f"))
    def check(candidate):
        assert abs(candidate(2) - 3.14) < 0.01
    """
    asked = tested(test)
    for node in ast.walk(asked):
        if isinstance(node, ast.Name) and node.id == name:
            node.id = "candidate"
    return f"def check(candidate):\n    assert {ast.unparse(asked)}"


def _checked(program: Program, source: str, name: str) -> bool:
    """Run the check that a source defines; it calls the program from outside."""
    asked = _Candidate(program, name)
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
