"""Core War: every seat writes a program once; the programs fight in the memory of one machine.

Agents        warrior_0 .. warrior_{n-1}
Observation   chat: the rules of Redcode (ICWS'94) and the sizes; with `open_code` the opponents
Action        a program, bare or in a block of code
Reward        mean over the cycles of 1 / (warriors alive) while its own is alive, over `rounds`
              battles: from 0 to 1; equal warriors get 1 / n; what cannot be assembled gets 0
Ends          when all have written
Options       warriors=2; core=400; cycles=4000; tasks=40; length=20; distance=20; rounds=2;
              open_code; at reset `opponents`, programs that share the core
References    mean payoff: random 0.5 (against random, by symmetry), oracle 0.988 (the expert
              against random, 400 battles)

A battle is played from `rounds` random placements, and another warrior moves first in each. It ends
when one is left, whose share of the cycles that remain is all. The King of the Hill uses core=8000,
cycles=80000, tasks=8000, length=100 and distance=100. With `warriors=1` and opponents an episode is
the fitness of Digital Red Queen (arXiv 2601.03335, https://github.com/SakanaAI/drq) divided by the
number of warriors. The expert writes one of ten classics, a random player a random program.

The machine agrees with exhaust-ma and with pMARS (benchmarks/results/2026-11-24-core-war.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import fmean
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, whole
from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.core.factories import simultaneous
from coevo.envs.core.parsing import Parse, Status, missing
from coevo.envs.core.protocol import All, Pay, Protocol, ProtocolTask
from coevo.envs.core.task import Replies
from coevo.envs.questions.answers import program_in
from coevo.envs.redcode.assembler import assemble
from coevo.envs.redcode.battle import Battle, fight, placed
from coevo.envs.redcode.classics import CLASSICS
from coevo.envs.redcode.edits import edited, random_warrior
from coevo.envs.redcode.language import EMPTY, MODIFIERS, CoreRules, Warrior, listing

FORM = "Reply with the program alone, one instruction a line, or put it into a block of code."
RANDOM = 16
"""Programs that a random player draws from."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
WIDTH = 40
"""Addresses in a line of the drawn core."""
LANGUAGE = """\
Redcode is that of ICWS'94. An instruction is OPCODE.MODIFIER A-operand, B-operand. Addresses are
relative to it, and all numbers are taken modulo the size of the core, which is filled with
DAT.F $0, $0.
Modes of an operand: # the number itself; $ direct, which may be left out; @ indirect through the
B-number of where it points; < the same after that number was lowered by 1; > the same, and it is
raised by 1 afterwards. The same three through the A-number are * and the curly brackets, the
opening one to lower it first, the closing one to raise it afterwards.
Opcodes: DAT ends the task. MOV copies A to B. ADD, SUB, MUL, DIV, MOD compute B by A and write it
to B; a division by 0 ends the task. JMP jumps to A; JMZ if B is 0; JMN if it is not; DJN lowers B
by 1 and jumps if it is not 0. SEQ (or CMP), SNE and SLT skip an instruction if A and B are equal,
if they differ, if A is less. SPL starts a task at A, besides going on. NOP does nothing.
Modifiers say which numbers are meant: A, B, AB (from A-number to B-number), BA, F (both), X (both,
crossed), I (whole instructions). One that is left out is the usual one.
Labels before an instruction, NAME EQU value, ORG start, END, arithmetic with + - * / % ( ), and
comments after ; are read."""


@config
class CoreWarConfig(CoreRules):
    warriors: Annotated[int, whole(1, 20)] = 2
    """Seats."""
    rounds: Annotated[int, whole(1, 100)] = 2
    """Battles, each from another placement."""
    open_code: Annotated[bool, Field(strict=True)] = False
    """Whether the `opponents` of a reset are shown."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_room(self, self.warriors)


def check_room(rules: CoreRules, count: int) -> None:
    """Raise ConfigError where so many warriors do not fit into the core."""
    if count * rules.distance > rules.core:
        raise ConfigError(
            f"core={rules.core} and distance={rules.distance} contradict each other: there is no "
            f"room for {count} warriors"
        )


class CoreWar(ProtocolTask[CoreWarConfig]):
    env_id = "coevo/core_war-v0"
    config_class = CoreWarConfig
    simultaneous = True
    payoff_range = (0.0, 1.0)

    def __init__(self, config: CoreWarConfig) -> None:
        super().__init__(config)
        self.seats = tuple(f"warrior_{i}" for i in range(config.warriors))

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.opponents = self._opponents(options.get("opponents", ()))
        self.written: dict[str, Warrior] = {}
        self.battles: tuple[tuple[int, Battle], ...] = ()
        self._place(rng)
        said = yield All(
            self.seats, read=self._program, form=FORM, otherwise="", expert=self._expert
        )
        self.written = {s: assemble(text, self.config) for s, text in said.items() if text}
        fighters = (*self.written.values(), *self.opponents)
        if self.written:
            self.battles = battles(self.config, fighters, self.places, len(self.written))
        yield Pay(dict.fromkeys(self.seats, 0.0) | self._shares())

    def _opponents(self, given: Any) -> tuple[Warrior, ...]:
        if isinstance(given, str) or not all(isinstance(text, str) for text in given):
            raise ConfigError(f"options: opponents={given!r} must be a list of programs")
        check_room(self.config, len(self.seats) + len(given))
        try:
            return tuple(assembled(text, self.config) for text in given)
        except DataError as error:
            raise ConfigError(f"options: opponents: {error}") from None

    def _place(self, rng: np.random.Generator) -> None:
        count = len(self.seats) + len(self.opponents)
        self.places = tuple(placed(count, self.config, rng) for _ in range(self.config.rounds))

    def _program(self, text: str) -> Parse:
        """Read a program; the move is its load file, in which nothing of the seat's words is."""
        found = program_in(text)
        if found is None:
            return missing(text, "program")
        try:
            return Parse(listing(assembled(found, self.config), self.config.core), Status.LEGAL)
        except DataError as error:
            return Parse(None, Status.ILLEGAL, str(error))

    def _shares(self) -> dict[str, float]:
        found: dict[str, list[float]] = {seat: [] for seat in self.written}
        for first, battle in self.battles:
            for i, seat in enumerate(self.written):
                found[seat].append(battle.shares[i - first])
        return {seat: fmean(shares) for seat, shares in found.items()}

    # ---- Players without a model ---------------------------------------------------------------

    def _expert(self, seat: str, skill: float) -> Replies:
        """Write a classic, or a random program."""
        classics, others = pool(self.config)
        odds = [skill / len(classics)] * len(classics) + [(1 - skill) / len(others)] * len(others)
        return Replies((*classics, *others), np.array(odds))

    def random_reply(self, seat: str, rng: np.random.Generator, like: Sequence[str] = ()) -> str:
        warriors = [assembled(text, self.config) for text in like]
        if not warriors:
            return listing(random_warrior(self.config, rng), self.config.core)
        return listing(edited(warriors, self.config, rng), self.config.core)

    # ---- Hooks ---------------------------------------------------------------------------------

    def outcome(self) -> dict[str, float]:
        """Return means over the programs of the seats.

        Battles that they survived, tasks that they started, distinct addresses that they executed,
        their length, and their distinct opcodes.
        """
        if not self.battles:
            return {}
        every = [(b, i - first) for first, b in self.battles for i in range(len(self.written))]
        codes = [warrior.code for warrior in self.written.values()]
        return {
            "survived": fmean(battle.lived[i] == battle.cycles for battle, i in every),
            "spawned": fmean(battle.spawned[i] for battle, i in every),
            "covered": fmean(sum(battle.ran[i]) for battle, i in every),
            "length": fmean(map(len, codes)),
            "opcodes": fmean(len({one[0] // len(MODIFIERS) for one in code}) for code in codes),
        }

    def info(self, seat: str) -> dict[str, Any]:
        names = ("core", "cycles", "tasks", "length", "distance")
        return {**{name: getattr(self.config, name) for name in names}, "opponents": self._shown()}

    def _shown(self) -> list[str]:
        shown = self.opponents if self.config.open_code else ()
        return [listing(warrior, self.config.core) for warrior in shown]

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw the placements anew, and opponents that are not shown."""
        if not self.config.open_code:
            self.opponents = tuple(random_warrior(self.config, rng) for _ in self.opponents)
        self._place(rng)
        return True

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        c = self.config
        battles = "a battle" if c.rounds == 1 else f"{c.rounds} battles"
        return (
            f"Core War: programs fight in a circular memory, the core, of {c.core} instructions. "
            "In a cycle every warrior that is alive executes one instruction of its oldest task. A "
            f"warrior without tasks is dead; it has one at the start and {c.tasks} at most. A "
            f"battle ends when one is left, or after {c.cycles} cycles. In every cycle those alive "
            f"share a point; you are paid the mean of your shares in {battles} from random places, "
            f"{c.distance} or more instructions apart.\n{LANGUAGE}\n"
            f"You are {seat}. Your program has at most {c.length} instructions. It is written "
            f"once, before the battle.\n{FORM}"
        )

    def situation(self, seat: str) -> str:
        against = self._against()
        if not self._shown():
            return f"{against} You do not see the other programs. Write your program."
        shown = "\n\n".join(f"Opponent {i}:\n{t}" for i, t in enumerate(self._shown(), 1))
        return f"{against}\n\n{shown}\n\nWrite your program."

    def _against(self) -> str:
        count = len(self.seats) + len(self.opponents) - 1
        return f"You have {count} {'opponent' if count == 1 else 'opponents'} in the core."

    def terse(self, seat: str) -> str:
        c = self.config
        shown = " ".join(f"Opponent: {t.replace(chr(10), '; ')}." for t in self._shown())
        return (
            f"Core War (ICWS'94): core {c.core}, {c.cycles} cycles, {c.tasks} tasks, at most "
            f"{c.length} instructions, random places. {self._against()} {shown}".rstrip()
            + " Survive them. Reply with a Redcode program alone."
        )

    def draw(self) -> str:
        c = self.config
        if not self.battles:
            names = ", ".join(self.seats)
            starts = "; ".join(" ".join(map(str, places)) for places in self.places)
            others = [
                f"opponent: {'; '.join(listing(w, c.core).splitlines())}" for w in self.opponents
            ]
            head = [f"a core of {c.core}; programs of {names}", f"they start at {starts}"]
            return "\n".join([*head, *others])
        earned = [f"{s}: {self.earned[s]:.3f}" for s in self.seats]
        return "\n".join(
            [*earned, "the core after the first battle", *core_map(self.battles[0][1])]
        )


def core_map(battle: Battle) -> list[str]:
    """Return lines of addresses: who executed them (`*` several), `+` if changed, `.` if not."""
    symbols = []
    for at, one in enumerate(battle.core):
        who = [i for i, ran in enumerate(battle.ran) if ran[at]]
        single = LETTERS[who[0]] if len(who) == 1 else "*"
        symbols.append(single if who else ".+"[one != EMPTY])
    return ["".join(symbols[k : k + WIDTH]) for k in range(0, len(symbols), WIDTH)]


@lru_cache(maxsize=256)
def assembled(text: str, rules: CoreRules) -> Warrior:
    """Return the warrior of a program; see `assemble`."""
    return assemble(text, rules)


@lru_cache(maxsize=32)
def battles(
    rules: CoreRules,
    warriors: tuple[Warrior, ...],
    places: tuple[tuple[int, ...], ...],
    seats: int,
) -> tuple[tuple[int, Battle], ...]:
    """Return a battle from each placement, with the number of the warrior that moves first.

    In a battle warriors stand in the order of their moves. Only the first `seats` of them matter.
    """
    found, count = [], len(warriors)
    for number, chosen in enumerate(places):
        first = number % count
        order = [(first + i) % count for i in range(count)]
        matter = [i for i, warrior in enumerate(order) if warrior < seats]
        at = chosen[:count]
        found.append((first, fight([warriors[i] for i in order], at, rules, matter)))
    return tuple(found)


@lru_cache(maxsize=16)
def pool(rules: CoreRules) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the classics that fit these rules, and random programs, as load files."""
    classics = []
    for text in CLASSICS.values():
        try:
            classics.append(listing(assemble(text, rules), rules.core))
        except DataError:  # too long for these rules
            continue
    rng = np.random.default_rng(rules.core)
    others = [listing(random_warrior(rules, rng), rules.core) for _ in range(RANDOM)]
    return tuple(dict.fromkeys(classics)), tuple(dict.fromkeys(others))


raw_env, env, parallel_env = simultaneous(CoreWar)
