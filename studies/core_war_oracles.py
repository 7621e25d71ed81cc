"""Battles of our Redcode machine beside exhaust-ma and pMARS, and recordings of theirs for tests.

    pip install --target FOLDER exhaust-ma==0.0.6
    python studies/core_war_oracles.py --exhaust FOLDER --battles 10000
    python studies/core_war_oracles.py --exhaust FOLDER --battles 300 --small \
        --record tests/envs/redcode/exhaust.jsonl
    python studies/core_war_oracles.py --pmars PMARS --battles 200 --small \
        --record tests/envs/redcode/pmars.jsonl

exhaust-ma is asked who dies in which order and for every cell of the final core. It stops some
battles early that no warrior wins: where more tasks than cycles are left, and where the first of
three or more has died, one instruction before the limit of cycles. Their cells are counted apart,
and not recorded; who died has to agree there, too. pMARS (a server
build, which needs no display) for its assembled listing of a source and the result of a round. All
warriors are ours: random ones, and classics that were changed up to eight times.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from coevo.envs.redcode.assembler import assemble
from coevo.envs.redcode.battle import Battle, fight, placed
from coevo.envs.redcode.classics import CLASSICS
from coevo.envs.redcode.edits import edited, random_warrior
from coevo.envs.redcode.language import (
    MODES,
    MODIFIERS,
    OPCODES,
    CoreRules,
    Instruction,
    Warrior,
    listing,
    operation,
    spelled,
)

OTHER_OPCODES = (
    *("DAT", "SPL", "MOV", "DJN", "ADD", "JMZ", "SUB", "SEQ"),
    *("SNE", "SLT", "JMN", "JMP", "NOP", "MUL", "MOD", "DIV"),
)
OTHER_MODIFIERS = ("F", "A", "B", "AB", "BA", "X", "I")
OTHER_MODES = "$#@<>*{}"
"""exhaust-ma's order of them."""
Setting = tuple[CoreRules, list[Warrior], tuple[int, ...]]


def setting(seed: int, *, small: bool, most: int) -> Setting:
    """Draw sizes, warriors and places."""
    rng = np.random.default_rng([seed, 94])
    rules = CoreRules(
        core=int(rng.choice([97, 200, 400, 800])),
        cycles=int(rng.choice([200, 1000, 2000])),
        tasks=int(rng.choice([1, 8, 40, 200])),
        length=10 if small else 20,
    )
    count = int(rng.integers(min(2, most), most + 1))
    warriors = [_warrior(rules, rng) for _ in range(min(count, rules.core // rules.distance))]
    return rules, warriors, placed(len(warriors), rules, rng)


def _warrior(rules: CoreRules, rng: np.random.Generator) -> Warrior:
    if rng.random() < 0.3:
        return random_warrior(rules, rng)
    known = _classics(rules)
    found = known[int(rng.integers(len(known)))]
    for _ in range(int(rng.integers(9))):
        partner = known[int(rng.integers(len(known)))]
        found = edited([found, partner], rules, rng)
    return found


@lru_cache(maxsize=64)
def _classics(rules: CoreRules) -> list[Warrior]:
    return [assemble(text, rules) for text in CLASSICS.values()]


def report(line: str) -> None:
    """Print a line."""
    print(line, flush=True)  # noqa: T201  # what it is for


# ---- exhaust-ma --------------------------------------------------------------------------------


class Exhaust:
    """The library behind exhaust-ma; its Python front knows no starts and no chosen places."""

    def __init__(self, folder: str) -> None:
        sys.path.append(folder)
        import _exhaust_ma  # type: ignore[import-not-found]  # from the folder

        self.lib, self.ffi = _exhaust_ma.lib, _exhaust_ma.ffi

    def __call__(
        self, rules: CoreRules, warriors: Sequence[Warrior], places: Sequence[int]
    ) -> tuple[list[int], list[Instruction]]:
        """Return who died, the first one first, and the final core."""
        lib, count = self.lib, len(warriors)
        core = lib.sim_alloc_bufs(count, rules.core, rules.tasks, rules.cycles)
        lib.sim_clear_core()
        for warrior, place in zip(warriors, places, strict=True):
            code = self.ffi.new("insn_t[]", [self._encoded(one) for one in warrior.code])
            lib.sim_load_warrior(place, code, len(warrior.code))
        starts = [(p + w.start) % rules.core for w, p in zip(warriors, places, strict=True)]
        dead = self.ffi.new("unsigned int[]", count)
        alive = lib.sim_mw(count, self.ffi.new("field_t[]", starts), dead)
        found = list(dead[0 : count - alive]), [self._decoded(core[i]) for i in range(rules.core)]
        lib.sim_free_bufs()
        return found

    def _encoded(self, one: Instruction) -> dict[str, int]:
        code, a_mode, a, b_mode, b = one
        opcode, modifier = divmod(code, len(MODIFIERS))
        word = OTHER_OPCODES.index(OPCODES[opcode]) << 9
        word |= OTHER_MODIFIERS.index(MODIFIERS[modifier]) << 6
        word |= OTHER_MODES.index(MODES[b_mode]) << 3 | OTHER_MODES.index(MODES[a_mode])
        return {"a": a, "b": b, "in": word}

    def _decoded(self, one: Any) -> Instruction:
        word = getattr(one, "in")
        code = operation(OTHER_OPCODES[word >> 9 & 31], OTHER_MODIFIERS[word >> 6 & 7])
        a_mode, b_mode = (MODES.index(OTHER_MODES[word >> at & 7]) for at in (0, 3))
        return code, a_mode, one.a, b_mode, one.b


def deaths(battle: Battle) -> list[int]:
    """Return who died, in order; of one cycle the one who moved first."""
    died = [(lived, i) for i, lived in enumerate(battle.lived) if lived < battle.cycles]
    return [i for _, i in sorted(died)]


def digest(core: Sequence[Instruction]) -> int:
    """Return a checksum of a core."""
    return zlib.crc32("\n".join(spelled(one, len(core)) for one in core).encode())


def beside_exhaust(exhaust: Exhaust, count: int, *, small: bool) -> Iterator[dict[str, Any]]:
    """Fight battles with both, print how they agree and how long they took, yield exhaust's."""
    seconds, ends = [0.0, 0.0], Counter[str]()
    deaths_agree = agreed = cut = instructions = 0
    for seed in range(count):
        rules, warriors, places = setting(seed, small=small, most=4)
        begun = time.process_time()
        battle = fight(warriors, places, rules)
        between = time.process_time()
        died, core = exhaust(rules, warriors, places)
        seconds[0] += between - begun
        seconds[1] += time.process_time() - between
        deaths_agree += deaths(battle) == died
        same = list(battle.core) == core
        agreed += same
        last = max((n for n in battle.lived if n < battle.cycles), default=0)
        decided = len(died) >= max(1, len(warriors) - 1)
        early = not (same or decided) and (any(battle.spawned) or bool(died))
        cut += early
        instructions += sum(min(n, last) if decided else n for n in battle.lived)
        ends["decided" if decided else "cycles over"] += 1
        if not early:
            yield {**_told(rules, warriors, places), "died": died, "digest": digest(core)}
    report(
        f"{deaths_agree} of {count} battles agree in deaths, {agreed} in every cell; {dict(ends)}"
    )
    report(f"{cut} of the others are such as exhaust-ma may stop early")
    report(f"ours {seconds[0]:.1f} s, exhaust-ma {seconds[1]:.1f} s with its calls from Python")
    report(f"ours: {instructions} instructions, {instructions / seconds[0]:.0f} a second")


# ---- pMARS -------------------------------------------------------------------------------------


def beside_pmars(pmars: str, count: int, *, small: bool) -> Iterator[dict[str, Any]]:
    """Assemble sources and fight duels with both, print how they agree, yield what pMARS said."""
    listed = duels = 0
    for seed in range(count):
        rules, warriors, places = setting(seed, small=small, most=2)
        source = random_source(rules, np.random.default_rng([seed, 95]))
        ours = listing(assemble(source, rules), rules.core)
        theirs = pmars_listing(pmars, rules, source)
        result = pmars_duel(pmars, rules, warriors, places)
        listed, duels = (
            listed + (ours == theirs),
            duels + (_result(warriors, places, rules) == result),
        )
        told = {"source": source, "assembled": theirs, "result": result}
        yield {**_told(rules, warriors, places), **told}
    report(f"pMARS: {listed} of {count} sources and {duels} of {count} duels agree")


def _result(warriors: Sequence[Warrior], places: Sequence[int], rules: CoreRules) -> str:
    """Return who won: first, second or tie."""
    died = deaths(fight(warriors, places, rules))
    return ("second", "first")[died[0]] if died else "tie"


def pmars_listing(pmars: str, rules: CoreRules, source: str) -> str:
    """Return what pMARS assembles a source to, spelled as our listings."""
    said = _asked(pmars, rules, ["-r", "0"], [source])
    start, code = 0, []
    for line in said.splitlines():
        words = line.replace(",", " ").split()
        if words[:1] == ["ORG"] and words[1] == "START":
            continue
        marked = words[:1] == ["START"]
        words = (words[1:] if marked else words) or [""]
        name = words[0].replace("CMP", "SEQ")
        if name.partition(".")[0] in OPCODES:
            start = len(code) if marked else start
            code.append(f"{name} {words[1]}{words[2]}, {words[3]}{words[4]}")
    return "\n".join([*([f"ORG {start}"] if start else []), *code])


def pmars_duel(
    pmars: str, rules: CoreRules, warriors: Sequence[Warrior], places: Sequence[int]
) -> str:
    """Return which of two warriors wins in pMARS, the first at 0."""
    sources = [listing(one, rules.core) for one in warriors]
    said = _asked(pmars, rules, ["-b", "-r", "1", "-F", str(places[1])], sources)
    (line,) = (line for line in said.splitlines() if line.startswith("Results:"))
    return {"1 0 0": "first", "0 1 0": "second", "0 0 1": "tie"}[line.partition(": ")[2].strip()]


def _asked(pmars: str, rules: CoreRules, options: Sequence[str], sources: Sequence[str]) -> str:
    sizes = {
        "-s": rules.core,
        "-c": rules.cycles,
        "-p": rules.tasks,
        "-l": rules.length,
        "-d": rules.distance,
    }
    given = [word for name, size in sizes.items() for word in (name, str(size))]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{i}.red" for i in range(len(sources))]
        for path, source in zip(paths, sources, strict=True):
            path.write_text(f";redcode-94\n;assert 1\n{source}\n")
        command = [pmars, *given, *options, *map(str, paths)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def random_source(rules: CoreRules, rng: np.random.Generator) -> str:
    """Return a source with labels, constants, arithmetic, and modes and modifiers left out.

    Sums are in brackets: pMARS takes 7-6/3-1 for 7-(6/3-1).
    """
    count = int(rng.integers(2, 7))
    pick: Callable[[Sequence[str]], str] = lambda words: words[int(rng.integers(len(words)))]  # noqa: E731
    atoms = [f"at{i}" for i in range(count)] + ["step", "far", "3", "7", "12", "CORESIZE"]

    def expression(depth: int = 0) -> str:
        if depth == 2 or rng.random() < 0.4:
            return pick(["", "", "-"]) + pick(atoms)
        left, right = expression(depth + 1), expression(depth + 1)
        whole = f"({left} {pick('+-*')} {right})"
        chain = f"({pick(atoms)}{pick('+-')}{pick(atoms)}*{pick(atoms)})"
        return pick([whole, whole, chain, f"({left})/{pick('2357')}", f"{whole}%5", "more*3"])

    lines = [
        f"step EQU {int(rng.integers(1, 9))}",
        "far EQU (step*2-CORESIZE/3)",
        "more EQU step+2 ; no brackets: three times more is step + 6",
    ]
    if rng.random() < 0.5:
        lines.append(f"ORG at{int(rng.integers(count))}")
    end = "END" if len(lines) == 4 else pick(["END", "END at1", ""])
    for i in range(count):
        opcode = pick([*OPCODES, "CMP"]) + pick(["", "", f".{pick(MODIFIERS)}"])
        least = 1 if opcode.partition(".")[0] in ("DAT", "JMP", "SPL", "NOP") else 2
        wanted = int(rng.integers(least, 3))
        operands = [pick(["", *MODES]) + expression() for _ in range(wanted)]
        lines.append(f"at{i} {opcode} {', '.join(operands)} ; {pick(['', 'MOV 0, 1', 'END'])}")
    return "\n".join([*lines, end]).strip()


# ---- The command -------------------------------------------------------------------------------


def _told(rules: CoreRules, warriors: Sequence[Warrior], places: Sequence[int]) -> dict[str, Any]:
    sizes = {name: getattr(rules, name) for name in ("core", "cycles", "tasks")}
    return {**sizes, "warriors": [listing(w, rules.core) for w in warriors], "places": places}


def main() -> None:
    """Compare, and record."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--exhaust", help="folder in which exhaust-ma was installed")
    parser.add_argument("--pmars", help="the program pmars")
    parser.add_argument("--battles", type=int, default=300)
    parser.add_argument("--small", action="store_true", help="warriors of at most ten instructions")
    parser.add_argument("--record", type=Path, help="file for what the other program said")
    given = parser.parse_args()
    found = list[dict[str, Any]]()
    if given.exhaust:
        found += beside_exhaust(Exhaust(given.exhaust), given.battles, small=given.small)
    if given.pmars:
        found += beside_pmars(given.pmars, given.battles, small=given.small)
    if given.record:
        given.record.parent.mkdir(parents=True, exist_ok=True)
        given.record.write_text("".join(json.dumps(one) + "\n" for one in found))


if __name__ == "__main__":
    main()
