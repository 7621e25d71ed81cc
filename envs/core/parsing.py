r"""What of a reply counts: one rule for every task, told at length in docs/replies.md.

1. Thoughts are not read: all up to the last `</think>`, and all after a `<think>` that stays open.
   Nor are lines that begin with `|`, as quotations in prompts do.
2. A mark is a pair of square brackets on one line, `\boxed{}`, a pair of tags such as
   `<answer>4</answer>`, or `<4>` around a legal move, wherever it stands. Of marks inside of each
   other the innermost is one.
3. Words such as `my move is` mark a legal move behind them. A reply without any mark is read where
   one of its lines is a legal move, and no other line is another one.
4. No choice are marks behind `not`, `instead of`, `than` and the like; different legal moves in one
   list; and brackets with more words than any legal move, which are remarks.
5. Of what is left the last one counts. It is a move if it is spelled like one, but for case, blanks
   and markup; nothing else is repaired.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from coevo.envs.core.phrases import led_to, listed, ruled_out, unwrapped
from coevo.envs.core.quoting import quote_line, visible

ANSWER_FORMAT = (
    "End your reply with one of the legal moves in square brackets, spelled exactly as in the "
    "list, like this: [your move]. You may think before it."
)
"""How to answer where moves are listed; its example is no move of any game."""
PLACEHOLDERS = frozenset(("your move", "move", "your answer", "answer"))
"""What prompts write in brackets where a move is to stand; a copy of it is none."""
TAGS = ("answer", "move", "action", "choice", "proposal")
"""Tags that mark a move."""
LONGEST = 200
"""Characters that a mark of a move holds at most."""
READ = 50_000
"""Characters of a reply that are read, from its end."""
LAST = 500
"""Marks and lines that are looked at, from the end."""
_OPENED = re.compile("<think>", re.IGNORECASE | re.ASCII)
_CLOSED = re.compile("</think>", re.IGNORECASE | re.ASCII)
_QUOTED = re.compile(r"^\|.*$", re.MULTILINE)
_BRACKETS = re.compile(r"(?<!\\)[\[［【]([^\[\]［］【】\n]+)(?<!\\)[\]］】]")  # noqa: RUF001
_BOXED = re.compile(r"\\boxed\s?\{((?:[^{}\n]|\{[^{}\n]{0,200}\}){1,200})\}")
_ANGLED = re.compile(r"<\s?([^<>/\[\]\n]{1,200})>")
_LIKE_BRACKETS = re.compile(r"[(<{⟦‹「]\s*([^(<{⟦‹「)>}⟧›」\n]{1,200})[)>}⟧›」]")


class Status(StrEnum):
    """How one reply was read."""

    LEGAL = "legal"
    ILLEGAL = "illegal"
    """A move was given in the right form, but it is not legal now."""
    UNPARSABLE = "unparsable"
    """No move that can be read."""


class Miss(StrEnum):
    """What a reply without a legal move came close to."""

    EMPTY = "empty"
    """Nothing was said, thoughts left out."""
    UNCLOSED = "unclosed thought"
    """The reply ended in its thoughts."""
    LISTED = "listed"
    """Several legal moves, and no choice among them."""
    RULED_OUT = "ruled out"
    """Only what the reply rules out."""
    OTHER_BRACKETS = "other brackets"
    """A legal move in parentheses, angle or other brackets."""
    UNMARKED = "unmarked"
    """A legal move among the last words, without a mark."""
    LOOKALIKE = "look-alike"
    """A mark around what looks like a legal move and is spelled with other characters."""
    AMBIGUOUS = "ambiguous"
    """A mark around what could be several legal moves."""
    FORM = "other form"
    """A move that the default rule reads, and the rule that was chosen does not."""
    OTHER = "other"
    """None of these."""


NEAR = frozenset(Miss) - {Miss.EMPTY, Miss.UNCLOSED, Miss.OTHER}
"""What a reader might have taken for a move."""
WHY = {
    Miss.EMPTY: "the reply is empty",
    Miss.UNCLOSED: "the reply ended before its thoughts did",
    Miss.LISTED: "the reply lists several legal moves and chooses none of them",
    Miss.RULED_OUT: "the reply says only what it does not choose",
    Miss.FORM: "the reply does not have the form that was asked for",
}
"""Reasons in words; all others are `NO_MARK`."""
NO_MARK = "no legal move was found in the reply"


class Parse(NamedTuple):
    """The move read from one reply."""

    move: str | None
    """The legal move in its canonical spelling. Of a reply that is not read, the move that is made
    where no attempt is left; None leaves that to the illegal-move policy."""
    status: Status
    detail: str = ""
    """For the agent and for the log: what was found and what was expected."""
    miss: Miss | None = None
    """What the reply came close to, where moves are listed and it gives none of them."""

    @property
    def ok(self) -> bool:
        """Whether the reply can be played."""
        return self.status is Status.LEGAL


def unread(miss: Miss) -> Parse:
    """Return how a reply without a mark is read."""
    return Parse(None, Status.UNPARSABLE, WHY.get(miss, NO_MARK), miss)


def missing(text: str, what: str) -> Parse:
    """Return how a reply is read in which the thing that was asked for is not.

    >>> missing("<think>4", "final answer").detail, missing("Hm.", "final answer").detail
    ('the reply ended before its thoughts did', 'no final answer was found in the reply')
    """
    silent = _silence(text)
    if silent is not None:
        return unread(silent)
    return Parse(None, Status.UNPARSABLE, f"no {what} was found in the reply")


def _silence(text: str) -> Miss | None:
    """Return why nothing of a reply is read; None where something is."""
    if heard(text).strip():
        return None
    return Miss.UNCLOSED if _OPENED.search(text) and not _CLOSED.search(text) else Miss.EMPTY


def answer(move: str) -> str:
    """Spell a move the way an agent has to answer it.

    >>> answer("bet")
    '[bet]'
    """
    return f"[{move}]"


def normalise(move: str) -> str:
    """Fold case and white space, so that `[ Bet ]` is the move `bet`.

    Where legal moves differ in case alone (chess: `bxc3`, `Bxc3`), the reply must match exactly.
    """
    return " ".join(move.split()).casefold()


class Mark(NamedTuple):
    """One thing that a reply says for others to read."""

    tag: str
    """Name of the tags in lower case; empty for brackets and `\\boxed{}`."""
    text: str
    """What they hold."""
    start: int
    end: int
    """Where the mark begins and ends in what was said."""


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


def marks(said: str, tags: Iterable[str], brackets: bool = True) -> list[Mark]:
    r"""Return the marks of what was said in the order of their ends; tags hold all that is in them.

    Args:
        said: from `heard`.
        tags: names of tags that are marks here.
        brackets: whether brackets and `\boxed{}` are marks as well.

    >>> [m.text for m in marks("<Answer>a<answer>b [1]</answer> <see>x</see> [3].", ("answer",))]
    ['b [1]', '3']
    """
    found, kept = _all_marks(said, tags, brackets), list[Mark]()
    for mark in reversed(found):
        if not kept or mark.end <= kept[-1].start:
            kept.append(mark)
    return kept[::-1]


def _all_marks(said: str, tags: Iterable[str], brackets: bool = True) -> list[Mark]:
    """Return the marks of what was said in the order of their ends."""
    found: list[Mark] = []
    for form in (_BRACKETS, _BOXED) if brackets else ():
        found += [Mark("", m[1], *m.span()) for m in form.finditer(said)]
    opened: tuple[str, int, int] | None = None
    for tag in re.finditer(f"<(/?)({'|'.join(tags) or '(?!)'})>", said, re.IGNORECASE | re.ASCII):
        name = tag[2].lower()
        if not tag[1]:
            opened = name, tag.start(), tag.end()
        elif opened and opened[0] == name:
            found.append(Mark(name, said[opened[2] : tag.start()], opened[1], tag.end()))
            opened = None
    return sorted(found, key=lambda mark: mark.end)


def heard(text: str) -> str:
    """Return what of a reply is read: the end of what it says, without lines that quote others."""
    said = spoken(text)[-READ:]
    return _QUOTED.sub("", said) if "|" in said else said


def last_mark(text: str, tags: Iterable[str] = ()) -> Mark | None:
    """Return the mark of a whole reply that counts where any text may be in it; None without one.

    >>> last_mark("<score>1</score> [3]!", ("score",)).text, last_mark("<think>[3]</think>")
    ('3', None)
    """
    found = marks(heard(text), tags)
    return found[-1] if found else None


def parse_move(text: str, legal: Sequence[str] | None, tags: Sequence[str] = TAGS) -> Parse:
    """Read the move of a reply.

    Args:
        text: the whole reply.
        legal: moves that may be played now; None where any text is legal.
        tags: names of tags that mark a move.

    >>> parse_move("I hold the king, so **[Bet]**.", ["pass", "bet"]).move
    'bet'
    >>> parse_move("[bet] or [pass]?", ["pass", "bet"]).miss
    <Miss.LISTED: 'listed'>
    """
    if legal is None:
        return Parse(spoken(text).strip(), Status.LEGAL)
    bare = text.strip()
    if bare[:1] == "[" and bare[-1:] == "]" and bare[1:-1] in legal:
        return _played(bare[1:-1])
    silent = _silence(text)
    return unread(silent) if silent else _Reader(heard(text), legal, tags).read()


@functools.lru_cache(maxsize=1024)
def _played(move: str) -> Parse:
    return Parse(move, Status.LEGAL)


class _Reader:
    """Reads one reply where moves are listed."""

    def __init__(self, said: str, legal: Sequence[str], tags: Sequence[str]) -> None:
        self.said, self.tags = said, tags
        self.words = max((len(move.split()) for move in legal), default=0)
        self.seen: dict[str, list[str]] = {}
        self.known: dict[str, list[str]] = {}
        for move in legal:
            self.known.setdefault(normalise(move), []).append(move)

    def read(self) -> Parse:
        found = self._choices()
        chosen = [m for m in found if not ruled_out(self.said, m.start)]
        left = self._unlisted(chosen)
        if left:
            return self._judged(left[-1].text)
        if found:
            return unread(Miss.LISTED if chosen else Miss.RULED_OUT)
        return self._lines()

    def moves(self, text: str) -> list[str]:
        """Return the legal moves that a text may stand for: one, or several that differ in case."""
        found = self.seen.get(text)
        if found is None:
            found = self.seen[text] = self._moves(text) if len(text) <= 2 * LONGEST else []
        return found

    def _moves(self, text: str) -> list[str]:
        for form in unwrapped(text):
            same = self.known.get(normalise(form), [])
            if len(same) > 1:
                wanted = " ".join(form.split())
                return [move for move in same if " ".join(move.split()) == wanted] or same
            if same:
                return same
        return []

    def _choices(self) -> list[Mark]:
        """Return marks that may be choices, in the order of their ends."""
        every = _all_marks(self.said, self.tags)[-LAST:]
        inner = [m for i, m in enumerate(every) if not i or every[i - 1].start < m.start]
        found = [m for m in inner if self._is_move_like(m)]
        angled = [m for m in _ANGLED.finditer(self.said) if normalise(m[1]) in self.known][-LAST:]
        found += [Mark("", m[1], *m.span()) for m in angled]
        for start, end, texts in led_to(self.said):
            text = next((text for text in texts if self.moves(text)), None)
            if text is not None and not any(start < m.start <= end + len(text) for m in found):
                found.append(Mark("", text, start, self.said.index(text, start) + len(text)))
        return sorted(found, key=lambda mark: mark.end)

    def _is_move_like(self, mark: Mark) -> bool:
        if self.moves(mark.text):
            return True
        plain = normalise(mark.text)
        return (
            bool(plain)
            and plain not in PLACEHOLDERS
            and (len(plain.split()) <= self.words and len(plain) <= LONGEST)
        )

    def _unlisted(self, chosen: list[Mark]) -> list[Mark]:
        """Leave out legal moves that stand in a list with other ones."""
        names = [tuple(self.moves(m.text)) for m in chosen]
        groups: list[list[int]] = [[i] for i in range(len(chosen))][:1]
        for i, (one, other) in enumerate(pairwise(chosen), start=1):
            alike = names[i - 1] and names[i] and one.tag == other.tag
            together = alike and listed(self.said, one[2:], other[2:])
            groups[-1].append(i) if together else groups.append([i])
        alone = [group for group in groups if len({names[i] for i in group}) == 1]
        return [chosen[i] for group in alone for i in group]

    def _judged(self, text: str) -> Parse:
        same, wanted = self.moves(text), " ".join(text.split())
        if len(same) == 1:
            return _played(same[0])
        why = f"could be any of {', '.join(same)}" if same else "is not a legal move now"
        miss = Miss.AMBIGUOUS if same else Miss.OTHER
        if not same and skeleton(wanted) in {skeleton(move) for move in self.known}:
            miss = Miss.LOOKALIKE
        return Parse(None, Status.ILLEGAL, f"{quote_line(wanted, 100)} {why}", miss)

    def _lines(self) -> Parse:
        """Read a reply without a mark: one of its lines may be a legal move."""
        lines = [line for line in self.said.split("\n") if line.strip()][-LAST:]
        found = {tuple(same): None for line in lines if (same := self.moves(line))}
        if len(found) == 1:
            ((move, *others),) = found
            return self._judged(move) if others else _played(move)
        return unread(Miss.LISTED if found else self._near())

    def _near(self) -> Miss:
        """Return what a reply came close to that holds neither a mark nor a line with a move."""
        end = self.said[-2 * LONGEST :]
        if any(self.moves(m[1]) for m in _LIKE_BRACKETS.finditer(end)):
            return Miss.OTHER_BRACKETS
        words = normalise(re.sub(r"[*_`\"'.!?]", "", end))
        last = any(words.endswith(f" {move}") for move in self.known)
        return Miss.UNMARKED if last else Miss.OTHER


def skeleton(text: str) -> str:
    """Return what is left of a text when all that fools the eye is taken away.

    >>> skeleton("S\u200bn\u00f6w")
    'snow'
    """
    plain = unicodedata.normalize("NFKD", text).translate(_CONFUSED)
    return normalise("".join(c for c in plain if visible(c) == c and not unicodedata.combining(c)))


_CONFUSED = str.maketrans("аеорсухіјѕԁһкмтвΑΒΕΗΙΚΜΝΟΡΤΧο", "aeopcyxijsdhkmtbABEHIKMNOPTXo")
"""Cyrillic and Greek letters that are drawn like Latin ones."""
