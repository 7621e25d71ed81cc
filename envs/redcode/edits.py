"""Programs at random, and random changes of programs: searches without a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from coevo.envs.redcode.language import MODES, MODIFIERS, CoreRules, Instruction, Warrior
from coevo.envs.redcode.operations import EXECUTE

NEAR = 0.7
"""Share of numbers that point no further than a warrior is long."""


def random_warrior(rules: CoreRules, rng: np.random.Generator) -> Warrior:
    """Return a program of random length, in which every opcode and mode has the same chance."""
    count = int(rng.integers(1, rules.length + 1))
    code = tuple(random_instruction(rules, rng) for _ in range(count))
    return Warrior(code, int(rng.integers(count)))


def random_instruction(rules: CoreRules, rng: np.random.Generator) -> Instruction:
    """Return an instruction whose numbers are mostly near ones."""
    operation, a_mode, b_mode = rng.integers((len(EXECUTE), len(MODES), len(MODES))).tolist()
    return operation, a_mode, _number(rules, rng), b_mode, _number(rules, rng)


def _number(rules: CoreRules, rng: np.random.Generator) -> int:
    if rng.random() < NEAR:
        return int(rng.integers(-rules.length, rules.length + 1)) % rules.core
    return int(rng.integers(rules.core))


def edited(parents: Sequence[Warrior], rules: CoreRules, rng: np.random.Generator) -> Warrior:
    """Return a change of the first of one or more warriors.

    With equal chances a field of an instruction is drawn anew; an instruction is inserted or
    deleted; or the program goes on, from a place in it, as that of the last parent.
    """
    first, other = parents[0], parents[-1]
    kind, at = int(rng.integers(3)), int(rng.integers(len(first.code)))
    if kind == 0:
        code = _field_drawn(first.code, at, rules, rng)
    elif kind == 1:
        code = _one_more_or_less(first.code, at, rules, rng)
    else:
        cut = int(rng.integers(len(other.code)))
        code = (first.code[: at + 1] + other.code[cut:])[: rules.length]
    return replace(first, code=code, start=min(first.start, len(code) - 1))


def _field_drawn(
    code: tuple[Instruction, ...], at: int, rules: CoreRules, rng: np.random.Generator
) -> tuple[Instruction, ...]:
    """Draw an opcode, a modifier, a mode or a number anew."""
    drawn, made = random_instruction(rules, rng), list(code[at])
    field, modifiers = int(rng.integers(6)), len(MODIFIERS)
    if field == 5:  # the modifier alone
        made[0] += drawn[0] % modifiers - made[0] % modifiers
    elif field == 0:  # the opcode alone
        made[0] = drawn[0] - drawn[0] % modifiers + made[0] % modifiers
    else:
        made[field] = drawn[field]
    operation, a_mode, a, b_mode, b = made
    new = (operation, a_mode, a, b_mode, b)
    return (*code[:at], new, *code[at + 1 :])


def _one_more_or_less(
    code: tuple[Instruction, ...], at: int, rules: CoreRules, rng: np.random.Generator
) -> tuple[Instruction, ...]:
    more = len(code) == 1 or (len(code) < rules.length and rng.random() < 0.5)
    if more:
        return (*code[:at], random_instruction(rules, rng), *code[at:])
    return (*code[:at], *code[at + 1 :])
