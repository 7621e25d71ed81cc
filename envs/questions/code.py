"""Questions whose answers are programs, HumanEval and MBPP, graded by tests in the sandbox."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from coevo.envs.core.config import config
from coevo.envs.core.errors import DataError
from coevo.envs.core.quoting import code_block, code_line
from coevo.envs.questions.files import FileSource, text_of
from coevo.envs.questions.question import ProgramTests, Question

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
        tests = ProgramTests(after=after, asserts=tuple(asserts))
        asked = f"{code_line(text)}\n{_signature(code, tests)}"
        if self.shown:
            asked += f"\nIt has to pass:\n{code_block(chr(10).join(asserts[: self.shown]))}"
        place = str(line.get("task_id", number))
        return Question(asked, code, CODE, place, self.name, ours=True, tests=tests)


def _signature(code: str, tests: ProgramTests) -> str:
    """Return in words what the function that the tests call has to be called."""
    try:
        defined = {x.name for x in ast.parse(code).body if isinstance(x, ast.FunctionDef)}
        calls = [
            node
            for node in ast.walk(ast.parse(tests.asserts[0]))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        ]
        call = next(c for c in calls if c.func.id in defined)  # type: ignore[attr-defined]
    except (SyntaxError, ValueError, IndexError, StopIteration, RecursionError):
        raise DataError("no assert calls a function that 'code' defines") from None
    count = len(call.args) + len(call.keywords)
    name = call.func.id  # type: ignore[attr-defined]
    return f"Write it as a Python function `{name}` of {count} argument{'s' * (count != 1)}."
