r"""From a reply to its final answer, and from two answers to whether they agree.

Forms that are read: \boxed{4}, <answer>4</answer>, and [4], which is the form of the terse prompts.
Where several stand in a reply, the one that ends last counts; in mathematics, where brackets have
a meaning of their own, only if no other mark is there and no digit behind them. Of a reply that has
none of these, what stands behind `answer:` or `the answer is` counts; for questions about numbers
its last number.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from coevo.envs.core.parsing import READ, heard, marks, normalise, spoken

LONGEST = 2000
"""Characters of an answer that are looked at; gold answers are far shorter."""
NUMERIC = ("number", "mathematics", "math")
"""Kinds whose answer may be the last number of a reply."""

_BLOCK = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_LABEL = re.compile(r"\A\s*(?:final\s+)?answer\s*:\s*", re.IGNORECASE)
_BEHIND = re.compile(r"\banswer(?:[\"'*_]{0,4}:| is\b:?)([^\n]{1,2000})", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d{1,40})"
_NUMBER = re.compile(
    rf"(?<![\w.])[-+]?{_DIGITS}(?!\d)(?:\.\d{{1,40}}(?!\d))?(?:/\d{{1,40}}(?!\d))?"
)
_PLAIN = re.compile(rf"([-+]?(?:{_DIGITS}(?:\.\d{{0,40}})?|\.\d{{1,40}}))(?:/(\d{{1,40}}))?")
_CHOICE = re.compile(r"\(?([a-z])(?:[).:].*|\s.*)?", re.DOTALL)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_EDGES = " \t\n.,;:!?\"'`*"


def final_answer(text: str, kind: str = "text") -> str | None:
    r"""Read the final answer of a whole reply; None where there is none.

    Args:
        text: the reply; what it thinks (`<think>`) is skipped.
        kind: of the question; see `NUMERIC`.

    >>> final_answer(r"So \boxed{\frac{1}{2}}."), final_answer("I say [ 7 ]")
    ('\\frac{1}{2}', '7')
    >>> final_answer("It is 3, no, 1,200.", "number"), final_answer("Paris"), final_answer("[a]!")
    ('1,200', None, 'a')
    """
    if kind == "code":
        return program_in(text)
    said = heard(text)
    found = [(m.end, m.text) for m in marks(said, ("answer",), brackets=False)][-1:]
    boxed, end = _box(said)
    if boxed is not None:
        found.append((end, boxed))
    formal = kind in ("mathematics", "math")
    if not (found and formal):
        inside = [(m.end, m.text) for m in marks(said, ()) if _may_answer(m.text, kind)]
        found += [(end, t) for end, t in inside[-1:] if not (formal and _DIGIT.search(said, end))]
    if not found:
        return _last_number(said) if kind in NUMERIC else _labelled(said)
    answer = max(found)[1]
    inner = _box(answer)[0]
    answer = _LABEL.sub("", answer if inner is None else inner).strip()
    return answer[:LONGEST] or None


def program_in(text: str) -> str | None:
    r"""Return the last block of code in a reply, or all that it says; None where that is nothing.

    >>> program_in("So:\n```python\nx = [1]\n```\nDone."), program_in("    return 1")
    ('x = [1]', '    return 1')
    """
    said = spoken(text)[-READ:]
    blocks = _BLOCK.findall(said)
    found = blocks[-1] if blocks else said
    return found.rstrip() or None


def agree(answer: str, gold: str, kind: str = "text") -> bool:
    """Return whether two final answers say the same, without algebra.

    Args:
        answer: of an agent.
        gold: the right one.
        kind: `number` compares values where both are numbers, `choice` compares letters; all
            others compare text, ignoring case, white space and punctuation at both ends.

    >>> agree("1,200.0", "$1200", "number"), agree("(B) Rome", "b", "choice"), agree("no", "yes")
    (True, True, False)
    """
    return normalised(answer, kind) == normalised(gold, kind)


def exact_match(answer: str | None, accepted: Iterable[str]) -> float:
    """Return 1 if an answer to an open question is one of those accepted, else 0.

    >>> exact_match("the Rollo", ["Rollo"]), exact_match("", ["..."]), exact_match(None, ["Rollo"])
    (1.0, 0.0, 0.0)
    """
    given = normalised(answer or "", "open")
    return float(bool(given) and given in {normalised(a, "open") for a in accepted})


def token_f1(answer: str | None, accepted: Iterable[str]) -> float:
    """Return how many words an answer shares with the accepted one that it is closest to, as F1.

    >>> token_f1("Rollo of Norway", ["Rollo"]), token_f1("the Rollo", ["Rollo"]), token_f1("?", [])
    (0.5, 1.0, 0.0)
    """
    given = Counter(normalised(answer or "", "open").split())
    golds = [Counter(normalised(gold, "open").split()) for gold in accepted]
    pairs = [((given & gold).total(), given.total() + gold.total()) for gold in golds]
    return max((2 * shared / words for shared, words in pairs if shared), default=0.0)


def normalised(answer: str, kind: str = "text") -> str:
    """Return an answer spelled so that equal answers are equal texts; votes are counted over these.

    Args:
        answer: a final answer.
        kind: as in `agree`, or `open`: punctuation and the articles a, an, the dropped everywhere,
            as in open-domain question answering.

    >>> normalised(" 0.50 ", "number"), normalised("(C)", "choice"), normalised("The  Sun!")
    ('1/2', 'c', 'the sun')
    >>> normalised("  The  U.S. Dollar! ", "open")
    'us dollar'
    """
    if kind == "code":
        return answer.rstrip()
    answer = answer[:LONGEST]
    if kind == "open":
        plain = "".join(c for c in answer.casefold() if unicodedata.category(c)[0] != "P")
        return " ".join(_ARTICLES.sub(" ", plain).split())
    if kind in NUMERIC:
        value = as_number(answer)
        return normalise(answer.strip(_EDGES)) if value is None else str(value)
    plain = normalise(answer).strip(_EDGES)
    if kind == "choice" and (letter := _CHOICE.fullmatch(plain)):
        return letter[1]
    return plain


@lru_cache(maxsize=4096)
def as_number(text: str) -> Fraction | None:
    r"""Read a plain number: digits, a sign, thousands commas, a decimal point, a fraction.

    Signs of money and per cent are dropped. Anything else gives None.

    >>> as_number("$1,234.50"), as_number("-3/4"), as_number("3, 4"), as_number("25\\%")
    (Fraction(2469, 2), Fraction(-3, 4), None, Fraction(25, 1))
    """
    plain = text.strip().strip("$").replace("\\!", "").replace("\\$", "").strip().strip("$")
    plain = plain.rstrip("%").rstrip("\\").rstrip(".").strip()
    match = _PLAIN.fullmatch(plain.replace("\u2212", "-"))
    if match is None or (match[2] is not None and not int(match[2])):
        return None
    return Fraction(match[1].replace(",", "")) / int(match[2] or 1)


def _box(text: str) -> tuple[str | None, int]:
    r"""Find the last \boxed{...} whose braces close; give what it holds and where it ends."""
    end = len(text)
    for _ in range(8):
        start = text.rfind("\\boxed", 0, end)
        if start < 0:
            break
        found = _braced(text, start + len("\\boxed"))
        if found is not None:
            return found
        end = start
    return None, 0


def _braced(text: str, start: int) -> tuple[str, int] | None:
    """Read `{...}`, or the single word that LaTeX allows instead, from `start` on."""
    while text[start : start + 1].isspace():
        start += 1
    if text[start : start + 1] != "{":
        word = re.compile(r"[^\s{}$.,;]{1,40}").match(text, start)
        return (word[0], word.end()) if word else None
    depth = 0
    for at in range(start, min(len(text), start + LONGEST)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start + 1 : at], at + 1
    return None


def _may_answer(inside: str, kind: str) -> bool:
    """Return whether brackets may hold an answer; where a number is asked for, words are a remark.

    >>> _may_answer("see above", "number"), _may_answer("see above", "text")
    (False, True)
    """
    return kind not in NUMERIC or any(c.isdigit() for c in inside)


def _labelled(said: str) -> str | None:
    """Return what stands behind the last `answer:` or `the answer is`, to the end of its line.

    >>> _labelled("**Final answer:** Paris."), _labelled("Paris it is.")
    ('Paris', None)
    """
    found = _BEHIND.findall(said)
    return found[-1].strip(_EDGES)[:LONGEST] or None if found else None


def _last_number(text: str) -> str | None:
    found = _NUMBER.findall(text[-LONGEST:])
    return found[-1] if found else None
