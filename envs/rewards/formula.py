"""A reward that is a formula over other rewards, and a reward that the environment noted.

A formula is parsed and evaluated here, node by node; nothing in it is ever run as a program.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from math import inf, isfinite
from typing import Annotated, Any, Literal

from coevo.envs.core.config import config, real
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.core.rewards import Reward, RewardModule, Rewards
from coevo.envs.rewards.compose import OfTerms

OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
LONGEST, DEEPEST = 1000, 50
"""Characters of a formula, and levels of brackets in it."""


@config
class Formula(OfTerms):
    """Gives the value of a formula such as `g1 * g3 - 0.5 * g2` over what other modules give.

    `+ - * /`, brackets, numbers and the names of `terms`. `shift` is added to every term, so that
    one of 0 can be divided by (DERL, arXiv 2512.13399, released code: 1e-6). A formula must have a
    value where all terms are 0 and where all are 1.
    """

    name: Literal["formula"] = "formula"
    expression: str
    """The formula."""
    terms: Mapping[str, Reward]
    """Name in the formula -> the module that it stands for."""
    shift: Annotated[float, real(0)] = 1e-6
    """Added to every term."""
    component: str = "formula"

    def __post_init__(self) -> None:
        self._check_parts()
        tree = parsed(self.expression, self.terms)
        for value in (0.0, 1.0):
            self._value(tree, dict.fromkeys(self.terms, value))

    def paid(self, terms: Mapping[str, float]) -> float:
        return self._value(parsed(self.expression, self.terms), terms)

    def _value(self, tree: ast.expr, terms: Mapping[str, float]) -> float:
        try:
            value = evaluated(tree, {name: g + self.shift for name, g in terms.items()})
        except (ZeroDivisionError, OverflowError):
            value = inf
        if not isfinite(value):
            raise ConfigError(f"formula {self.expression!r} has no finite value at {dict(terms)}")
        return value


def parsed(text: str, names: Mapping[str, Any]) -> ast.expr:
    """Return the tree of a formula.

    Raises:
        ConfigError: it is none, or holds anything but numbers, names and the four operations.

    >>> parsed("g1 * (g2", {"g1": 0, "g2": 0})
    Traceback (most recent call last):
    coevo.envs.core.errors.ConfigError: formula 'g1 * (g2' cannot be read: '(' was never closed
    """
    if len(text) > LONGEST:
        raise ConfigError(f"a formula has at most {LONGEST} characters, not {len(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else type(error).__name__
        raise ConfigError(f"formula {text!r} cannot be read: {reason}") from None
    _check(tree, text, names, DEEPEST)
    return tree


def _check(node: ast.expr, text: str, names: Mapping[str, Any], levels: int) -> None:
    if not levels:
        raise ConfigError(f"formula {text[:60]!r} is nested more than {DEEPEST} levels deep")
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
        _check(node.left, text, names, levels - 1)
        _check(node.right, text, names, levels - 1)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        _check(node.operand, text, names, levels - 1)
    elif isinstance(node, ast.Name):
        if node.id not in names:
            raise unknown(f"term of formula {text!r}", node.id, names)
    elif not isinstance(node, ast.Constant) or type(node.value) not in (int, float):
        raise ConfigError(
            f"formula {text!r} holds {ast.unparse(node)!r}: numbers, terms and + - * / are allowed"
        )


def evaluated(node: ast.expr, terms: Mapping[str, float]) -> float:
    """Return the value of a tree that `parsed` gave.

    >>> evaluated(parsed("-a / 4 + 1", {"a": 0}), {"a": 2.0})
    0.5
    """
    if isinstance(node, ast.BinOp):
        operation = OPERATIONS[type(node.op)]
        return operation(evaluated(node.left, terms), evaluated(node.right, terms))
    if isinstance(node, ast.UnaryOp):
        return -evaluated(node.operand, terms)
    if isinstance(node, ast.Name):
        return terms[node.id]
    assert isinstance(node, ast.Constant) and isinstance(node.value, int | float)  # by _check
    return float(node.value)


@config
class Noted(RewardModule):
    """Gives a number that the environment noted with the reply, `turn.notes[key]`; 0 without."""

    name: Literal["noted"] = "noted"
    key: str = "score"
    """Of the note."""

    @property
    def component(self) -> str:
        return f"noted_{self.key}"

    @property
    def range(self) -> tuple[float, float]:
        return (-inf, inf)

    def score_turn(self, episode: Episode, turn: Turn) -> Rewards:
        noted = turn.notes.get(self.key)
        known = isinstance(noted, bool | int | float)
        return {turn.agent: float(noted) if known and noted is not None else 0.0}
