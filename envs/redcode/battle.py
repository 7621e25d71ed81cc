"""A battle in the core: every cycle each live warrior executes its oldest task."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from coevo.envs.redcode.language import EMPTY, CoreRules, Instruction, Warrior, operation
from coevo.envs.redcode.operations import EXECUTE, Core

SPLIT = operation("SPL", "A")
"""Operations from here on start a task, as the queues are known here alone."""
IMMEDIATE, DECREMENTS, INCREMENTS = 1, 4, 6
"""The mode of a number as such; from where on modes change what they point through, before the
instruction is read, and from where on afterwards. Of modes that point, even ones use A-numbers."""

Contender = tuple[deque[int], bytearray, int]
"""Tasks of a warrior that is alive, the addresses it has executed, and its number."""


@dataclass(frozen=True)
class Battle:
    """How a battle went, warrior by warrior."""

    cycles: int
    """Most cycles that it could take."""
    lived: tuple[int, ...]
    """Cycles that each survived; all of them for one that was alive at the end."""
    spawned: tuple[int, ...]
    """Tasks that each started by SPL."""
    ran: tuple[bytes, ...]
    """For every address whether the warrior executed it, 1 or 0."""
    core: tuple[Instruction, ...]
    """The core at the end."""

    @property
    def shares(self) -> tuple[float, ...]:
        """Return the mean over the cycles of alive_i / sum_j alive_j; they add up to 1 at most.

        >>> Battle(8, (8, 8, 0), (0, 0, 0), (b"", b"", b""), ()).shares
        (0.5, 0.5, 0.0)
        """
        found, begun = [0.0] * len(self.lived), 0
        for end in sorted(set(self.lived)):
            alive = [i for i, lived in enumerate(self.lived) if lived >= end]
            for i in alive:
                found[i] += (end - begun) / len(alive) / self.cycles
            begun = end
        return tuple(found)


def fight(
    warriors: Sequence[Warrior],
    places: Sequence[int],
    rules: CoreRules,
    matter: Collection[int] | None = None,
) -> Battle:
    """Return a battle of warriors, the first of which begins every cycle.

    It ends when one is left, or none where it had no opponent, or after the cycles of the rules.

    Args:
        warriors: who fights.
        places: address of the first instruction of each.
        rules: sizes and limits.
        matter: numbers of warriors; when none of them is left, it ends as well, and the others
            count as survivors.
    """
    core: Core = [EMPTY] * rules.core
    for warrior, place in zip(warriors, places, strict=True):
        for offset, instruction in enumerate(warrior.code):
            core[(place + offset) % rules.core] = instruction
    ran = [bytearray(rules.core) for _ in warriors]
    order = [
        (deque([(place + warrior.start) % rules.core]), ran[i], i)
        for i, (warrior, place) in enumerate(zip(warriors, places, strict=True))
    ]
    lived, spawned = [rules.cycles] * len(order), [0] * len(order)
    looked_at = range(len(order)) if matter is None else matter
    _run(core, order, lived, spawned, rules.tasks, looked_at)
    return Battle(rules.cycles, tuple(lived), tuple(spawned), tuple(map(bytes, ran)), tuple(core))


def _run(
    core: Core,
    order: list[Contender],
    lived: list[int],
    spawned: list[int],
    tasks: int,
    matter: Collection[int],
) -> None:
    """Run all cycles, or until a battle is decided; write into the lists of numbers."""
    size, least = len(core), min(1, len(order) - 1)
    for cycle in range(max(lived)):
        for queue, seen, i in order:
            pc = queue.popleft()
            seen[pc] = 1
            fetched = core[pc]
            code, a_mode, a, b_mode, b = fetched
            if a_mode > IMMEDIATE:
                ra, ia = _pointed(core, (pc + a) % size, a_mode)
            elif a_mode:
                ra, ia = pc, fetched
            else:
                ra = (pc + a) % size
                ia = core[ra]
            if b_mode > IMMEDIATE:
                rb, ib = _pointed(core, (pc + b) % size, b_mode)
            elif b_mode:
                rb, ib = pc, fetched
            else:
                rb = (pc + b) % size
                ib = core[rb]
            if code >= SPLIT:
                queue.append((pc + 1) % size)
                if len(queue) < tasks:
                    queue.append(ra)
                    spawned[i] += 1
                continue
            after = EXECUTE[code](core, pc, ra, ia, rb, ib)
            if after >= 0:
                queue.append(after % size)
            elif not queue:
                lived[i] = cycle
                order = [one for one in order if one[2] != i]
                if len(order) <= least or not any(one[2] in matter for one in order):
                    return


def _pointed(core: Core, via: int, mode: int) -> tuple[int, Instruction]:
    """Return the address that an operand points to through another, and the instruction there."""
    field = 4 if mode & 1 else 2
    if DECREMENTS <= mode < INCREMENTS:
        _changed(core, via, field, -1)
    at = (via + core[via][field]) % len(core)
    copy = core[at]
    if mode >= INCREMENTS:
        _changed(core, via, field, 1)
    return at, copy


def _changed(core: Core, at: int, field: int, by: int) -> None:
    code, a_mode, a, b_mode, b = core[at]
    if field == 2:
        core[at] = (code, a_mode, (a + by) % len(core), b_mode, b)
    else:
        core[at] = (code, a_mode, a, b_mode, (b + by) % len(core))


def placed(count: int, rules: CoreRules, rng: np.random.Generator) -> tuple[int, ...]:
    """Return random addresses for warriors, the first at 0, with the distance of the rules.

    >>> places = placed(3, CoreRules(core=70), np.random.default_rng(0))
    >>> sorted(places)[0], min(abs(a - b) for a in places for b in places if a != b) >= 20
    (0, True)
    """
    free = rules.core - count * rules.distance
    gaps = np.sort(rng.integers(free + 1, size=count - 1)).tolist()
    others = [gap + (i + 1) * rules.distance for i, gap in enumerate(gaps)]
    return (0, *(others[i] for i in rng.permutation(count - 1)))
