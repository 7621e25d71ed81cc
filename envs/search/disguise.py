"""Finds a name in a text that hides it: spaced out, in look-alike letters, reversed, encoded.

What people and readers still understand is undone step by step: invisible characters, accents and
other alphabets' look-alikes, digits for letters and words for digits, separators between letters.
No list of tricks is complete; a reader that accepts what is left is the last filter (`gate.py`).
"""

from __future__ import annotations

import base64
import codecs
import re
import unicodedata
from collections.abc import Iterator

from coevo.envs.core.remembering import remembered

REMEMBERED = 8 * 2**20
"""Bytes of texts whose words are remembered."""

_LIKE = {
    "a": "\u0430\u03b1",
    "b": "\u0432\u044c\u03b2",
    "c": "\u0441\u03f2",
    "d": "\u0501\u0111\u00f0",
    "e": "\u0435\u03b5\u0454",
    "g": "\u0261",
    "h": "\u043d\u04bb\u03b7\u0127",
    "i": "\u0456\u0457\u03b9\u0131",
    "j": "\u0458",
    "k": "\u043a\u03ba",
    "l": "\u0142\u029f",
    "m": "\u043c",
    "n": "\u043f",
    "o": "\u043e\u03bf\u00f8\u03c3",
    "p": "\u0440\u03c1",
    "q": "\u051b",
    "r": "\u0433\u0280",
    "s": "\u0455",
    "t": "\u0442\u03c4\u0167",
    "u": "\u0446\u03c5",
    "v": "\u03bd",
    "w": "\u051d\u03c9",
    "x": "\u0445\u03c7",
    "y": "\u0443\u03b3\u04af",
    "z": "\u03b6",
}
ALIKE = {ord(other): latin for latin, others in _LIKE.items() for other in others}
"""Letters of other alphabets -> the Latin ones that they look like."""
LEET = str.maketrans("0134578@$!|", "oieastbasii")
"""Signs that stand for letters within a word."""
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBERS = {w: n for n, w in enumerate(_UNITS.split())} | {
    w: 10 * n for n, w in enumerate(_TENS.split(), start=2)
}
"""English words of numbers."""
SHORTEST = 4
"""Letters and digits from which a name is looked for backwards and encoded."""
_TOKEN = re.compile(r"[@$]*[^\W_]+(?:[@$!|]+[^\W_]+)*[@$]*|[@$]+")


def mentions(text: str, name: str) -> bool:
    r"""Return whether a text holds a name, whole words of it, openly or in a disguise.

    >>> mentions("Is it R.o.l.l.o?", "Rollo"), mentions("Was it о\u200bllor?", "Rollo")
    (True, True)
    >>> mentions("in nineteen eighty-four", "1984"), mentions("the R0ll0 house", "Rollo")
    (True, True)
    >>> mentions("Rollos and controllo", "Rollo")
    False
    """
    bare = "".join(_words(name))
    if not bare:
        return False
    said = _words(text)
    sought = {bare, _without_leet(bare)}
    if len(bare) >= SHORTEST:
        sought |= {part[::-1] for part in sought} | set(_encoded(name))
    plain = [_without_leet(word) for word in said]
    return any(_run(words, part) for words in (said, plain) for part in sought) or _coded(
        text, name
    )


def folded(text: str) -> str:
    """Return a text in small letters without accents, look-alikes and what cannot be seen.

    >>> folded("Gérard")
    'gerard'
    """
    if text.isascii():
        return text.casefold()
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    kept = (c for c in apart if unicodedata.category(c) not in ("Mn", "Me", "Cf", "Cc", "Co"))
    digits = (str(unicodedata.decimal(c, c)) for c in kept)
    return "".join(digits).translate(ALIKE)


@remembered(REMEMBERED)
def _words(text: str) -> tuple[str, ...]:
    """Return the words of a text, numbers in digits."""
    found: list[str] = []
    tens = False
    for word in _TOKEN.findall(folded(text)):
        number = NUMBERS.get(word)
        if number is None:
            found.append(word)
        elif tens and 0 < number < 10:
            found[-1] = str(int(found[-1]) + number)
        else:
            found.append(str(number))
        tens = number is not None and number >= 20
    return tuple(found)


def _without_leet(word: str) -> str:
    """Read signs as letters where a word has letters as well."""
    return word if word.isdecimal() else word.translate(LEET)


def _run(words: list[str] | tuple[str, ...], name: str) -> bool:
    """Return whether some words one after the other make up a name and no more."""
    for start in range(len(words)):
        made = ""
        for word in words[start:]:
            made += word
            if made == name:
                return True
            if not name.startswith(made):
                break
    return False


def _encoded(name: str) -> Iterator[str]:
    """Yield a name as codes of letters that stay one word."""
    yield "".join(_words(codecs.encode(folded(name), "rot13")))
    for given in {name, name.lower(), name.upper()}:
        yield given.encode("utf-8", "surrogatepass").hex()


def _coded(text: str, name: str) -> bool:
    """Return whether a name stands in a text in base 64, whose capitals count, or by its codes."""
    if len(name) < SHORTEST:
        return False
    forms = (f.encode("utf-8", "surrogatepass") for f in {name, name.lower(), name.upper()})
    if any(base64.b64encode(form).decode().rstrip("=") in text for form in forms):
        return True
    codes = re.findall(r"\d+", text)
    return any([str(ord(c)) for c in f] == codes for f in {name, name.lower(), name.upper()})
