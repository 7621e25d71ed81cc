"""What the site adds to Sphinx: formulas as MathML, groups in the sidebar, safe docstrings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import is_dataclass
from html import escape
from typing import Any

from docutils.nodes import Element, SkipNode
from latex2mathml.converter import convert
from sphinx.application import Sphinx

LATEX = re.compile(
    r"\\(?!(?:frac|sum|prod|log|exp|min|max|cos|text|quad|left|right|bar|alpha|beta|gamma|delta|"
    r"epsilon|eta|theta|kappa|lambda|pi|rho|sigma|tau|ge|le|ne|in|pm|sim|propto|succ|cdot|mid|"
    r"leftarrow|wedge|vee|dots|lceil|rceil|uparrow)(?![A-Za-z]))([A-Za-z]{2,})"
)
"""A command that LaTeX lacks, which stands for its own word."""
FUNCTION = re.compile(r"(<mi>(?:log|exp|cos)</mi>)(?!<mo[^>]*>&#x00028;)")


def mathml(latex: str, display: str) -> str:
    r"""Return a formula as MathML.

    >>> mathml(r"\mean R", "inline").count("mean")
    1
    """
    drawn = convert(LATEX.sub(r"\\operatorname{\1}", latex), display=display)
    return FUNCTION.sub(r'\1<mspace width="0.2em"></mspace>', drawn)


def inline_formula(translator: Any, node: Element) -> None:
    """Write a formula in a line as MathML, which browsers show without a script."""
    translator.body.append(mathml(node.astext(), "inline"))
    raise SkipNode


def formula(translator: Any, node: Element) -> None:
    """Write a formula of its own, in a box that scrolls where it is too wide."""
    translator.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>')
    raise SkipNode


def head_of_group(tree: str, groups: Mapping[str, list[str]]) -> str:
    """Return the sidebar with the name of a group before the first page of the group.

    >>> tree = '<li class="toctree-l2"><a class="reference internal" href="#">grpo</a></li>'
    >>> head_of_group(tree, {"Groups": ["grpo"]}).partition("</li>")[0]
    '<li class="group">Groups'
    """
    for group, (first, *_) in groups.items():
        entry = rf'(<li class="toctree-l2[^"]*"><a [^>]*>{re.escape(first)}</a>)'
        tree = re.sub(entry, rf'<li class="group">{escape(group)}</li>\1', tree, count=1)
    return tree


def literal(*event: Any) -> None:
    """Make a docstring safe for reStructuredText: code in backticks, no stray markup."""
    what, lines = event[1], event[-1]
    if what == "property" and lines:
        lines[0] = lines[0].replace(": ", ", namely ")  # else Napoleon finds a type
    lines[:] = [
        re.sub(r"`([^`]*)`|([*|])", lambda m: f"``{m[1]}``" if m[1] else f"\\{m[2]}", line)
        if not line.lstrip().startswith((">>>", "..."))
        else line
        for line in lines
    ]


def signature(app: Sphinx, what: str, name: str, thing: Any, *rest: Any) -> tuple[str, str] | None:
    """Return no signature for a configuration, whose fields are listed below it."""
    return ("", "") if what == "class" and is_dataclass(thing) else None


def add_to(app: Sphinx, groups: Mapping[str, list[str]]) -> None:
    """Connect all of it."""

    def sidebar(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
        if "furo_navigation_tree" in context:
            context["furo_navigation_tree"] = head_of_group(context["furo_navigation_tree"], groups)

    app.add_html_math_renderer("mathml", (inline_formula, None), (formula, None))
    app.connect("html-page-context", sidebar, priority=900)
    app.connect("autodoc-process-docstring", literal, priority=400)
    app.connect("autodoc-process-signature", signature)
