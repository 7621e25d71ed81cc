r"""Rules of reading other than the default: which part of a reply a task is given.

Each is a function from a reply and the legal moves to the part that counts, in brackets; empty
where the rule finds none. Whatever the rule, a reply that is nothing but `[move]` is that move, as
scripted agents answer in that form.

- `strict`: tags, or square brackets, that end what is said.
- `textarena`: the first square brackets around a legal move, and a reply without brackets as if it
  stood in them (`ActionFormattingWrapper` and the games of TextArena 0.7.4).
- `marshal`: the first `<answer>` after the thoughts, the format of MARSHAL (arXiv 2510.15414).
- `spiral`: the last `\boxed{}`, else the whole reply, in brackets where it has at most five words
  and none; it must be a legal move as it is spelled (`extract_action` in train_spiral.py of
  arXiv 2506.24119, template qwen3).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from coevo.envs.core.parsing import ANSWER_FORMAT, READ, answer, normalise, spoken

Reading = Literal["lenient", "strict", "textarena", "marshal", "spiral"]
_ENDING = re.compile(r"(?<!\\)\[([^\[\]\n]{1,200})\]\Z")
_ENDING_TAGS = re.compile(r"<(\w{1,20})>([^<>]{1,200})</\1>\Z", re.IGNORECASE)
_BRACKETS = re.compile(r"\[([^\[\]]+)\]")
_ANSWER = re.compile(r"<answer>([^<]*)</answer>", re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\{([^{}]*)\}")
SHORT = 5
"""Words of a reply that `spiral` sets in brackets."""


def strict(text: str, legal: Sequence[str]) -> str:
    """Return the mark that ends what is said.

    >>> strict("So <action>bet</action>", ["bet"]), strict("[bet].", ["bet"])
    ('[bet]', '')
    """
    said = spoken(text).rstrip()[-READ:]
    found = _ENDING.search(said[-300:])
    if found:
        return answer(found[1])
    tags = _ENDING_TAGS.search(said[-300:])
    return answer(tags[2].strip()) if tags else ""


def textarena(text: str, legal: Sequence[str]) -> str:
    """Return the first legal move in brackets.

    >>> textarena("[bet] or [pass]", ["pass", "bet"]), textarena("Bet", ["pass", "bet"])
    ('[bet]', '[Bet]')
    """
    text = text[:READ].strip()
    if "[" not in text and "]" not in text:
        return answer(text) if normalise(text) in set(map(normalise, legal)) else ""
    known = set(map(normalise, legal))
    inside = (found[1] for found in _BRACKETS.finditer(text))
    return next((answer(move) for move in inside if normalise(move) in known), "")


def marshal(text: str, legal: Sequence[str]) -> str:
    """Return the first answer.

    >>> marshal("<think>[pass]</think><answer>bet</answer>", ["bet"])
    '[bet]'
    """
    found = _ANSWER.search(spoken(text)[:READ])
    return answer(found[1].strip().strip("[]")) if found else ""


def spiral(text: str, legal: Sequence[str]) -> str:
    r"""Return what is boxed, or the whole reply, if it is spelled like a legal move.

    >>> spiral(r"I say \boxed{bet}", ["bet"]), spiral("bet", ["bet"]), spiral("Bet", ["bet"])
    ('[bet]', '[bet]', '')
    """
    boxed = [found[1] for found in _BOXED.finditer(text[-READ:])]
    said = " ".join((boxed[-1] if boxed else text[-READ:]).split())
    if "[" not in said and "]" not in said and len(said.split()) <= SHORT:
        said = answer(said)
    return said if said in set(map(answer, legal)) else ""


READINGS: Mapping[str, Callable[[str, Sequence[str]], str]] = {
    "strict": strict,
    "textarena": textarena,
    "marshal": marshal,
    "spiral": spiral,
}
"""Rules by name; `lenient` is the default, which is `parse_move`."""
FORMS: Mapping[str, str] = {
    "marshal": "between <answer> and </answer>",
    "spiral": r"in \boxed{}",
}
"""Where a move is to stand, by rule; all others ask for square brackets."""


def with_format(text: str, reading: Reading) -> str:
    """Return rules, or a question, and below them how a move is answered.

    >>> "like this: [your move]" in with_format("Nim.", "strict")
    True
    >>> print(with_format("Nim.", "marshal").splitlines()[1][:69])
    End your reply with one of the legal moves between <answer> and </ans
    """
    where = FORMS.get(reading)
    how = (
        ANSWER_FORMAT
        if where is None
        else ANSWER_FORMAT.replace("in square brackets", where).replace(
            ", like this: [your move]", ""
        )
    )
    return f"{text}\n{how}"
