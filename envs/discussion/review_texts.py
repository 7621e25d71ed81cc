"""The requests of a peer review in words, in both prompt styles.

What another agent wrote is quoted, so that it can begin no section and close no tag here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from coevo.envs.core.episode import Turn
from coevo.envs.core.quoting import quote, quote_line
from coevo.envs.discussion.question_env import CODE_FORM, CODE_MARK
from coevo.envs.discussion.review_marks import without_mark
from coevo.envs.questions import Question

BRIEF = 40
"""Characters of an agent's words in a terse prompt, its answer aside."""


class Discussion(NamedTuple):
    """The question, solutions and evaluations of one request."""

    question: Question
    shown: tuple[tuple[Turn, tuple[Turn, ...]], ...]
    """Solutions with their evaluations: the references of a solver, or what is to be judged."""


def full_prompt(role: str, seen: Discussion, scored: bool) -> str:
    """Write a request with everything that is needed to answer it."""
    return f"{seen.question.in_full}\n\n{_FULL[role](seen, scored)}"


def _solve(seen: Discussion, scored: bool) -> str:
    items = [_item(i, *pair) for i, pair in enumerate(seen.shown, start=1)]
    return (
        "Discussion of the last round:\n"
        + ("\n\n".join(items) or "(nothing was said yet)")
        + "\n\nSolve the question. Take from the discussion what holds, and do not repeat its "
        f"mistakes. Explain your steps shortly. {form('solver', scored, seen.question)}"
    )


def _evaluate(seen: Discussion, scored: bool) -> str:
    return (
        f"{_judged(seen)}\n\nReview this solution. Look for mistakes in its steps and in its final "
        "answer, and do not agree out of politeness: name every flaw that you can show and say "
        "why it is one. Do not write a solution of your own. "
        f"{form('evaluator', scored, seen.question)}".rstrip()
    )


def _score(seen: Discussion, scored: bool) -> str:
    basis = (
        "Weigh the solution against its evaluation, which may be mistaken as well."
        if seen.shown[0][1]
        else "Check the solution yourself."
    )
    return (
        f"{_judged(seen)}\n\nScore the solution. {basis}\n"
        "3: it is fully correct, and no flaw that was named holds.\n"
        "2: it has small real flaws, but its final answer stands.\n"
        "1: a flaw is fatal, and the final answer is wrong.\n"
        f"{form('scorer', scored, seen.question)}"
    )


def form(role: str, scored: bool, question: Question) -> str:
    """Say how the reply to a request is read; nothing where any text will do."""
    code = question.kind == "code"
    return {
        "solver": CODE_FORM if code else "Put your final answer in \\boxed{}.",
        "evaluator": ""
        if scored
        else "End with your vote on the final answer: <verdict>right</verdict> or "
        "<verdict>wrong</verdict>.",
        "scorer": "End with the score, one of these numbers, between <score> and </score>.",
    }[role]


_FULL: dict[str, Callable[[Discussion, bool], str]] = {
    "solver": _solve,
    "evaluator": _evaluate,
    "scorer": _score,
}


def _item(number: int, solution: Turn, evaluations: tuple[Turn, ...]) -> str:
    lines = [f"Discussion {number}", f"Solution:\n{_quoted(solution)}"]
    return "\n".join(lines + [f"Evaluation:\n{_quoted(e)}" for e in evaluations])


def _judged(seen: Discussion) -> str:
    solution, evaluations = seen.shown[0]
    parts = [f"Solution:\n{_quoted(solution)}"]
    return "\n\n".join(parts + [f"Evaluation:\n{_quoted(e)}" for e in evaluations])


def _quoted(turn: Turn) -> str:
    return quote(turn.move or "")


def terse_prompt(role: str, seen: Discussion, scored: bool) -> str:
    """Write a request in one short line."""
    asked = seen.question.in_short
    if role == "solver":
        said = ", ".join(_short(*pair) for pair in seen.shown)
        before = f" Said before: {said}" if said else ""
        return f"Solve: {asked}{before} {CODE_MARK if seen.question.kind == 'code' else '[answer]'}"
    solution, evaluations = seen.shown[0]
    if role == "evaluator":
        return f"Review: {asked} Solution: {_brief(solution)} [right] or [wrong]"
    said = "".join(f" Review: {_brief(e)}" for e in evaluations)
    return f"Score: {asked} Solution: {_brief(solution)}{said} [1] wrong to [3] right"


def _short(solution: Turn, evaluations: tuple[Turn, ...]) -> str:
    verdicts = ", ".join(map(_brief, evaluations))
    return f"{_brief(solution)} ({verdicts})" if verdicts else _brief(solution)


def _brief(turn: Turn) -> str:
    """Return the beginning of what was said, in quotation marks, and the answer as it was read."""
    said, read = without_mark(turn.move or ""), turn.answer or ""
    parts = [quote_line(said, BRIEF)] if said else []
    parts += [quote_line(read, BRIEF, bare=True)] if read else []
    return " ".join(parts) or "nothing"
