"""Questions whose answers are programs, HumanEval and MBPP, graded by tests in the sandbox."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from coevo.envs.core.config import config
from coevo.envs.core.errors import DataError
from coevo.envs.core.quoting import code_block, code_line
from coevo.envs.questions.files import FileSource, text_of
from coevo.envs.questions.question import ProgramTests, Question, tested

CODE = "code"
"""Kind of these questions: the answer is the last block of code in a reply, or all of it."""


@config
class CodeSource(FileSource):
    """A file of programming tasks with tests; needs the extra `programs`.

    An answer is worth the share of tests that it passes. Every reference solution is run when the
    file is loaded; tasks that no tier of the sandbox here can run are left out and listed
    (`skipped`): with bubblewrap none is.
    """

    on_error: Literal["raise", "skip"] = "skip"
    slow: ClassVar = True

    def grade(self, question: Question, answer: str | None) -> float:
        """Return the share of tests that a program passes."""
        from coevo.envs.questions.code_grading import passed  # starts nothing until it is needed

        if answer is None or question.tests is None:
            return 0.0
        return passed(answer, question.answer, question.tests)


@config
class Humaneval(CodeSource):
    """HumanEval (Chen et al. 2021): functions to complete, in a folder `HumanEval.jsonl`."""

    name: Literal["humaneval"] = "humaneval"

    @property
    def _published(self) -> str:
        return "HumanEval.jsonl"

    def question(self, line: Mapping[str, Any], number: int) -> Question:
        """Take `prompt`, `canonical_solution`, `test`, `entry_point` and `task_id`."""
        prompt, name = text_of(line, "prompt"), text_of(line, "entry_point")
        tests = ProgramTests(before=prompt, check=text_of(line, "test"), entry_point=name)
        asked = f"Complete this Python function.\n{code_block(prompt)}"
        answer, place = text_of(line, "canonical_solution"), text_of(line, "task_id")
        return Question(asked, answer, CODE, place, self.name, ours=True, tests=tests)


@config
class Mbpp(CodeSource):
    """MBPP (Austin et al. 2021): small functions by description, in a folder `mbpp.jsonl`.

    Every answer is graded by all three asserts. The published prompt shows them, so that a program
    can repeat the answers that it saw; by default none is shown.
    """

    name: Literal["mbpp"] = "mbpp"
    shown: Literal[0, 1, 3] = 0
    """Asserts that the question shows."""

    @property
    def _published(self) -> str:
        return "mbpp.jsonl"

    def question(self, line: Mapping[str, Any], number: int) -> Question:
        """Take `text` (or `prompt`), `code`, `test_list`, `test_setup_code` and `task_id`."""
        text = text_of(line, "text" if "text" in line else "prompt")
        code = text_of(line, "code").replace("\r\n", "\n")
        asserts = line.get("test_list")
        if not isinstance(asserts, list) or not all(isinstance(x, str) for x in asserts):
            raise DataError(f"'test_list' must be a list of asserts, found {asserts!r:.80}")
        after = str(line.get("test_setup_code") or "").replace("\r\n", "\n")
        name, count = _call(code, [tested(test) for test in asserts])
        tests = ProgramTests(after=after, asserts=tuple(asserts), entry_point=name)
        asked = f"{code_line(text)}\nWrite it as a Python function `{name}` of {count} argument"
        asked += "s." if count != 1 else "."
        if self.shown:
            asked += f"\nIt has to pass:\n{code_block(chr(10).join(asserts[: self.shown]))}"
        place = str(line.get("task_id", number))
        return Question(asked, code, CODE, place, self.name, ours=True, tests=tests)


def _call(code: str, asserts: Sequence[ast.expr]) -> tuple[str, int]:
    """Return the name of the function that the asserts call, and with how many arguments."""
    try:
        defined = {x.name for x in ast.parse(code).body if isinstance(x, ast.FunctionDef)}
    except (SyntaxError, ValueError, RecursionError):
        defined = set()
    calls = (x for test in asserts for x in ast.walk(test) if isinstance(x, ast.Call))
    for call in calls:
        if isinstance(call.func, ast.Name) and call.func.id in defined:
            return call.func.id, len(call.args) + len(call.keywords)
    raise DataError("no assert calls a function that 'code' defines")
