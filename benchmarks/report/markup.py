"""Pieces of HTML. Whatever is not an `Html` is text, and is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

MINUS = "\N{MINUS SIGN}"


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def escaped(value: object) -> Html:
    """Give HTML for a value; None is a dash.

    >>> escaped("a < b"), escaped(None), escaped(Html("<b>b</b>"))
    ('a &lt; b', '–', '<b>b</b>')
    """
    if isinstance(value, Html):
        return value
    return Html("–" if value is None else html.escape(str(value)))


def prose(text: str) -> Html:
    """Give HTML for a sentence in which code stands between backticks.

    >>> prose("`coevo compare` & more")
    '<code>coevo compare</code> &amp; more'
    """
    return Html(re.sub("`([^`]+)`", r"<code>\1</code>", escaped(text)))


def joined(*parts: object) -> Html:
    """Put pieces after each other."""
    return Html("".join(escaped(part) for part in parts))


def tag(name: str, *inside: object, **attributes: object) -> Html:
    """Write an element; `class_` gives the class, and an underline in a name is a hyphen.

    >>> tag("p", "1 < 2", class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{given}>{joined(*inside)}</{name}>")


def table(
    caption: str,
    columns: Sequence[object],
    rows: Sequence[Sequence[object]],
    *,
    words: Sequence[int] = (0,),
) -> Html:
    """Write a table that scrolls by itself where it is wider than the page.

    Args:
        caption: what it shows.
        columns: heads.
        rows: cells; the first of a row is its head.
        words: columns that are read and not compared: set to the left.
    """

    def side(column: int) -> str | None:
        return None if column in words else "number"

    heads = [tag("th", c, scope="col", class_=side(i)) for i, c in enumerate(columns)]
    body = []
    for row in rows:
        first, *rest = row
        own = [
            cell if _is_cell(cell) else tag("td", cell, class_=side(i))
            for i, cell in enumerate(rest, 1)
        ]
        body.append(tag("tr", tag("th", first, scope="row"), *own))
    inner = tag(
        "table",
        tag("caption", tag("span", caption)),
        tag("thead", tag("tr", *heads)),
        tag("tbody", *body),
    )
    return tag("div", inner, class_="wide", tabindex=0, role="region", aria_label=caption)


def _is_cell(value: object) -> bool:
    return isinstance(value, Html) and value.startswith("<td")


def section(identity: str, title: str, *inside: object) -> Html:
    """Write a part of the page with its heading; one without content is left out."""
    body = joined(*inside)
    if not body:
        return Html("")
    head = tag("h2", title, id=f"{identity}-title")
    return tag("section", head, body, id=identity, aria_labelledby=f"{identity}-title")


def folded(title: str, *inside: object) -> Html:
    """Write what is shown on demand."""
    return tag("details", tag("summary", title), *inside)


def facts(pairs: Sequence[tuple[str, object]]) -> Html:
    """Write names with values; those without a value are left out."""
    items = [tag("div", tag("dt", k), tag("dd", v)) for k, v in pairs if v not in (None, "")]
    return tag("dl", *items, class_="facts") if items else Html("")


def listed(names: Sequence[str]) -> str:
    """Put names into a title.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


# ---- Numbers -----------------------------------------------------------------------------------


def number(value: object, digits: int = 3) -> str:
    """Write a number for a table.

    >>> number(0.12345), number(-2.0), number(-0.0001), number(None), number(123456)
    ('0.123', '−2.000', '0.000', '–', '123,456')
    """
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    text = f"{value:,}" if isinstance(value, int) else f"{round(value, digits) + 0.0:,.{digits}f}"
    return text.replace("-", MINUS)


def interval(bounds: object, digits: int = 3) -> str:
    """Write an interval.

    >>> interval([0.1, 0.25]), interval([None, None]), interval(None)
    ('[0.100, 0.250]', '–', '–')
    """
    if not isinstance(bounds, list | tuple) or len(bounds) != 2 or None in bounds:
        return "–"
    return f"[{number(bounds[0], digits)}, {number(bounds[1], digits)}]"


def percent(value: float | None) -> str:
    """Write a share.

    >>> percent(0.125), percent(None)
    ('12.5 %', '–')
    """
    return "–" if value is None else f"{100 * value:.1f} %"


def duration(seconds: float | None) -> str:
    """Write a time.

    >>> duration(42.4), duration(1805), duration(7300), duration(None)
    ('42 s', '30 min', '2 h 2 min', '–')
    """
    if seconds is None:
        return "–"
    if seconds < 100:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
