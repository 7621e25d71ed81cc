r"""The one place where text of one seat, or of a document, becomes part of another seat's prompt.

Whatever a seat is shown of others goes through `quote` or `quote_line`, in every task, every style
and every request to a judge. No text can leave its quotation, whatever it holds:

- `quote` marks every line with `| `. A line of a prompt without the mark is the environment's.
- `quote_line` sets text between straight quotation marks, on one line and with none inside. Where
  a prompt has room for little, `bare` leaves the marks out around a few plain words or a number,
  which have no punctuation to build a prompt with.

Inside, tags, answer brackets and special-token markers become look-alikes, so that a server that
tokenises prompts itself reads no control token. Characters that nobody sees, or that change how
others are seen, are shown as escapes (`\u200b`): control, format, text direction, private use,
unassigned, lone halves of surrogate pairs, variation selectors and blank letters.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

MARK = "| "
"""Begins every line of a block that was quoted."""
NOTHING = "(nothing)"
"""Stands, without a mark, where there is nothing to quote."""

_LOOKALIKES = str.maketrans(
    {c: like for cs, like in (("<\uff1c\ufe64", "‹"), (">\uff1e\ufe65", "›")) for c in cs}
    | {c: like for cs, like in (("[\uff3b\ufe47", "⟦"), ("]\uff3d\ufe48", "⟧")) for c in cs}
)
"""With what compatibility normalisation, which some tokenizers apply, would turn into them."""
_QUOTES = str.maketrans({'"': "'", "\uff02": "'"})
_HIDDEN = frozenset(("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"))
"""Unicode categories of what is not shown."""
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
"""What has another category and is not seen all the same."""
_TOKEN = re.compile(r"<[/|]{0,2}[A-Za-z_]\w{0,30}[|/]?>|\[/?(?:INST|SYS)\]|<</?SYS>>", re.ASCII)
"""Tags and special tokens, as far as source can hold them by accident."""
_BLANKS = re.compile(r"[ \t\n\r]+")
_UNUSUAL = re.compile(r"[^\x00-\x7e]+")
_PLAIN = re.compile(r"(?:[^\W_]|(?<=\w)[-'](?=\w)|(?<=\d)[.,/](?=\d)|\A[-+](?=\d)| (?=\w))+")
_WORDS_OF_PROMPTS = frozenset(("none", "nothing"))


def quote(text: str, limit: int = 4000) -> str:
    r"""Return text as a block of marked lines, cut to `limit` characters and an ellipsis.

    >>> print(quote("It is 9.\n\nEvaluation:\nSystem: [bet] </offer>"))
    | It is 9.
    |
    | Evaluation:
    | System: ⟦bet⟧ ‹/offer›
    >>> quote(" ")
    '(nothing)'
    """
    begun = visible(text.strip()[: 2 * limit + 2])  # a line end may be two characters
    lines = _cut(begun.translate(_LOOKALIKES), limit).split("\n")
    return "\n".join((MARK + line).rstrip() for line in lines) if any(lines) else NOTHING


def code_block(text: str) -> str:
    r"""Return source from a file as a block of code, to stand in a prompt as it is.

    Unlike a quotation it keeps brackets and comparisons; what looks like a tag, a special token or
    the end of the block becomes a look-alike. Text of seats is quoted instead.

    >>> print(code_block("x: List[int] = a < b  # </s><|end|>\n"))
    ```python
    x: List[int] = a < b  # ‹/s›‹|end|›
    ```
    """
    return f"```python\n{code_line(text.expandtabs(4).rstrip())}\n```"


def code_line(text: str) -> str:
    """Return text from a file that speaks of code; see `code_block`.

    >>> code_line("a list cost[][] and [INST] <think>")
    'a list cost[][] and ⟦INST⟧ ‹think›'
    """
    return _TOKEN.sub(lambda m: m[0].translate(_LOOKALIKES), visible(text).replace("```", "'''"))


def own_words(text: str, limit: int = 4000) -> str:
    r"""Return text that was written by a model to stand in prompts as an instruction, unquoted.

    It can steer whoever reads it, which is what it is for; it cannot forge tags, answers or special
    tokens.

    >>> own_words(" Look first.\n<|end|>[bet] ")
    'Look first.\n‹|end|›⟦bet⟧'
    """
    return _cut(visible(text.strip()[: 2 * limit + 2]).translate(_LOOKALIKES), limit)


def quote_line(text: str, limit: int = 60, bare: bool = False) -> str:
    r"""Return text on one line between quotation marks, cut to `limit` characters and an ellipsis.

    Args:
        text: anything.
        limit: characters of it, marks not counted.
        bare: leave the marks out around plain words and numbers.

    >>> quote_line('He said "no".\nRound 9'), quote_line("-3", bare=True), quote_line("7: 9")
    ('"He said \'no\'. Round 9"', '-3', '"7: 9"')
    """
    line = visible(_BLANKS.sub(" ", text).strip(" ")[: limit + 1])
    line = _cut(line.translate(_LOOKALIKES).translate(_QUOTES), limit)
    plain = bare and _PLAIN.fullmatch(line) and line.casefold() not in _WORDS_OF_PROMPTS
    return line if plain else f'"{line}"'


def visible(text: str) -> str:
    r"""Return text in which everything can be seen; line ends become line feeds, tabs blanks.

    >>> visible("fo\u200bld\r\n\x1b[31m\ud83d")
    'fo\\u200bld\n\\u001b[31m\\ud83d'
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(map(_seen, text))


def json_text(data: Any, **layout: Any) -> str:
    r"""Return JSON that people can read, in which whatever is not seen is written as its escape.

    No text in it ends a line, steers a terminal or lacks a UTF-8 form.

    >>> print(json_text({"said": "\u597d\u2028\x9b\x7f\ud83d"}))
    {"said": "好\u2028\u009b\u007f\ud83d"}
    """
    text = json.dumps(data, ensure_ascii=False, **layout)
    if text.isascii() and "\x7f" not in text:
        return text
    return _UNUSUAL.sub(_escaped, text)


def encodable(text: str) -> str:
    r"""Return text that UTF-8 can spell: lone halves of surrogate pairs become escapes.

    >>> encodable("a\ud83d")
    'a\\ud83d'
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _escaped(found: re.Match[str]) -> str:
    run = found[0]
    if run.isprintable():
        return run
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in run)


def _seen(character: str) -> str:
    hidden = unicodedata.category(character) in _HIDDEN or _BLANK.match(character)
    if character == "\n" or not hidden:
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + "…"
