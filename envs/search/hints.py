"""Whether a question on plain text hides its answer, where no grammar says what an honest one is.

`disguise.mentions` undoes what keeps the spelling. Here are the rest: what no honest question is
written in (`odd`), spellings that are changed, encoded or cut up (`hint`). A word that the corpus
does not have may be honest, but it is looked at more closely than others.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from urllib.parse import unquote

from coevo.envs.search import ciphers
from coevo.envs.search.disguise import folded, mentions
from coevo.envs.search.retrieval import tokenise

SHORTEST = 4
"""Letters and digits of an answer that is looked for in changed spellings."""
LONGEST = 24
"""Letters of a word."""
MANY = 1000
"""Different words from which on a corpus shows what words look like."""
MOST_DIGITS = 24
"""Of the number of a sign."""
PLAIN = frozenset(" \"'(),-.:;?!&/%$+=[]\u2013\u2014\u2018\u2019\u201c\u201d\u20ac\u00a3\u00b0")
"""Signs of honest questions."""
_WORD = re.compile(r"[a-z0-9]+")
_ORDINARY = re.compile(r"\d+(?:st|nd|rd|th|s|m|km|cm|mm|bn|am|pm|kg|g|d|x)|[a-z]{1,4}\d{1,3}")
_ABOUT_WORDS = frozenset(
    tokenise(
        "anagram backwards reversed rhymes rhyme spelled spelling spell syllable syllables vowel "
        "vowels consonant consonants cipher ciphered encoded decoded decode rot13 base64 morse "
        "ascii initials acrostic hint synonym translates"
    )
)


class Hints:
    """Looks for hints in questions about a corpus.

    Args:
        texts: of the corpus.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._spelled = {word for text in texts for word in text.split()}
        self._known = {word for text in self._spelled for word in _words(text)}
        self._threes = {three for word in self._known for three in _threes(word)}

    def odd(self, question: str) -> str:
        """Say in words what no honest question is written in; empty where there is nothing."""
        for given in question.split(" "):
            if given not in self._spelled and (signs := sorted({c for c in given if _strange(c)})):
                return f"the sign {signs[0]!a}"
        words = _words(question)
        for word in words:
            if word in _ABOUT_WORDS and word not in self._known:
                return f"talk about spelling: {word}"
            if word not in self._known and self._is_code(word):
                return f"{word!r}, which looks like no word"
        singles = [word for word in words if len(word) == 1 and word not in "ai"]
        return "" if len(singles) < SHORTEST else "single letters"

    def _is_code(self, word: str) -> bool:
        if word.isdecimal():
            return len(word) > 9
        if any(c.isdecimal() for c in word):
            return not _ORDINARY.fullmatch(word)
        if len(word) > LONGEST or len(self._known) < MANY:
            return len(word) > LONGEST
        unseen = [three for three in _threes(word) if three not in self._threes]
        return len(unseen) > max(2, len(word) // 3)

    def hint(self, question: str, answer: str) -> str:
        """Say in words how a question leads to its answer; empty where it does not."""
        sought = "".join(_words(answer))
        for form in _decoded(question):
            if mentions(form, answer):
                return "the answer in another encoding"
        words = _words(question)
        if set(_words(answer)) <= set(words) and sought:
            return "all words of the answer"
        parts = [word for word in _words(answer) if len(word) >= SHORTEST]
        if len(sought) < SHORTEST:
            return ciphers.numbers(question, answer)
        tests: dict[str, Callable[[], bool]] = {
            "the answer in cipher": lambda: ciphers.in_cipher(words, sought, parts),
            "the answer in numbers or signs": lambda: ciphers.in_signs(question, sought),
            "the letters of the answer, one by one": lambda: ciphers.letter_by_letter(
                words, sought
            ),
            "the letters of the answer in another order": lambda: _shuffled(words, sought),
            "a word that is much like the answer": lambda: any(
                _alike(word, part)
                for word in words
                if word not in self._known
                for part in {sought, *parts}
            ),
            "parts of the answer": lambda: any(
                self._in_parts(words, sought[i:] + sought[:i]) for i in range(len(sought))
            ),
        }
        return next((what for what, test in tests.items() if test()), "")

    def _in_parts(self, words: Sequence[str], sought: str) -> bool:
        """Return whether words with others between make up the answer, one of them unknown."""
        reached = {0: False}  # letters that are made up -> whether a part is unknown
        for word in words:
            for at, unknown in list(reached.items()):
                if sought.startswith(word, at):
                    end = at + len(word)
                    reached[end] = reached.get(end, False) or unknown or word not in self._known
        return reached.get(len(sought), False)


def _words(text: str) -> list[str]:
    return _WORD.findall(folded(text))


def _threes(word: str) -> list[str]:
    framed = f"^{word}$"
    return [framed[i : i + 3] for i in range(len(framed) - 2)]


def _strange(sign: str) -> bool:
    """Return whether a sign is neither of the Latin alphabets of Europe nor usual punctuation."""
    if sign.isascii():
        return not sign.isalnum() and sign not in PLAIN
    return not ("\u00c0" <= sign <= "\u017f") and sign not in PLAIN


def _decoded(text: str) -> Iterator[str]:
    """Yield a text without the escapes of web pages and programs, and what its codes say."""
    yield html.unescape(text)
    yield unquote(text)
    yield unquote(text.replace("=", "%"))
    yield re.sub(r"\\(?:u|x|U)\{?0*([0-9a-fA-F]{2,6})\}?", lambda m: _sign(m[1], 16), text)
    yield re.sub(r"(?:U\+|0x)0*([0-9a-fA-F]{2,6})\s*", lambda m: _sign(m[1], 16), text)
    for base in (2, 8, 10, 16):
        number = rf"[{string.hexdigits[:base]}]+"
        for run in re.finditer(rf"\b{number}(?:[\s,;:-]+{number}\b){{2,}}", text):
            yield "".join(_sign(given, base) for given in re.findall(number, run[0]))
    codes: list[tuple[str, Callable[[str], bytes]]] = []
    codes += [(code, binascii.a2b_uu) for code in _uuencoded(text)]
    decoders: tuple[Callable[[str], bytes], ...]
    decoders = (_base32, base64.b64decode, base64.b85decode, base64.a85decode)
    for code in re.findall(r"[!-~]{5,}", text):
        for decode in decoders:
            forms = (code, code[::-1], code.rstrip("?.,:;!)"), code.strip("()?:"))
            codes += [(form + "=" * (-len(form) % 4), decode) for form in dict.fromkeys(forms)]
    for code, read in codes:
        try:
            yield read(code).decode()
        except (ValueError, binascii.Error):
            continue


def _base32(code: str) -> bytes:
    bare = code.upper().rstrip("=")
    return base64.b32decode(bare + "=" * (-len(bare) % 8))


def _uuencoded(text: str) -> Iterator[str]:
    """Yield the parts of a text that may be uuencoded: a sign for the length, then so many."""
    for run in re.findall("[ -`]{6,}", text):
        for at, sign in enumerate(run):
            end = at + 1 + 4 * -(-(ord(sign) - 32) // 3)
            if ord(sign) - 32 >= SHORTEST and end <= len(run):
                yield run[at:end]


def _sign(digits: str, base: int) -> str:
    code = int(digits, base) if len(digits) < MOST_DIGITS else 0
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else ""


def _shuffled(words: Sequence[str], sought: str) -> bool:
    """Return whether some words in a row have exactly the letters of the answer."""
    wanted = sorted(sought)
    for start in range(len(words)):
        made = ""
        for word in words[start:]:
            made += word
            if len(made) >= len(sought):
                break
        if len(made) == len(sought) and sorted(made) == wanted:
            return True
    return False


def _alike(word: str, sought: str) -> bool:
    """Return whether a word that the corpus does not have is spelled or sounds like the answer.

    >>> _alike("rawlloh", "rollo"), _alike("frankreich", "france"), _alike("bread", "rollo")
    (True, True, False)
    """
    if len(word) < 3:
        return False
    same = next((i for i, (a, b) in enumerate(zip(word, sought, strict=False)) if a != b), None)
    shared = min(len(word), len(sought)) if same is None else same
    back = next(
        (i for i, (a, b) in enumerate(zip(word[::-1], sought[::-1], strict=False)) if a != b),
        min(len(word), len(sought)),
    )
    close = max(shared, back) >= max(SHORTEST, (2 * len(sought) + 2) // 3 - 1)
    inside = sought in word or (len(word) >= SHORTEST and word in sought)
    return close or inside or _within(word, sought) or _sound(word) == _sound(sought)


def _within(word: str, sought: str) -> bool:
    """Return whether the letters of the answer stand in a word in order, or nearly all of them."""
    if len(word) > 3 * len(sought) + 2:
        return False
    row = [0] * (len(sought) + 1)  # longest common subsequence
    for c in word:
        previous = 0
        for i, d in enumerate(sought, start=1):
            previous, row[i] = row[i], previous + 1 if c == d else max(row[i], row[i - 1])
    missing = 1 if len(word) <= len(sought) + 1 else 0
    return row[-1] >= len(sought) - missing


def _sound(word: str) -> str:
    """Return a word's consonants, those that sound alike as one, none twice in a row."""
    said = re.sub(r"ph", "f", re.sub(r"[ckq]h?|x", "k", word))
    said = said.translate(str.maketrans("zvdgj", "sftkk", "aeiouywh"))
    return word[0] * (word[0] in "aeiou") + re.sub(r"(.)\1+", r"\1", said)
