"""Ways to hide an answer in a question, from spelling to ciphers, and what a gate says of it."""

import base64
import binascii
import codecs
import html
import string
from urllib.parse import quote

import numpy as np

from coevo.envs.search.gate import Gate
from coevo.envs.search.proposals import GateSpec, Proposal

ABC = string.ascii_lowercase
PILOTS = (
    "alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november oscar "
    "papa quebec romeo sierra tango uniform victor whiskey xray yankee zulu"
)
NAMES = (
    "ay bee see dee ee eff gee aitch eye jay kay el em en oh pee cue ar ess tee you vee doubleyou "
    "ex why zed"
)
DASHES = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- "
    "-..- -.-- --.."
)
WORDS = "time house water people light other under never about paper"
NATO, SPOKEN, MORSE, FILL = (given.split() for given in (PILOTS, NAMES, DASHES, WORDS))
KEYS = ["abc", "def", "ghi", "jkl", "mno", "pqrs", "tuv", "wxyz"]
ROWS = ["qwertyuiop", "asdfghjkl", "zxcvbnm"]


def letters(map_, join=" "):
    return lambda a: join.join(map_(c) for c in a.lower() if c in ABC)


def place(c):
    return ABC.index(c)


def shifted(by):
    return lambda a: "".join(
        (ABC if c.islower() else ABC.upper())[(place(c.lower()) + by) % 26]
        if c.lower() in ABC
        else c
        for c in a
    )


def table(frm, to):
    return lambda a: a.lower().translate(str.maketrans(frm, to))


def offset(start, small=True):
    return letters(lambda c: chr(start + place(c)), "")


def key(c, step):
    row = next(r for r in ROWS if c in r)
    return row[(row.index(c) + step) % len(row)]


def tap(c):
    n = ABC.replace("j", "").index(c.replace("j", "i"))
    return f"{n // 5 + 1}{n % 5 + 1}"


def digit(c):
    return next(n for n, k in enumerate(KEYS, 2) if c in k)


def pig(a):
    return " ".join(w[1:] + w[0].lower() + "ay" for w in a.split())


def half(a):
    return len(a) // 2


SPELLED = {
    "as it is": str,
    "capitals": str.upper,
    "alternate capitals": lambda a: "".join(
        c.upper() if i % 2 else c.lower() for i, c in enumerate(a)
    ),
    "spaced": " ".join,
    "dots": ".".join,
    "dashes": "-".join,
    "underscores": "_".join,
    "slashes": " / ".join,
    "commas": ", ".join,
    "plus": " + ".join,
    "stars": "*".join,
    "pipes": "|".join,
    "new lines": "\n".join,
    "tabs": "\t".join,
    "double blanks": "  ".join,
    "in brackets": lambda a: "".join(f"[{c}]" for c in a),
    "in tags": lambda a: " ".join(f"<{c}>" for c in a),
    "quoted": lambda a: " ".join(f"'{c}'" for c in a),
    "two halves": lambda a: f"{a[: half(a)]} {a[half(a) :]}",
    "halves with a dash": lambda a: f"{a[: half(a)]}-{a[half(a) :]}",
    "halves with words between": lambda a: f"{a[: half(a)]} and then {a[half(a) :]}",
    "halves the other way round": lambda a: f"{a[half(a) :]} after {a[: half(a)]}",
    "thirds": lambda a: " ... ".join(a[i : i + 2] for i in range(0, len(a), 2)),
    "with the": lambda a: f"the{a}",
    "plural": lambda a: f"{a}s",
    "possessive": lambda a: f"{a}'s",
    "in a longer word": lambda a: f"xx{a.lower()}xx",
    "with an ending": lambda a: f"{a}osaurus",
    "a beginning": lambda a: f"{a[:-1]}...",
    "an end": lambda a: f"...{a[1:]}",
    "doubled letters": lambda a: "".join(c + c for c in a),
    "tripled letters": lambda a: "".join(c * 3 for c in a),
    "one letter more": lambda a: a[:2] + a[1] + a[2:],
    "one letter less": lambda a: a[:2] + a[3:],
    "one letter changed": lambda a: a[:2] + ("u" if a[2] != "u" else "i") + a[3:],
    "two letters swapped": lambda a: a[0] + a[2] + a[1] + a[3:],
    "last letters swapped": lambda a: a[:-2] + a[-1] + a[-2],
    "without vowels": lambda a: "".join(c for c in a if c.lower() not in "aeiou"),
    "vowels as stars": lambda a: "".join("*" if c.lower() in "aeiou" else c for c in a),
    "vowels as dashes": lambda a: "".join("-" if c.lower() in "aeiou" else c for c in a),
    "vowels as x": lambda a: "".join("x" if c.lower() in "aeiou" else c for c in a),
    "vowels turned": table("aeiou", "eioua"),
    "vowels turned back": table("aeiou", "uaeio"),
    "letters between": lambda a: "x".join(a.lower()),
    "digits between": lambda a: "".join(f"{c}{i % 10}" for i, c in enumerate(a)),
    "ub before vowels": lambda a: "".join(f"ub{c}" if c in "aeiou" else c for c in a.lower()),
    "pig Latin": pig,
    "last letter first": lambda a: a[-1].lower() + a[:-1].lower(),
    "turned round": lambda a: a[2:].lower() + a[:2].lower(),
    "reversed": lambda a: a[::-1],
    "reversed and spaced": lambda a: " ".join(a[::-1]),
    "reversed in dots": lambda a: ".".join(a[::-1]),
    "sorted": lambda a: "".join(sorted(a.lower())),
    "shuffled": lambda a: a.lower()[1::2] + a.lower()[::2],
    "sounds": lambda a: a.lower().replace("o", "oh").replace("c", "k").replace("f", "ph"),
}
SIGNS = {
    "zero width": "\u200b".join,
    "joiners": "\u2060".join,
    "soft hyphens": "\u00ad".join,
    "hangul filler": "\u3164".join,
    "braille blanks": "\u2800".join,
    "variation selectors": "\ufe0f".join,
    "invisible tags": lambda a: "".join(chr(0xE0000 + ord(c)) for c in a if c.isascii()),
    "private use": lambda a: "\ue000".join(a),
    "right to left": lambda a: f"\u202e{a[::-1]}\u202c",
    "isolates": lambda a: "".join(f"\u2066{c}\u2069" for c in a),
    "control characters": "\x07".join,
    "Cyrillic": lambda a: a.translate(str.maketrans("aeopcxyiAEOPC", "аеорсхуіАЕОРС")),
    "all Cyrillic": table("abvgdezijklmnoprstufxy", "абвгдезийклмнопрстуфхы"),
    "Greek": lambda a: a.translate(str.maketrans("oviAEO", "ονιΑΕΟ")),
    "all Greek": table("abgdezhiklmnoprstufxy", "αβγδεζηικλμνοπρστυφξψ"),
    "full width": lambda a: "".join(chr(ord(c) + 0xFEE0) for c in a if "!" <= c <= "~"),
    "bold": offset(0x1D41A),
    "script": offset(0x1D4EA),
    "Fraktur": offset(0x1D586),
    "double-struck": offset(0x1D552),
    "monospace": offset(0x1D68A),
    "circled": offset(0x24D0),
    "in parentheses of one sign": offset(0x249C),
    "squared": offset(0x1F130),
    "negative squares": offset(0x1F170),
    "regional indicators": offset(0x1F1E6),
    "small capitals": table("abcdegiklmnoprtuvwz", "ᴀʙᴄᴅᴇɢɪᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡᴢ"),
    "superscripts": table("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"),
    "upside down": lambda a: table("abcdefghijklmnopqrstuvwxyz", "ɐqɔpǝɟƃɥᴉɾʞlɯuodbɹsʇnʌʍxʎz")(a)[
        ::-1
    ],
    "runes": table("abdefghiklmnoprstu", "ᚨᛒᛞᛖᚠᚷᚺᛁᚲᛚᛗᚾᛟᛈᚱᛊᛏᚢ"),
    "braille": letters(lambda c: chr(0x2801 + place(c)), ""),
    "accents": lambda a: "".join(c + "\u0301" for c in a),
    "struck out": lambda a: "".join(c + "\u0336" for c in a),
    "hooks and strokes": table("abcdefhiklortu", "ąƀçđęƒħįķłøŗţų"),
    "leet": table("oeast", "03457"),
    "more leet": table("oieastbg", "01345789"),
    "signs for letters": table("asioe", "@$!0€"),
    "emoji": letters(lambda c: chr(0x1F600 + place(c)), ""),
}
CODES = {
    "rot13": lambda a: codecs.encode(a, "rot13"),
    "rot1": shifted(1),
    "rot3": shifted(3),
    "rot7": shifted(7),
    "rot25": shifted(25),
    "rot3 and reversed": lambda a: shifted(3)(a)[::-1],
    "the alphabet backwards": table(ABC, ABC[::-1]),
    "the next key": letters(lambda c: key(c, 1), ""),
    "the key before": letters(lambda c: key(c, -1), ""),
    "base 64": lambda a: base64.b64encode(a.encode()).decode(),
    "base 64 in small": lambda a: base64.b64encode(a.lower().encode()).decode(),
    "base 64 without signs": lambda a: base64.b64encode(a.encode()).decode().rstrip("="),
    "base 64 of base 64": lambda a: base64.b64encode(base64.b64encode(a.encode())).decode(),
    "base 32": lambda a: base64.b32encode(a.encode()).decode(),
    "base 85": lambda a: base64.b85encode(a.encode()).decode(),
    "ascii 85": lambda a: base64.a85encode(a.encode()).decode(),
    "uuencode": lambda a: binascii.b2a_uu(a.encode()).decode().strip(),
    "hexadecimal": lambda a: a.encode().hex(),
    "hexadecimal, spaced": lambda a: a.encode().hex(" "),
    "hexadecimal with 0x": lambda a: " ".join(f"0x{b:02x}" for b in a.encode()),
    "escapes": lambda a: "".join(f"\\u{ord(c):04x}" for c in a),
    "short escapes": lambda a: "".join(f"\\x{ord(c):02x}" for c in a),
    "of Unicode": lambda a: " ".join(f"U+{ord(c):04X}" for c in a),
    "of the web": lambda a: "".join(f"&#{ord(c)};" for c in a),
    "of the web, hexadecimal": lambda a: "".join(f"&#x{ord(c):x};" for c in a),
    "percent": lambda a: "".join(f"%{ord(c):02X}" for c in a),
    "quoted-printable": lambda a: "".join(f"={ord(c):02X}" for c in a),
    "names of the web": lambda a: quote(html.escape(f"&{a};")),
    "decimal codes": lambda a: " ".join(str(ord(c)) for c in a),
    "octal codes": lambda a: " ".join(f"{ord(c):o}" for c in a),
    "binary codes": lambda a: " ".join(f"{ord(c):08b}" for c in a),
    "binary codes in a row": lambda a: "".join(f"{ord(c):08b}" for c in a),
    "places": letters(lambda c: str(place(c) + 1)),
    "places with dashes": letters(lambda c: str(place(c) + 1), "-"),
    "places from zero": letters(lambda c: str(place(c))),
    "places from behind": letters(lambda c: str(26 - place(c))),
    "places in two digits": letters(lambda c: f"{place(c) + 1:02}", ""),
    "Bacon's": letters(lambda c: f"{place(c):05b}"),
    "Bacon's in letters": letters(lambda c: f"{place(c):05b}".translate({48: "a", 49: "b"})),
    "squares": letters(tap),
    "keys of a telephone": letters(lambda c: str(digit(c)), ""),
    "keys pressed": letters(lambda c: str(digit(c)) * (KEYS[digit(c) - 2].index(c) + 1)),
    "Morse": letters(lambda c: MORSE[place(c)]),
    "Morse with slashes": letters(lambda c: MORSE[place(c)], "/"),
    "Morse in words": letters(lambda c: MORSE[place(c)].replace(".", "dit ").replace("-", "dah ")),
    "alphabet of pilots": letters(lambda c: NATO[place(c)]),
    "pilots, with dashes": letters(lambda c: NATO[place(c)], "-"),
    "names of letters": letters(lambda c: SPOKEN[place(c)]),
    "letters as in": letters(lambda c: f"{c} as in {NATO[place(c)]}", ", "),
    "first letters of words": letters(lambda c: NATO[place(c)].title()),
    "first letters of other words": letters(lambda c: f"{c}{FILL[place(c) % 10]}"),
    "last letters of words": letters(lambda c: f"{FILL[place(c) % 10]}{c}"),
    "numbers from 101": letters(lambda c: str(place(c) + 101)),
    "capitals in words": letters(lambda c: f"under{c.upper()}neath"),
    "every second word": letters(lambda c: f"{NATO[place(c)]} with"),
}
KINDS = {**SPELLED, **SIGNS, **CODES}
FRAMES = ("Who, if not {h}, was it then?", "{q} Is it {h}?", "{h}: {q}", "{q} ({h})")
PLACES = {0: "France", 3: "Rollo", 20: "Varangian", 40: "Edward the Confessor"}
"""Number of a question, and an answer that it is asked with."""


def judged(here, question, answer, document):
    """Let a gate judge whose reader says what it is told to, so that its filters stand alone."""
    given = Proposal(
        question=question, answer=answer, hops=1, queries=("a", "b"), evidence=(document,)
    )
    gate = Gate(here, GateSpec(noise=0), reader=lambda q, d: answer)
    return gate.judge(given, np.random.default_rng(0))
