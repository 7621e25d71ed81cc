"""Formulas for a terminal: LaTeX as lines of plain text."""

from __future__ import annotations

import re

SIGNS = {
    "ge": ">=",
    "le": "<=",
    "ne": "!=",
    "pm": "+-",
    "sim": "~",
    "propto": "~",
    "succ": ">",
    "cdot": "*",
    "mid": "|",
    "leftarrow": "<-",
    "wedge": "and",
    "vee": "or",
    "left": "",
    "right": "",
    "quad": "\t",
    "frac": r"\frac",
}
"""What a LaTeX command is in plain text; others, such as `gamma`, are their names."""
FRACTION = re.compile(r"\\frac\{([^{}]*)\}\{([^{}]*)\}")


def readable(latex: str) -> list[str]:
    r"""Return the lines of a formula in LaTeX as text."""
    return [_line(line) for line in latex.split(r" \\ ")]


def _line(latex: str) -> str:
    r"""Return a line of a formula as text."""
    text = latex.replace(r"\{", "\x01").replace(r"\}", "\x02").replace(r"\,", " ")
    text = re.sub(r"\\bar\{(\w)\}", r"mean \1", text)
    text = re.sub(r"\\text\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\([A-Za-z]+)", lambda m: SIGNS.get(m[1], m[1]), text)
    text = re.sub(r"([_^])\{([^{}]*)\}", lambda m: m[1] + _grouped(m[2]), text)
    while FRACTION.search(text):
        text = FRACTION.sub(lambda m: _ratio(m[1], m[2]), text)
    text = re.sub(r" ?\t ?", "  ", re.sub(r" +", " ", text))
    return re.sub(r"(?<=\() | (?=\))", "", text).translate({1: "{", 2: "}"})


def _grouped(term: str) -> str:
    return term if re.fullmatch(r"\w*", term) else f"({term})"


def _ratio(above: str, below: str) -> str:
    both = f"{_grouped(above)} / {_grouped(below)}"
    return both if "(" in both else both.replace(" ", "")
