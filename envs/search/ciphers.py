"""Ciphers, alphabets and codes that spell a name, letter for letter.

Names are given as `disguise` folds them: small letters and digits without blanks.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

ABC = string.ascii_lowercase
ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_SIGNS = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- "
    "-..- -.-- --.. ----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----."
)
_MORSE = dict(zip(ABC + string.digits, _SIGNS.split(), strict=True))
_KEYS = ("abc", "def", "ghi", "jkl", "mno", "pqrs", "tuv", "wxyz")
"""Letters on the keys 2 to 9 of a telephone."""
_SPOKEN = (
    "ay,bee be,see cee sea,dee,ee,eff ef,gee,aitch haitch,eye,jay,kay,el ell,em,en,oh owe,pee pea,"
    "cue queue,ar are,ess es,tee tea,you,vee,doubleyou,ex,why wye,zed zee"
)
_NAMES = {
    name: letter
    for letter, names in zip(ABC, _SPOKEN.split(","), strict=True)
    for name in (letter, *names.split())
}
"""Spoken names of letters."""
_COUNTED = (
    "null eins zwei drei vier funf sechs sieben acht neun zehn,"
    "zero un deux trois quatre cinq six sept huit neuf dix,"
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez,"
    "zero uno due tre quattro cinque sei sette otto nove dieci,"
    "nihil unus duo tres quattuor quinque sex septem octo novem decem"
)
_FOREIGN = {w: str(n) for line in _COUNTED.split(",") for n, w in enumerate(line.split())}


def in_cipher(words: Sequence[str], sought: str, parts: Sequence[str] = ()) -> bool:
    """Return whether words in a row are the answer in a cipher that replaces or moves letters.

    Args:
        words: of the text.
        sought: the answer, its words in one.
        parts: longer words of the answer.

    >>> in_cipher(["is", "it", "urpz", "o"], "xusc"), in_cipher(["ollray"], "roll")
    (True, True)
    """
    for table in _tables():
        said = [word.translate(table) for word in words]
        if _in_a_row(said, sought) or _in_a_row([w[::-1] for w in said], sought):
            return True
    doubled = re.sub(r"(.)\1+", r"\1", sought)
    if _in_a_row([re.sub(r"(.)\1+", r"\1", w) for w in words], doubled):
        return True
    bare = re.sub("[aeiou]", "", sought)
    if len(bare) > 2 and any(w == bare for w in words):
        return True
    named = {sought, *parts}
    return any(_moved(w, part) or _masked(w, part) for w in words for part in named)


def _tables() -> Iterator[dict[int, Any]]:
    """Yield the usual replacements of letters: shifts, the alphabet backwards, the next key."""
    for shift in range(1, 26):
        yield str.maketrans(ABC, ABC[shift:] + ABC[:shift])
    yield str.maketrans(ABC, ABC[::-1])
    for step in (1, -1):
        moved = {a: row[(i + step) % len(row)] for row in ROWS for i, a in enumerate(row)}
        yield str.maketrans(moved)
    for vowels in ("eioua", "uaeio"):
        yield str.maketrans("aeiou", vowels)


def _moved(word: str, sought: str) -> bool:
    """Return whether a word is the answer turned round, as pig Latin does."""
    forms = {word, word.removesuffix("ay"), word.removesuffix("way"), word.removesuffix("yay")}
    return word != sought and any(len(f) == len(sought) and f in sought + sought for f in forms)


def _masked(word: str, sought: str) -> bool:
    """Return whether a word is the answer but for one letter, or for its vowels."""
    if len(word) != len(sought) or len(sought) < 5:
        return False
    other = [a for a, b in zip(sought, word, strict=True) if a != b]
    return len(other) == 1 or (bool(other) and set(other) <= set("aeiou") and len(set(word)) > 2)


def letter_by_letter(words: Sequence[str], sought: str) -> bool:
    """Return whether letters, their names, or the first or last letters of words spell the answer.

    >>> letter_by_letter("romeo oscar lima lima oscar".split(), "rollo")
    True
    """
    singles = "".join(word for word in words if len(word) == 1)
    named = "".join(_NAMES.get(word, " ") for word in words)
    ends = ["".join(word[at] for word in words) for at in (0, -1)]
    seconds = [
        "".join(word[0] for word in words[i::step]) for step in (2, 3, 4) for i in range(step)
    ]
    spelled = (singles, named, *ends, *seconds)
    return any(sought in line or sought[::-1] in line for line in spelled)


def in_signs(text: str, sought: str) -> bool:
    """Return whether numbers, dots and dashes of a text spell the answer.

    >>> in_signs("Is it 18-15-12-12-15?", "rollo"), in_signs(".-. --- .-.. .-.. ---", "rollo")
    (True, True)
    """
    dashes = re.sub("[\u2010-\u2015\u2212_]|\\b(?:dah|dash)\\b", "-", text.lower())
    dashes = re.sub("\u00b7|\\b(?:di|dit|dot)\\b", ".", dashes)
    if "".join(_MORSE.get(c, "") for c in sought) in re.sub(r"[^.-]", "", dashes):
        return True
    masked = r"\s*".join(rf"(?:{c}|[^\w\s]|_)" if c in "aeiou" else c for c in sought)
    if re.search(masked, text.lower()):
        return True
    if sought in "".join(c for c in text if c.isupper()).lower() or _apart(text, sought):
        return True
    two = "".join(re.findall(r"\b[ab]{5}\b", text.lower()))
    digits = re.sub(r"\D", "", text) + "/" + two.translate(str.maketrans("ab", "01"))
    if any(code and code in digits for code in _numbered(sought)):
        return True
    hexed = re.sub(r"[^0-9a-f]", "", re.sub("0x|\\\\x|u00", "", text.lower()))
    return sought.encode().hex() in hexed


def _apart(text: str, sought: str) -> bool:
    """Return whether numbers in a row are as far apart as the letters of the answer.

    >>> _apart("Is it 118, 115, 112, 112 or 115?", "rollo")
    True
    """
    codes = [int(number) for number in re.findall(r"\b\d{1,6}\b", text)]
    wanted = [ord(b) - ord(a) for a, b in pairwise(sought)]
    steps = [b - a for a, b in pairwise(codes)]
    return any(steps[i : i + len(wanted)] == wanted for i in range(len(steps)))


def _numbered(sought: str) -> Iterator[str]:
    """Yield the digits that stand for a name: places in the alphabet, codes, keys, squares."""
    letters = [c for c in sought if c in ABC]
    if len(letters) < len(sought) or not letters:
        return
    places = [ABC.index(c) for c in letters]
    for codes in (places, [p + 1 for p in places], [26 - p for p in places]):
        yield "".join(map(str, codes))
        yield "".join(f"{code:02}" for code in codes)
        yield "".join(map(str, codes[::-1]))
    for base in (ord("a"), ord("A")):
        codes = [base + p for p in places]
        for form in ("d", "03d", "o", "03o", "b", "08b", "07b"):
            yield "".join(format(code, form) for code in codes)
    capital = [ord(letters[0].upper()), *map(ord, letters[1:])]
    for form in ("d", "03d", "o", "03o", "b", "08b", "07b"):
        yield "".join(format(code, form) for code in capital)
    for width in ("05b", "b"):
        yield "".join(format(p, width) for p in places)
        yield "".join(format(p + 1, width) for p in places)
    keys = [next((n, key) for n, key in enumerate(_KEYS, 2) if c in key) for c in letters]
    yield "".join(str(n) for n, _ in keys)
    yield "".join(str(n) * (key.index(c) + 1) for c, (n, key) in zip(letters, keys, strict=True))
    square = ABC.replace("j", "")
    at = [square.index(c.replace("j", "i")) for c in letters]
    yield "".join(f"{p // 5 + 1}{p % 5 + 1}" for p in at)
    yield "".join("0" * (p // 5) + "1" for p in at)


def numbers(text: str, answer: str) -> str:
    """Say how a text tells a short number: by a foreign word, by Roman digits; empty if not.

    >>> numbers("Sind es sieben?", "7"), numbers("Louis XIV?", "14"), numbers("Who?", "7")
    ('the number in another language', 'the number in Roman digits', '')
    """
    words = re.findall(r"[a-z]+", text.lower())
    if any(_FOREIGN.get(word) == answer.strip() for word in words):
        return "the number in another language"
    roman = re.findall(r"\b[IVXLCDM]+\b", text)
    if any(str(_roman(given)) == answer.strip() for given in roman if given != "I"):
        return "the number in Roman digits"
    return ""


def _roman(given: str) -> int:
    values = [{"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}[c] for c in given]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-v if v < following else v for v, following in pairs)


def _in_a_row(words: Sequence[str], sought: str) -> bool:
    """Return whether the beginning of a word on, words make up the answer and no more."""
    for start in range(len(words)):
        made = ""
        for word in words[start:]:
            made += word
            if made == sought:
                return True
            if not sought.startswith(made):
                break
    return False
