"""Prompts of proposer and solvers of the search game, in both styles."""

from __future__ import annotations

from collections.abc import Sequence

from coevo.envs.core.quoting import quote, quote_line
from coevo.envs.search.retrieval import Hit
from coevo.envs.search.snippets import Search, remembered

DOCUMENT = 500
"""Characters of a document that are shown, in full style."""
FACT, SENTENCE = 80, 300
"""Characters of a line that are remembered: of documents made here, and of people's."""
_SEARCH = (
    "To look something up, end your reply with <search>query</search>; what is found comes back "
    "in <information> tags."
)
_THINK = "Reason inside <think> and </think> first if it helps."


def proposer_rules(seat: str, examples: Sequence[str], searches: int) -> str:
    """Return the rules of the proposer."""
    shown_examples = "".join(f"\n- {e}" for e in examples)
    return (
        f"You are {seat} and invent questions for a search game. You are given an answer and a "
        "number of hops. Write one question that has this answer and no other, and that needs so "
        "many facts, each found by a search of its own. Work backwards: search for the answer, "
        "take a fact that leads to it, search for where that fact starts, and go on. Invent "
        "nothing: every step must stand in what you found. The question must name neither the "
        f"answer nor what lies between.\n{_THINK} {_SEARCH} You have {searches} searches. When "
        "you are ready, end your reply with <question>your question</question>."
        + (f"\nQuestions look like this:{shown_examples}" if examples else "")
    )


def solver_rules(seat: str, searches: int) -> str:
    """Return the rules of a solver."""
    return (
        f"You are {seat} and answer questions by searching.\n"
        f"{_THINK} {_SEARCH} You have {searches} searches. When you know the answer, end your "
        "reply with <answer>the answer</answer>, without further words."
    )


def proposer_task(answer: str, hops: int) -> str:
    """Say what is to be asked for, in full style."""
    return f"Answer: {quote_line(answer, 400, bare=True)}\nHops: {hops}"


def solver_task(question: str) -> str:
    """Return the question, in full style."""
    return f"Question:\n{quote(question, 400)}"


def information(hits: Sequence[Hit]) -> str:
    """Return what a search found, in full style."""
    lines = [
        f"Doc {i} (Title: {quote_line(h.title, 200, bare=True)})\n{quote(h.text, DOCUMENT)}"
        for i, h in enumerate(hits, start=1)
    ]
    return "\n".join(["<information>", *(lines or ["nothing was found"]), "</information>"])


def not_understood(final: str, why: Sequence[str] = ()) -> str:
    """Say that a reply held no action."""
    seen = f" ({'; '.join(why)})" if why else ""
    return f"Your reply held no action{seen}. {how(final)}"


def how(final: str) -> str:
    """Say how a reply is read."""
    return f"End your reply with <search>query</search> or <{final}>...</{final}>."


def left_over(left: int, final: str) -> str:
    """Say how many searches are left, in full style."""
    if left > 1:
        return f"Searches left: {left - 1}."
    return f"No searches left: this is your last reply, end it with <{final}>...</{final}>."


def terse_proposer(
    answer: str, hops: int, left: int, searches: Sequence[Search], ours: bool
) -> str:
    """Say everything to the proposer in one short message."""
    task = f"Ask for {quote_line(answer, 60, bare=True)}, hops: {hops}."
    return f"{task}{_found(searches, ours)}{_moves(left, 'question')}"


def terse_solver(question: str, left: int, searches: Sequence[Search], ours: bool) -> str:
    """Say everything to a solver in one short message."""
    asked = quote_line(question, 2 * FACT if ours else SENTENCE, bare=True)
    return f"Question: {asked}.{_found(searches, ours)}{_moves(left, 'answer')}"


def memory(searches: Sequence[Search], ours: bool) -> list[str]:
    """Return what is remembered of searches: four facts or so, or as many sentences of people."""
    lines = remembered(searches, most=max(1, min(3, 5 - len(searches))))
    return [" ".join(line.split())[: FACT if ours else SENTENCE] for line in lines][-5:]


def _found(searches: Sequence[Search], ours: bool) -> str:
    """Return what was found; documents that were made here need no quotation marks."""
    if not searches:
        return ""
    lines = memory(searches, ours)
    shown = lines if ours else [quote_line(line, SENTENCE) for line in lines]
    return f" Found: {' '.join(shown) or 'nothing.'}"


def _moves(left: int, final: str) -> str:
    """Return the forms of a reply, and how many searches are left."""
    search = f" [search: ...], {left - 1} left, or" if left > 1 else ""
    return f"{search} [{final}: ...]"
