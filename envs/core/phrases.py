"""How replies word a choice around its mark: what leads to it, rules it out, or only lists it.

Every pattern looks at a bounded stretch of text, so that work grows with the length of a reply.
"""

# ruff: noqa: RUF001  # replies hold the quotation marks and brackets of many languages

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

NEAR = 240
"""Characters before or after a place that are looked at."""
MOST = 64
"""Places with words that lead to a choice that are looked at, from the end of a reply."""

_OWN = "(?:my|the|your|our|a|final|best|next|chosen|selected|last|only|correct|current|legal)"
_NOUN = (
    "(?:answer|move|choice|action|decision|response|reply|selection|pick|guess|bid|offer|vote"
    "|verdict|score|rating|output|option)"
)
_WILL = (
    "(?:['’]ll|['’]d like to|['’]d|['’]m going to|['’]ve decided to|(?: (?:would like to"
    "|am going to|have decided to|decided to|decide to|want to|choose to|have to|think i['’]ll"
    "|think i will|think i should|will|would|shall|should|must|can)))"
)
_VERB = (
    "(?:choose|chose|choosing|play|playing|pick|picking|select|selecting|take|taking|say|answer"
    "|bid|guess|name|opt for|go with|going with|go for|going for|vote for|vote|move|make|place"
    "|give|catch|offer|report|reply|respond with|stick with)"
)
_LABEL = f"(?:{_OWN} ){{0,4}}{_NOUN}s?"
_IS = "(?:is|are|will be|would be|shall be)(?: to)?"
_LED = re.compile(
    rf"(?<!\w)(?:{_LABEL}(?: {_IS}\b|[\"'*_`’”)\]]{{0,8}}\s{{0,3}}[:=：])"
    rf"|(?:i{_WILL}?|let['’]?s|let us|let me|we) (?:(?:also|now|simply|just|to) )?"
    rf"(?P<verb>{_VERB})\b(?: {_LABEL}\b)?)",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"(?:so|ok|okay|well|thus|therefore|hence|then|sure|yes|now|alright|right)\b[,:!. -]*"
    rf"|(?:i{_WILL}?|let['’]?s|let us|let me|we|it['’]s|it is|please)\b |to |{_VERB} "
    rf"|{_LABEL}(?: {_IS} |\W{{1,8}})|\d{{1,3}}[.)] ",
    re.IGNORECASE,
)
_TAIL = re.compile(
    rf"(?:,? (?:it is|please|is (?:what i \w+|{_LABEL})|for me|i (?:say|think|guess)|now)"
    r"|\s?\([^()]{0,80}[a-z][^()]{0,80}\))\Z",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[.,;:!?。，！？；](?=\s|\Z|[\"'*_`)\]}”’»])"
    r"|\s(?:because|since|as|so|to|for|and|but|which|with|in|on|this|now|again|here)\b"
    r"|\s[–—-]\s|[\"*`)\]}”’»]|\s\(",
    re.IGNORECASE,
)
_LATEX = re.compile(r"\\(?:text|mathrm|textbf|mathbf|textit|texttt|boxed)\s?\{([^{}]{0,200})\}")
_MARKUP = " \t\r\"'`*_~$“”„‚‘’"
_ENDS = _MARKUP + ".!?\n"
_AROUND = _MARKUP + "«»‹›<>()[]{}［］【】「」『』（）.,;:!?。，！？；：…—–|#=\\/•·"
_EDGES = re.compile(r"\A(?:[^\w+.-]|[+.-](?!\d))+|[^\w]+\Z")
_WITH_VERB = rf"(?: (?:to|a|the|be|going|with|for|choice|want|option|move|{_VERB})){{0,3}}"
_RULED_OUT = re.compile(
    r"(?:\b(?:not|never|cannot|no|nor|neither|without|except|avoid|avoiding|against|instead of"
    r"|rather than|over|than|reject|rejecting|rule out|ruled out|unlike)|n['’]t)"
    rf"{_WITH_VERB}[\s\"'*_`(“‘]{{0,4}}\Z"
    r"|\bprefer\w*\s[^.\n]{0,60}[\])]\W{0,3}to\s\Z",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"(?:[\s,;/|&+*_`\"'•·…→()（），、；.:-]|->|\b(?:or|and|then|to|vs|either|oder|und|ou|et|o|y)\b"
    r"|或|和|\b\d{1,3}[.)])*",
    re.IGNORECASE,
)
_BULLET = re.compile(r"[ \t]*(?:[-*•·–+>]|\(?(?:\d{1,3}|[a-z])[.)])?[ \t*_`\"'(]*\Z", re.IGNORECASE)
_ALONE = re.compile(r"[ \t*_`\"'.,;:!)]*(?:\n|\Z)")


def led_to(said: str) -> Iterator[tuple[int, int, list[str]]]:
    """Return where words such as `my move is` are, and what may be the move behind them.

    Words inside of quotation marks may be those of others, and lead to nothing.

    >>> list(led_to("My final answer is bet, as I hold a king."))
    [(0, 18, ['bet, as I hold a king.', 'bet, as I hold a king', 'bet,', 'bet'])]
    """
    for found in deque(_LED.finditer(said), MOST):
        line = said[max(0, found.start() - NEAR) : found.start()].rpartition("\n")[2]
        if line.count('"') % 2 == 0 or '"' in found[0]:  # a key of JSON is quoted
            behind = _behind(said, found.end())
            if found["verb"]:  # which may be a part of the move: play 1
                behind += _behind(said, found.start("verb"))
            yield found.start(), found.end(), behind


def _behind(said: str, start: int) -> list[str]:
    rest = said[start : start + NEAR].lstrip(" ").partition("\n")[0]
    cuts = [cut.start() for cut in _CLAUSE.finditer(rest)][:8]
    return [rest, *(rest[:cut] for cut in reversed(cuts))]


def unwrapped(text: str) -> Iterator[str]:
    """Return a text with less and less around it: markup, then words that lead to a move.

    The brackets of quotations in prompts stay: what somebody else said is no choice.

    >>> "bet" in unwrapped("**So I choose to play `bet`!**"), "bet" in unwrapped('"⟦bet⟧"')
    (True, False)
    """
    yield text
    if "⟦" in text or "⟧" in text:
        return
    if "\\" in text:
        text = _LATEX.sub(r"\1", _LATEX.sub(r"\1", text))
    for _ in range(7):
        yield text.strip(_MARKUP)
        plain = text.strip(_AROUND)
        yield plain
        yield _TAIL.sub("", plain)
        yield _TAIL.sub("", text.strip(_ENDS)).strip(_MARKUP)
        yield _EDGES.sub("", text)
        led = _STEP.match(plain)
        if led is None:
            return
        text = plain[led.end() :]


def ruled_out(said: str, start: int) -> bool:
    """Return whether the words before a place rule out what stands there.

    >>> ruled_out("I will not play [bet]", 16), ruled_out("I am not sure: [bet]", 15)
    (True, False)
    """
    return _RULED_OUT.search(said[max(0, start - NEAR) : start]) is not None


def listed(said: str, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether two marks, given by start and end, are neighbours in one list.

    >>> listed("[a], [b]", (0, 3), (5, 8)), listed("[a]? No, [b]", (0, 3), (9, 12))
    (True, False)
    """
    between = said[one[1] : other[0]]
    if len(between) > NEAR:
        return False
    _, *gap, before = between.split("\n") if "\n" in between else ("", between)
    if "\n" in between and _begins_line(said, one[0]) and _BULLET.match(before):
        alone = _ALONE.match(said, one[1]) and _ALONE.match(said, other[1])
        return not "".join(gap).strip() and bool(before.strip() or alone)
    return bool(_BETWEEN.fullmatch(between)) and ("\n" not in between or between.strip() != "")


def _begins_line(said: str, start: int) -> bool:
    return _BULLET.match(said[max(0, start - NEAR) : start].rpartition("\n")[2]) is not None
