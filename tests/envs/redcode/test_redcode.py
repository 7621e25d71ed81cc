"""The assembler, the machine and random edits, beside what exhaust-ma and pMARS said."""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.redcode.assembler import assemble
from coevo.envs.redcode.battle import fight, placed
from coevo.envs.redcode.classics import CLASSICS
from coevo.envs.redcode.edits import edited, random_warrior
from coevo.envs.redcode.language import EMPTY, CoreRules, listing, spelled

HERE = Path(__file__).parent
RULES = CoreRules()


def recorded(name):
    return [json.loads(line) for line in (HERE / name).read_text().splitlines()]


def fought(told):
    sizes = {name: told[name] for name in ("core", "cycles", "tasks")}
    rules = CoreRules(**sizes)
    return fight([assemble(text, rules) for text in told["warriors"]], told["places"], rules)


def deaths(battle):
    died = [(lived, i) for i, lived in enumerate(battle.lived) if lived < battle.cycles]
    return [i for _, i in sorted(died)]


def play(*texts, places=None, **sizes):
    rules = CoreRules(**sizes)
    warriors = [assemble(text, rules) for text in texts]
    return fight(warriors, places or range(0, 100 * len(texts), 100), rules)


def test_battles_end_as_in_exhaust_ma_cell_by_cell():
    told = recorded("exhaust.jsonl")
    assert len(told) >= 270 and {len(one["warriors"]) for one in told} == {2, 3, 4}
    for one in told:
        battle = fought(one)
        assert deaths(battle) == one["died"]
        text = "\n".join(spelled(cell, one["core"]) for cell in battle.core)
        assert zlib.crc32(text.encode()) == one["digest"], one


def test_duels_end_as_in_pmars():
    told = recorded("pmars.jsonl")
    assert len(told) == 200 and {one["result"] for one in told} == {"first", "second", "tie"}
    for one in told:
        died = deaths(fought(one))
        assert (("second", "first")[died[0]] if died else "tie") == one["result"]


def test_sources_are_assembled_as_by_pmars():
    for one in recorded("pmars.jsonl"):
        rules = CoreRules(core=one["core"])
        assert listing(assemble(one["source"], rules), one["core"]) == one["assembled"]


SITTER = "NOP 0\nNOP 1\n" * 9 + "NOP 0\nJMP -19"
"""Walks in a circle of twenty instructions, of which neighbours differ."""


@pytest.mark.parametrize("name", [x for x in CLASSICS if x not in ("imp", "ring", "gate")])
def test_a_classic_ends_what_only_walks(name):
    died = [play(CLASSICS[name], SITTER, places=(0, at)).lived[1] < 4000 for at in (90, 150, 201)]
    assert all(died)


def test_an_imp_runs_through_the_core_and_makes_imps_of_others():
    battle = play(CLASSICS["imp"], SITTER, places=(0, 200))
    assert battle.lived == (4000, 4000) and [sum(ran) for ran in battle.ran] == [400, 400]


def test_a_ring_of_imps_runs_through_the_core_and_two_of_them_may_die():
    assert sum(play(CLASSICS["ring"]).ran[0]) == 400
    assert play(CLASSICS["ring"], SITTER, places=(0, 200)).lived[0] == 4000


def test_a_gate_ends_an_imp():
    assert play(CLASSICS["imp"], CLASSICS["gate"], places=(0, 200)).lived[0] < 4000


def test_two_imps_tie_and_share_every_cycle():
    battle = play(CLASSICS["imp"], CLASSICS["imp"])
    assert battle.lived == (4000, 4000) and battle.shares == (0.5, 0.5)


def test_a_dwarf_kills_a_line_that_does_nothing():
    idle = "\n".join(["NOP 0"] * 19 + ["JMP -19"])
    battle = play(CLASSICS["dwarf"], idle)
    assert battle.lived[0] == 4000 and battle.lived[1] < 4000
    assert battle.shares[0] + battle.shares[1] == pytest.approx(1)


@pytest.mark.parametrize(
    ("line", "cells", "after"),
    [
        ("ADD.A $1, $2", "DAT.F $3, $5", "DAT.F $10, $9"),
        ("ADD.BA $1, $2", "DAT.F $3, $5", "DAT.F $12, $9"),
        ("SUB.X $1, $2", "DAT.F $3, $5", "DAT.F $2, $6"),
        ("MUL.AB $1, $2", "DAT.F $3, $5", "DAT.F $7, $27"),
        ("DIV.F $1, $2", "DAT.F $0, $5", "DAT.F $7, $1"),  # the other half is still computed
        ("MOD.X $1, $2", "DAT.F $4, $0", "DAT.F $7, $1"),
        ("MOV.I {1, $2", "DAT.F $1, $5", "DAT.F $0, $5"),
        ("MOV.AB >1, $2", "DAT.F $3, $1", "DAT.F $7, $7"),
        ("DJN.F $1, $2", "DAT.F $3, $5", "DAT.F $6, $8"),
    ],
)
def test_what_an_operation_writes(line, cells, after):
    code = f"{line}\n{cells}\nDAT.F $7, $9"
    battle = play(code, cycles=1)
    assert spelled(battle.core[2], 400) == after
    assert battle.lived == (0 if line[:3] in ("DIV", "MOD") else 1,)


def test_a_split_goes_on_first_and_stops_at_the_limit():
    battle = play("SPL 2\nJMP 0\nJMP 0", cycles=100, tasks=2)
    assert battle.spawned == (1,) and [at for at in range(400) if battle.ran[0][at]] == [0, 1, 2]
    assert play("SPL 0\nJMP 0", cycles=100, tasks=7).spawned == (6,)


def test_a_battle_may_end_with_those_that_matter():
    warriors = [assemble(text, RULES) for text in ("DAT 0", "MOV 0, 1", "MOV 0, 1")]
    assert fight(warriors, (0, 100, 200), RULES, matter=[0]).ran[1].count(1) == 0
    assert fight(warriors, (0, 100, 200), RULES).ran[1].count(1) == 400


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no instruction"),
        ("; MOV 0, 1", "no instruction"),
        ("MOVE 0, 1", "line 1: 'MOVE' is no opcode; did you mean MOV"),
        ("NOP\nMOV 0", "line 2: MOV takes two operands"),
        ("JMP", "line 1: JMP takes 1 to 2 operands"),
        ("MOV.Q 0, 1", "unknown modifier .Q"),
        ("loop JMP lop", "line 1: unknown name lop; did you mean loop"),
        ("x NOP\nx NOP", "line 2: the name x is defined twice"),
        ("a EQU b+b\nb EQU a\nJMP a", "line 3: an expression is too long"),
        ("JMP 1/0", "a division by zero"),
        ("JMP (1", "a bracket is not closed"),
        ("JMP 1 2", "'2' stands where an operand should end"),
        ("JMP 3-", "a number or a name is missing"),
        ("JMP 2**9", "a number or a name is missing"),
        ("JMP __import__('os')", "is no number, name, bracket"),
        ("ORG 3\nNOP", "line 1: the program starts at 3"),
        ("EQU 3\nNOP", "EQU needs a name"),
        ("NOP\n" * 21, "line 21: more than 20 instructions"),
        (";" * 20_001, "at most 20000 are read"),
        (f"JMP {'a' * 9000}", "unknown name aaa"),
        (f"{'a' * 9000} NOP\nJMP {'a' * 9001}", "did you mean aaa"),
        (f"{'a' * 9000} NOP\n{'a' * 9000} NOP", "is defined twice"),
        (f"NOP.{'a' * 9000}", "unknown modifier"),
        ("a " * 9000 + "?", "is no opcode"),
        ("JMP " + "(" * 9000, "too long"),
        ("JMP " + "-" * 9000 + "1", "too long"),
        ("MOV \u0661, 0", "is no number"),
        ("\uff2d\uff2f\uff36 0, 1", "is no opcode"),
        ("MO\u017f 0, 1", "is no opcode"),
    ],
)
def test_what_cannot_be_assembled_says_why(text, why):
    with pytest.raises(DataError) as error:
        assemble(text, RULES)
    assert why in str(error.value) and "\n" not in str(error.value)
    assert len(str(error.value)) < 300


@given(st.text(alphabet="MOVDATJPx.:;,#$@<>{}*+-/%()0123456789 \nEQU", max_size=200))
def test_any_text_is_a_program_or_an_error(text):
    try:
        warrior = assemble(text, RULES)
    except DataError:
        return
    assert assemble(listing(warrior, 400), RULES) == warrior


def test_a_bomb_of_constants_ends_at_once():
    doubled = "\n".join(f"c{i} EQU c{i + 1}*c{i + 1}" for i in range(200))
    with pytest.raises(DataError, match="too long"):
        assemble(f"{doubled}\nc200 EQU 9\nJMP c0", RULES)


@pytest.mark.parametrize("seed", range(20))
def test_edits_keep_to_the_rules(seed):
    rng = np.random.default_rng(seed)
    rules = CoreRules(length=5)
    warrior, other = random_warrior(rules, rng), random_warrior(rules, rng)
    seen = set()
    for _ in range(60):
        warrior = edited([warrior, other], rules, rng)
        seen.add(len(warrior.code))
        assert assemble(listing(warrior, 400), rules) == warrior
    assert len(seen) > 2


@pytest.mark.parametrize("count", [1, 2, 7, 20])
def test_places_keep_their_distance(count):
    for seed in range(50):
        places = sorted(placed(count, RULES, np.random.default_rng(seed)))
        gaps = [b - a for a, b in zip(places, [*places[1:], places[0] + 400], strict=True)]
        assert len(places) == count and (count == 1 or min(gaps) >= 20)


def test_an_empty_core_and_overlapping_warriors():
    assert spelled(EMPTY, 400) == "DAT.F $0, $0"
    with pytest.raises(ConfigError, match="length=30 and distance=20"):
        CoreRules(length=30)
