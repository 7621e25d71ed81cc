"""What a speaker knows of the built-in questions: the right answer, and answers to guess from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from coevo.agents.agent import Request
from coevo.agents.speakers import Speech
from coevo.envs.core.parsing import answer

_LARGER = re.compile(r"larger last digit of (\d+), (\d+)\?")
_SUM = re.compile(r"last digit of (\d+)\+(\d+)\?")
_FORMULA = re.compile(r"(\d+)\+(\d+)\*(\d+)\+(\d+)-(\d+)\*(\d+)=\?")
_DIGITS = tuple(map(str, range(10)))
_NEAR = (-10, -2, -1, 0, 1, 2, 10)


def heard(request: Request) -> str:
    """Give all that was said to a seat, its own replies left out."""
    return "\n".join(m["content"] for m in request.chat if m["role"] != "assistant")


def solve(text: str) -> str | None:
    """Answer the last built-in question in a text; None where there is none.

    >>> solve("Solve: larger last digit of 47, 83?"), solve("last digit of 47+83?"), solve("Why?")
    ('7', '0', None)
    """
    if found := _LARGER.findall(text):
        return str(max(int(number[-1]) for number in found[-1]))
    if found := _SUM.findall(text):
        return str(sum(map(int, found[-1])) % 10)
    if found := _FORMULA.findall(text):
        a, b, c, d, e, f = map(int, found[-1])
        return str(a + b * c + d - e * f)
    return None


def guesses(text: str) -> tuple[str, ...]:
    """List answers that somebody might give who does not know: digits, or numbers near the right.

    >>> guesses("1+2*3+4-5*1=?")
    ('-4', '4', '5', '6', '7', '8', '16')
    """
    right = solve(text)
    if right is None or (len(right.lstrip("-")) == 1 and not _FORMULA.search(text)):
        return _DIGITS
    return tuple(str(int(right) + step) for step in _NEAR)


def mixed(weights: Sequence[tuple[float, Mapping[str, float]]]) -> Speech:
    """Mix distributions over moves into one over replies; the order of replies is theirs.

    >>> mixed([(0.5, {"a": 1.0}), (0.5, {"a": 0.5, "b": 0.5})])
    Speech(replies=('[a]', '[b]'), odds=array([0.75, 0.25]))
    """
    total: dict[str, float] = {}
    for weight, odds in weights:
        for move, chance in odds.items():
            total[move] = total.get(move, 0.0) + weight * chance
    kept = {move: chance for move, chance in total.items() if chance > 0}
    chances = np.array(list(kept.values()))
    return Speech(tuple(map(answer, kept)), chances / chances.sum())


def even(moves: Sequence[str]) -> dict[str, float]:
    """Give all moves the same probability."""
    return dict.fromkeys(moves, 1 / len(moves))


def answered(text: str, skill: float) -> Speech:
    """Give the right answer with probability `skill`, else any of the guesses."""
    right = solve(text)
    known = even(guesses(text)) if right is None else {right: 1.0}
    return mixed([(skill, known), (1 - skill, even(guesses(text)))])
