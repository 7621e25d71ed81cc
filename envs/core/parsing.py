r"""What of a reply counts: one rule for every task.

1. Thoughts are not read: all up to the last `</think>`, and all after a `<think>` that stays open.
   The rest is what was said.
2. A mark is a pair of tags (`<answer>4</answer>`) or square brackets that end what was said
   (`[4]`). Names of tags may be in any case. Of pairs inside of each other the innermost is one;
   brackets hold no brackets and no line end, and what `\[` opens is mathematics.
3. Of several marks the one that ends last counts, whatever it holds; nothing is repaired.
4. Where moves are listed, the mark must also be the last thing that is said, and hold one of them,
   as it is spelled but for case and blanks.

Anchoring at the end matters: a rule that takes any bracket plays moves that an agent only thinks
about. What almost is a move is none, and its kind is noted (`Miss`).
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from coevo.envs.core.quoting import quote_line, visible

ANSWER_FORMAT = (
    "End your reply with one of the legal moves in square brackets, spelled exactly as in the "
    "list, like this: [your move]. You may think before it."
)
"""How to answer where moves are listed; its example is no move of any game."""
LONGEST = 200
"""Characters that brackets hold at most, where nothing else is said."""
_OPENED = re.compile("<think>", re.IGNORECASE | re.ASCII)
_CLOSED = re.compile("</think>", re.IGNORECASE | re.ASCII)
_INSIDE = re.compile(r"\[([^\[\]\n]{1,200})\]")
_OPEN, _SHUT = "({<【［⟦‹「", ")}>】］⟧›」"  # noqa: RUF001
_LIKE_BRACKETS = re.compile(rf"[{_OPEN}]\s*([^{_OPEN}{_SHUT}\n]{{1,200}})[{_SHUT}]+\W*\Z")


class Status(StrEnum):
    """How one reply was read."""

    LEGAL = "legal"
    ILLEGAL = "illegal"
    """A move was given in the right form, but it is not legal now."""
    UNPARSABLE = "unparsable"
    """No move in the right form at the end of the reply."""


class Miss(StrEnum):
    """What a reply without a legal move came close to."""

    EMPTY = "empty"
    """Nothing was said, thoughts left out."""
    UNCLOSED = "unclosed thought"
    """The reply ended in its thoughts."""
    NOT_LAST = "not last"
    """A legal move in brackets, and something after it."""
    NESTED = "nested brackets"
    """Brackets in brackets around a legal move."""
    OTHER_BRACKETS = "other brackets"
    """A legal move at the end in parentheses, angle or other brackets."""
    NO_BRACKETS = "no brackets"
    """A legal move as the last words."""
    LOOKALIKE = "look-alike"
    """Brackets around what looks like a legal move and is spelled with other characters."""
    AMBIGUOUS = "ambiguous"
    """Brackets around what could be several legal moves."""
    OTHER = "other"
    """None of these."""


class Parse(NamedTuple):
    """The move read from one reply."""

    move: str | None
    """The legal move in its canonical spelling; None when there is none."""
    status: Status
    detail: str = ""
    """For the agent and for the log: what was found and what was expected."""
    miss: Miss | None = None
    """What the reply came close to, where moves are listed and it gives none of them."""

    @property
    def ok(self) -> bool:
        """Whether the reply can be played."""
        return self.status is Status.LEGAL


def answer(move: str) -> str:
    """Spell a move the way an agent has to answer it.

    >>> answer("bet")
    '[bet]'
    """
    return f"[{move}]"


def told_how(text: str) -> str:
    """Return rules, or a question, and below them how a move is answered."""
    return f"{text}\n{ANSWER_FORMAT}"


def normalise(move: str) -> str:
    """Fold case and white space, so that `[ Bet ]` is the move `bet`.

    Where legal moves differ in case alone (chess: `bxc3`, `Bxc3`), the reply must match exactly.
    """
    return " ".join(move.split()).casefold()


class Mark(NamedTuple):
    """One thing that a reply says for others to read."""

    tag: str
    """Name of the tags in lower case; empty for brackets."""
    text: str
    """What they hold."""
    end: int
    """Where the mark ends in what was said."""


def spoken(text: str) -> str:
    """Return what a reply says: all but its thoughts.

    >>> spoken("<think>a</think> b"), spoken("a</think> b <THINK>c"), spoken("<think>a")
    (' b', ' b ', '')
    """
    if "<" not in text:
        return text
    start = 0
    for found in _CLOSED.finditer(text):
        start = found.end()
    opened = _OPENED.search(text, start)
    return text[start : opened.start() if opened else len(text)]


def marks(said: str, tags: Iterable[str], longest: int = LONGEST) -> list[Mark]:
    """Return the marks of what was said in the order of their ends.

    Args:
        said: from `spoken`.
        tags: names of tags that are marks here.
        longest: characters that brackets may hold.

    >>> marks("<search>x</search> or <Answer>a<answer>b</answer> [3]", ("answer",))
    [Mark(tag='answer', text='b', end=49), Mark(tag='', text='3', end=53)]
    """
    found: list[Mark] = []
    opened: tuple[str, int] | None = None
    for tag in re.finditer(f"<(/?)({'|'.join(tags) or '(?!)'})>", said, re.IGNORECASE | re.ASCII):
        name = tag[2].lower()
        if not tag[1]:
            opened = name, tag.end()
        elif opened and opened[0] == name:
            found.append(Mark(name, said[opened[1] : tag.start()], tag.end()))
            opened = None
    inside = bracketed(said, longest)
    return found if inside is None else [*found, Mark("", inside, len(said))]


def last_mark(text: str, tags: Iterable[str] = (), longest: int = LONGEST) -> Mark | None:
    """Return the mark of a whole reply that counts; None where it has none.

    >>> last_mark("[3] <score>1</score>", ("score",)), last_mark("<think>[3]</think>")
    (Mark(tag='score', text='1', end=20), None)
    """
    found = marks(spoken(text), tags, longest)
    return found[-1] if found else None


def bracketed(said: str, longest: int = LONGEST) -> str | None:
    r"""Return what the brackets hold that end what was said; None without any.

    >>> bracketed("not [pass] but [bet] "), bracketed("[bet]."), bracketed(r"so \[ x \]")
    ('bet', None, None)
    """
    said = said.rstrip()
    if said[-1:] != "]":
        return None
    size = len(said)
    start = said.rfind("[", size - longest - 2 if size > longest + 2 else 0)
    inside = said[start + 1 : -1]
    if start < 0 or not inside or "]" in inside or "\n" in inside:
        return None
    return None if start and said[start - 1] == "\\" else inside


def parse_move(text: str, legal: Sequence[str] | None) -> Parse:
    """Read the move at the end of a reply.

    Args:
        text: the whole reply.
        legal: moves that may be played now; None where any text is legal.

    >>> parse_move("I hold the king. [Bet]", ["pass", "bet"]).move
    'bet'
    >>> parse_move("[bet] or [pass]?", ["pass", "bet"]).miss
    <Miss.NOT_LAST: 'not last'>
    """
    said = spoken(text)
    if legal is None:
        return Parse(said.strip(), Status.LEGAL)
    inside = bracketed(said)
    if inside is None:
        why = "the reply does not end with a move in square brackets"
        return Parse(None, Status.UNPARSABLE, why, _unbracketed(text, said, legal))
    wanted = " ".join(inside.split())
    if wanted in legal:
        return _played(wanted)
    same = [m for m in legal if normalise(m) == normalise(wanted)]
    exact = [m for m in same if " ".join(m.split()) == wanted]
    if exact or len(same) == 1:
        return Parse((exact or same)[0], Status.LEGAL)
    why = f"could be any of {', '.join(same)}" if same else "is not a legal move now"
    miss = Miss.AMBIGUOUS if same else Miss.OTHER
    if not same and _skeleton(wanted) in set(map(_skeleton, legal)):
        miss = Miss.LOOKALIKE
    return Parse(None, Status.ILLEGAL, f"{quote_line(wanted, 100)} {why}", miss)


@functools.lru_cache(maxsize=1024)
def _played(move: str) -> Parse:
    return Parse(move, Status.LEGAL)


def _unbracketed(text: str, said: str, legal: Sequence[str]) -> Miss:
    """Return what a reply without brackets at its end came close to."""
    if not said.strip():
        return Miss.UNCLOSED if _OPENED.search(text) and not _CLOSED.search(text) else Miss.EMPTY
    known, end = set(map(normalise, legal)), said[-2 * LONGEST :]
    other = _LIKE_BRACKETS.search(end)
    if other and normalise(other[1]) in known:
        return Miss.OTHER_BRACKETS
    inside = [m for m in _INSIDE.finditer(end) if normalise(m[1]) in known]
    if inside:
        last = inside[-1]
        around = end[: last.start()].rstrip()[-1:] + end[last.end() :].strip()
        return Miss.NESTED if set("[]") & set(around[:2]) else Miss.NOT_LAST
    words = normalise(re.sub(r"[*_`\"'.!?]", "", end))
    if any(words == move or words.endswith(f" {move}") for move in known):
        return Miss.NO_BRACKETS
    return Miss.OTHER


def _skeleton(move: str) -> str:
    """Return what is left of a move when all that fools the eye is taken away."""
    plain = unicodedata.normalize("NFKD", move).translate(_CONFUSED)
    return normalise("".join(c for c in plain if visible(c) == c and not unicodedata.combining(c)))


_CONFUSED = str.maketrans("аеорсухіјѕԁһкмтвΑΒΕΗΙΚΜΝΟΡΤΧο", "aeopcyxijsdhkmtbABEHIKMNOPTXo")
"""Cyrillic and Greek letters that are drawn like Latin ones."""
