"""The assembler: labels, EQU, ORG, END, comments, and arithmetic on whole numbers.

Text of a seat is never evaluated as a program: expressions have a parser of their own, and its
work is bounded.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from coevo.envs.core.errors import DataError, nearest
from coevo.envs.redcode.language import (
    MODES,
    MODIFIERS,
    OPCODES,
    CoreRules,
    Instruction,
    Warrior,
    default_modifier,
    operation,
)

T = TypeVar("T")
LONGEST = 20_000
"""Characters of a program."""
TOKENS = 60
"""Numbers, names and signs of an operand, once its constants are filled in."""
SHOWN = 40
"""Characters of a name that an error shows."""
_TOKEN = re.compile(r"\s*([0-9]{1,12}(?![\w])|[A-Za-z_]\w*|[-+*/%()])")
_WORD = re.compile(r"[A-Za-z_]\w*")
_SAME = {"CMP": "SEQ"}
_FEWEST = {"DAT": 1, "JMP": 1, "SPL": 1, "NOP": 0}
"""Operands that an opcode needs, where these are not two."""
_PSEUDO = ("EQU", "ORG", "END")
_Line = tuple[str, str, str, int]
"""Opcode, modifier, operands, number of the line in the text."""


class _Wrong(Exception):
    """A line cannot be assembled; the message says why."""


def assemble(text: str, rules: CoreRules) -> Warrior:
    """Return the warrior of a program.

    Raises:
        DataError: a line that cannot be read, with its number; or too many instructions.

    >>> from coevo.envs.redcode.language import listing
    >>> dwarf = '''step EQU 4
    ... loop ADD #step, bomb   ; where the bomb goes
    ...      MOV bomb, @bomb
    ...      JMP loop
    ... bomb DAT #0, #0'''
    >>> print(listing(assemble(dwarf, CoreRules()), 400))
    ADD.AB #4, $3
    MOV.I $2, @2
    JMP.B $-2, $0
    DAT.F #0, #0
    """
    if len(text) > LONGEST:
        raise DataError(f"the program has {len(text)} characters; at most {LONGEST} are read")
    source = _Source(rules)
    for number, line in enumerate(text.splitlines(), 1):
        if _at(number, source.add, line, number):
            break
    if not source.lines:
        raise DataError("the program has no instruction")
    code = [_at(line[3], source.instruction, line, at) for at, line in enumerate(source.lines)]
    expression, number = source.origin
    return Warrior(tuple(code), _at(number, source.start, expression))


def _at(number: int, work: Callable[..., T], *arguments: Any) -> T:
    """Do a part of the work on a line; its errors name the line."""
    try:
        return work(*arguments)
    except _Wrong as error:
        raise DataError(f"line {number}: {error}") from None


class _Source:
    """What a first reading of the lines found."""

    def __init__(self, rules: CoreRules) -> None:
        self.rules = rules
        self.lines: list[_Line] = []
        self.labels: dict[str, int] = {}
        self.constants: dict[str, Sequence[str]] = {
            "CORESIZE": [str(rules.core)],
            "MAXPROCESSES": [str(rules.tasks)],
            "MAXCYCLES": [str(rules.cycles)],
            "MAXLENGTH": [str(rules.length)],
            "MINDISTANCE": [str(rules.distance)],
        }
        self.origin = ("0", 1)
        """Expression of the first instruction to execute, and its line."""
        self.ordered = False
        """Whether ORG said so, which counts more than END."""

    def add(self, line: str, number: int) -> bool:
        """Read a line; return whether the program ends there."""
        rest, labels = line.partition(";")[0].strip(), list[str]()
        while rest:
            word = _WORD.match(rest)
            if word is None:
                raise self._no_opcode(labels, rest)
            name, rest = word[0], rest[word.end() :].lstrip()
            folded = _SAME.get(name.upper(), name.upper())
            if folded in (*OPCODES, *_PSEUDO):
                return self._statement(folded, labels, rest, number)
            labels.append(name)
            rest = rest.removeprefix(":").lstrip()
        self._place(labels)
        return False

    def _no_opcode(self, labels: Sequence[str], rest: str) -> _Wrong:
        name = (labels[-1] if labels else rest)[:SHOWN]
        close = nearest(name, OPCODES, most=1)
        hint = f"; did you mean {close[0]}?" if close else f"; known: {', '.join(OPCODES)}"
        return _Wrong(f"{name!r} is no opcode{hint}")

    def _statement(self, opcode: str, labels: Sequence[str], rest: str, number: int) -> bool:
        if opcode == "EQU":
            if not labels:
                raise _Wrong("EQU needs a name before it")
            for name in labels:
                self._define(name)
                self.constants[name] = _tokens(rest)
            return False
        self._place(labels)
        if opcode == "ORG" or (opcode == "END" and rest and not self.ordered):
            self.origin, self.ordered = (rest, number), opcode == "ORG"
        if opcode in _PSEUDO:
            return opcode == "END"
        modifier = ""
        if rest.startswith("."):
            found = _WORD.match(rest, 1)
            modifier = found[0].upper() if found else ""
            if modifier not in MODIFIERS:
                raise _Wrong(f"unknown modifier .{modifier[:SHOWN]}; known: {', '.join(MODIFIERS)}")
            rest = rest[1 + len(modifier) :].strip()
        self.lines.append((opcode, modifier, rest, number))
        if len(self.lines) > self.rules.length:
            raise _Wrong(f"more than {self.rules.length} instructions")
        return False

    def _place(self, labels: Sequence[str]) -> None:
        for name in labels:
            self._define(name)
            self.labels[name] = len(self.lines)

    def _define(self, name: str) -> None:
        if name in self.labels or name in self.constants:
            raise _Wrong(f"the name {name[:SHOWN]} is defined twice")

    def start(self, expression: str) -> int:
        """Return the place of the instruction that is executed first."""
        found = self._value(expression, 0)
        if not 0 <= found < len(self.lines):
            raise _Wrong(f"the program starts at {found}, outside of its instructions")
        return found

    def instruction(self, line: _Line, at: int) -> Instruction:
        opcode, modifier, operands, _ = line
        parts = [part.strip() for part in operands.split(",")] if operands else []
        least = _FEWEST.get(opcode, 2)
        if not least <= len(parts) <= 2 or not all(parts):
            takes = "two operands" if least == 2 else f"{least} to 2 operands"
            raise _Wrong(f"{opcode} takes {takes}, with a comma between them")
        fields = [self._operand(part, at) for part in parts]
        if len(fields) == 1:
            fields = [("#", 0), *fields] if opcode == "DAT" else [*fields, ("$", 0)]
        (a_mode, a), (b_mode, b) = fields or [("$", 0), ("$", 0)]
        code = operation(opcode, modifier or default_modifier(opcode, a_mode, b_mode))
        size = self.rules.core
        return code, MODES.index(a_mode), a % size, MODES.index(b_mode), b % size

    def _operand(self, text: str, at: int) -> tuple[str, int]:
        mode = text[0] if text[0] in MODES else ""
        return mode or "$", self._value(text[len(mode) :], at)

    def _value(self, expression: str, at: int) -> int:
        """Return an expression; labels count from the instruction at `at`."""
        numbers = {name: place - at for name, place in self.labels.items()}
        return _Expression(self._filled(_tokens(expression)), numbers).value()

    def _filled(self, tokens: Sequence[str]) -> list[str]:
        """Return tokens with the constants in place of their names, as EQU replaces text."""
        found, waiting, steps = list[str](), list(reversed(tokens)), 0
        while waiting:
            steps += 1
            if steps > TOKENS:
                raise _Wrong("an expression is too long, or its constants need one another")
            token = waiting.pop()
            if token in self.constants:
                waiting += reversed(self.constants[token])
            else:
                found.append(token)
        return found


def _tokens(expression: str) -> list[str]:
    found, at, text = list[str](), 0, expression.strip()
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise _Wrong(f"{text[at : at + SHOWN]!r} is no number, name, bracket or + - * / %")
        found.append(token[1])
        at = token.end()
    if not found:
        raise _Wrong("an expression is missing")
    return found


def _quotient(a: int, b: int) -> int:
    """Divide towards zero."""
    found = abs(a) // abs(b)
    return found if (a < 0) == (b < 0) else -found


_SUMS: Mapping[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub}
_PRODUCTS: Mapping[str, Callable[[int, int], int]] = {
    "*": operator.mul,
    "/": _quotient,
    "%": lambda a, b: a - b * _quotient(a, b),
}


class _Expression:
    """Arithmetic as usual, products before sums."""

    def __init__(self, tokens: Sequence[str], numbers: Mapping[str, int]) -> None:
        self.left, self.numbers = list(reversed(tokens)), numbers

    def value(self) -> int:
        found = self._sum()
        if self.left:
            raise _Wrong(f"{self.left[-1]!r} stands where an operand should end")
        return found

    def _sum(self) -> int:
        return self._chain(_SUMS, lambda: self._chain(_PRODUCTS, self._factor))

    def _chain(
        self, signs: Mapping[str, Callable[[int, int], int]], part: Callable[[], int]
    ) -> int:
        found = part()
        while self.left and self.left[-1] in signs:
            sign, other = self.left.pop(), part()
            if sign in "/%" and not other:
                raise _Wrong("a division by zero")
            found = signs[sign](found, other)
        return found

    def _factor(self) -> int:
        token = self.left.pop() if self.left else ""
        if token in ("+", "-"):
            return self._factor() if token == "+" else -self._factor()
        if token == "(":
            found = self._sum()
            if not self.left or self.left.pop() != ")":
                raise _Wrong("a bracket is not closed")
            return found
        if token.isdecimal():
            return int(token)
        if token in self.numbers:
            return self.numbers[token]
        if not _WORD.match(token):
            raise _Wrong("a number or a name is missing")
        token = token[:SHOWN]
        close = nearest(token, self.numbers, most=1)
        hint = f"; did you mean {close[0][:SHOWN]}?" if close else ""
        raise _Wrong(f"unknown name {token}{hint}")
