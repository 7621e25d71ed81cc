"""What the operations of Redcode do, once their operands are fetched.

Each is a function (core, pc, ra, ia, rb, ib) -> address of the next task, or -1 for none. `ra` and
`rb` are the addresses that the operands point to, `ia` and `ib` copies of the instructions there,
taken when the operands were evaluated; an immediate operand is the instruction as it was fetched,
as in pMARS. All results are computed from the copies.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from coevo.envs.redcode.language import MODIFIERS, OPCODES, Instruction

Core = list[Instruction]
Operation = Callable[[Core, int, int, Instruction, int, Instruction], int]
A, B = 2, 4
"""Places of the two numbers in an instruction."""
PAIRS: dict[str, tuple[tuple[int, int], ...]] = {
    "A": ((A, A),),
    "B": ((B, B),),
    "AB": ((A, B),),
    "BA": ((B, A),),
    "F": ((A, A), (B, B)),
    "X": ((B, A), (A, B)),
    "I": ((A, A), (B, B)),
}
"""Modifier -> the numbers of the A-instruction, each with that of the B-instruction it meets."""


def _move(modifier: str) -> Operation:
    if modifier == "I":

        def move(core: Core, pc: int, ra: int, ia: Instruction, rb: int, ib: Instruction) -> int:
            core[rb] = ia
            return pc + 1

        return move
    return _arithmetic(lambda b, a: a, modifier)


def _arithmetic(compute: Callable[[int, int], int], modifier: str) -> Operation:
    """Return what computes B-number by A-number; the modifier says which."""
    source = {target: place for place, target in PAIRS[modifier]}
    to_a, to_b = source.get(A), source.get(B)

    def execute(core: Core, pc: int, ra: int, ia: Instruction, rb: int, ib: Instruction) -> int:
        code, a_mode, a, b_mode, b = core[rb]
        if to_a:
            a = compute(ib[2], ia[to_a]) % len(core)
        if to_b:
            b = compute(ib[4], ia[to_b]) % len(core)
        core[rb] = (code, a_mode, a, b_mode, b)
        return pc + 1

    return execute


def _division(compute: Callable[[int, int], int], modifier: str) -> Operation:
    """Return a division: by zero it leaves that number as it is, and kills the task."""
    pairs = PAIRS[modifier]

    def execute(core: Core, pc: int, ra: int, ia: Instruction, rb: int, ib: Instruction) -> int:
        made, after = list(core[rb]), pc + 1
        for place, target in pairs:
            if ia[place]:
                made[target] = compute(ib[target], ia[place])
            else:
                after = -1
        code, a_mode, a, b_mode, b = made
        core[rb] = (code, a_mode, a, b_mode, b)
        return after

    return execute


def _tested(modifier: str) -> tuple[int, ...]:
    """Return which numbers of the B-instruction a jump looks at."""
    return {"A": (A,), "BA": (A,), "B": (B,), "AB": (B,)}.get(modifier, (A, B))


def _jump_if_zero(modifier: str) -> Operation:
    first, last = _tested(modifier)[0], _tested(modifier)[-1]

    def execute(core: Core, pc: int, ra: int, ia: Instruction, rb: int, ib: Instruction) -> int:
        return pc + 1 if ib[first] or ib[last] else ra

    return execute


def _jump_if_not(modifier: str) -> Operation:
    first, last = _tested(modifier)[0], _tested(modifier)[-1]

    def execute(core: Core, pc: int, ra: int, ia: Instruction, rb: int, ib: Instruction) -> int:
        return ra if ib[first] or ib[last] else pc + 1

    return execute


def _decrement_and_jump(modifier: str) -> Operation:
    fields = _tested(modifier)
    down_a, down_b = int(A in fields), int(B in fields)
    first, last = fields[0], fields[-1]

    def execute(core: Core, pc: int, ra: int, ia: Instruction, rb: int, ib: Instruction) -> int:
        size = len(core)
        code, a_mode, a, b_mode, b = core[rb]
        core[rb] = (code, a_mode, (a - down_a) % size, b_mode, (b - down_b) % size)
        return ra if ib[first] != 1 or ib[last] != 1 else pc + 1

    return execute


def _skip(compare: Callable[[int, int], bool], modifier: str, *, every: bool) -> Operation:
    """Return a comparison that skips an instruction where every pair compares so, or any does."""
    pairs, together = PAIRS[modifier], all if every else any

    def execute(core: Core, pc: int, ra: int, ia: Instruction, rb: int, ib: Instruction) -> int:
        return pc + 1 + together([compare(ia[place], ib[target]) for place, target in pairs])

    return execute


def _skip_whole(compare: Callable[[Instruction, Instruction], bool]) -> Operation:
    def execute(core: Core, pc: int, ra: int, ia: Instruction, rb: int, ib: Instruction) -> int:
        return pc + 1 + compare(ia, ib)

    return execute


def _made(opcode: str, modifier: str) -> Operation:
    whole = modifier == "I"
    match opcode:
        case "DAT":
            return lambda core, pc, ra, ia, rb, ib: -1
        case "MOV":
            return _move(modifier)
        case "ADD":
            return _arithmetic(operator.add, modifier)
        case "SUB":
            return _arithmetic(operator.sub, modifier)
        case "MUL":
            return _arithmetic(operator.mul, modifier)
        case "DIV":
            return _division(operator.floordiv, modifier)
        case "MOD":
            return _division(operator.mod, modifier)
        case "JMP":
            return lambda core, pc, ra, ia, rb, ib: ra
        case "JMZ":
            return _jump_if_zero(modifier)
        case "JMN":
            return _jump_if_not(modifier)
        case "DJN":
            return _decrement_and_jump(modifier)
        case "SEQ":
            found = _skip(operator.eq, modifier, every=True)
            return _skip_whole(operator.eq) if whole else found
        case "SNE":
            found = _skip(operator.ne, modifier, every=False)
            return _skip_whole(operator.ne) if whole else found
        case "SLT":
            return _skip(operator.lt, modifier, every=True)
        case _:  # NOP; the machine itself splits
            return lambda core, pc, ra, ia, rb, ib: pc + 1


EXECUTE: tuple[Operation, ...] = tuple(_made(o, m) for o in OPCODES for m in MODIFIERS)
"""By the number of the operation."""
