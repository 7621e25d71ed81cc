"""Whether an answer is right: exact match, normalised as in open-domain question answering.

Lower case, punctuation and the articles a, an, the dropped, blanks squeezed; word overlap (F1)
over the same words.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

LONGEST = 1000
"""Characters of an answer that are looked at."""
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def normalised(answer: str) -> str:
    """Spell an answer so that equal answers are equal texts.

    >>> normalised("  The  U.S. Dollar! ")
    'us dollar'
    """
    folded = answer[:LONGEST].casefold()
    plain = "".join(c for c in folded if not unicodedata.category(c).startswith("P"))
    return " ".join(_ARTICLES.sub(" ", plain).split())


def exact_match(answer: str | None, accepted: Iterable[str]) -> float:
    """Give 1 if the answer is one of those accepted, else 0; no answer is never right.

    >>> exact_match("the Rollo", ["Rollo"]), exact_match("", ["..."]), exact_match(None, ["Rollo"])
    (1.0, 0.0, 0.0)
    """
    given = normalised(answer) if answer is not None else ""
    return float(bool(given) and given in {normalised(a) for a in accepted})


def word_f1(answer: str | None, accepted: Iterable[str]) -> float:
    """Give the best F1 of words: 2 p r / (p + r), p of the answer's words, r of the accepted ones.

    >>> word_f1("king Rollo", ["Rollo"])
    0.6666666666666666
    """
    given = normalised(answer or "").split()
    return max((_f1(given, normalised(a).split()) for a in accepted), default=0.0)


def _f1(given: list[str], wanted: list[str]) -> float:
    common = sum((Counter(given) & Counter(wanted)).values())
    return 2 * common / (len(given) + len(wanted)) if common else 0.0
