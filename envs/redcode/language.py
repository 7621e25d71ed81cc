"""The words of Redcode (ICWS'94, draft 3.3), and an instruction as five numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from coevo.envs.core.config import config, whole
from coevo.envs.core.errors import ConfigError

OPCODES = (
    *("DAT", "MOV", "ADD", "SUB", "MUL", "DIV", "MOD", "JMP"),
    *("JMZ", "JMN", "DJN", "SEQ", "SNE", "SLT", "NOP", "SPL"),
)
MODIFIERS = ("A", "B", "AB", "BA", "F", "X", "I")
MODES = "$#*@{<}>"
"""Direct, immediate; indirect by the A-number and by the B-number; the same with a decrement
before; the same with an increment afterwards."""

Instruction = tuple[int, int, int, int, int]
"""Operation (opcode and modifier, see `operation`), A-mode, A-number, B-mode, B-number."""
EMPTY: Instruction = (4, 0, 0, 0, 0)
"""DAT.F $0, $0, which fills a core."""


@config
class CoreRules:
    """Sizes of a core and limits of a battle."""

    core: Annotated[int, whole(20, 8192)] = 400
    """Instructions of the core; all numbers are taken modulo this."""
    cycles: Annotated[int, whole(1, 100_000)] = 4000
    """Cycles until a battle ends without a winner."""
    tasks: Annotated[int, whole(1, 8192)] = 40
    """Most tasks of a warrior."""
    length: Annotated[int, whole(1, 300)] = 20
    """Most instructions of a warrior."""
    distance: Annotated[int, whole(1, 1000)] = 20
    """Least distance between the first instructions of two warriors."""

    def __post_init__(self) -> None:
        if self.length > self.distance:
            raise ConfigError(
                f"length={self.length} and distance={self.distance} contradict each other: "
                "warriors would overlap"
            )


@dataclass(frozen=True)
class Warrior:
    """An assembled program."""

    code: tuple[Instruction, ...]
    start: int = 0
    """Place in the code of what is executed first."""


def operation(opcode: str, modifier: str) -> int:
    """Return the number of an opcode with a modifier.

    >>> operation("DAT", "F"), operation("SPL", "I")
    (4, 111)
    """
    return OPCODES.index(opcode) * len(MODIFIERS) + MODIFIERS.index(modifier)


def default_modifier(opcode: str, a_mode: str, b_mode: str) -> str:
    """Return the modifier of an instruction that names none.

    >>> default_modifier("MOV", "$", "$"), default_modifier("ADD", "#", "$")
    ('I', 'AB')
    """
    if opcode in ("DAT", "NOP"):
        return "F"
    if opcode in ("JMP", "JMZ", "JMN", "DJN", "SPL"):
        return "B"
    if a_mode == "#":
        return "AB"
    if b_mode == "#" or opcode == "SLT":
        return "B"
    return "I" if opcode in ("MOV", "SEQ", "SNE") else "F"


def spelled(instruction: Instruction, core: int) -> str:
    """Return an instruction in the format of load files; numbers are at most half a core away.

    >>> spelled((13, 0, 0, 4, 399), 400)
    'MOV.I $0, {-1'
    """
    code, a_mode, a, b_mode, b = instruction
    opcode, modifier = divmod(code, len(MODIFIERS))
    a, b = (n - core if n > core // 2 else n for n in (a, b))
    name = f"{OPCODES[opcode]}.{MODIFIERS[modifier]}"
    return f"{name} {MODES[a_mode]}{a}, {MODES[b_mode]}{b}"


def listing(warrior: Warrior, core: int) -> str:
    """Return a warrior as a load file, which assembles to the same warrior.

    >>> print(listing(Warrior((EMPTY, (13, 0, 0, 0, 1)), start=1), 400))
    ORG 1
    DAT.F $0, $0
    MOV.I $0, $1
    """
    head = [f"ORG {warrior.start}"] if warrior.start else []
    return "\n".join([*head, *(spelled(one, core) for one in warrior.code)])
