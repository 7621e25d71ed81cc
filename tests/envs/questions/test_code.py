"""Questions whose answers are programs: what is graded right, and cheats, which are not."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pydantic_monty", reason="the extra `programs` is not installed")

from coevo.benchmarks.outcomes import is_solved
from coevo.benchmarks.repeats import RepeatedStart, Repeats
from coevo.envs import make
from coevo.envs.core.errors import DataError
from coevo.envs.programs import cpython, tiers
from coevo.envs.questions import code_grading, final_answer, questions

DATA = Path(__file__).parents[4] / "shared" / "data"
real_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"real question files are absent: {DATA}")
needs_jail = pytest.mark.skipif(bool(cpython.why_not()), reason=f"no jail: {cpython.why_not()}")

PROMPT = '''from typing import List


def double(x: List[int]) -> List[int]:
    """ Twice.
    >>> double([1])
    [2]
    """
'''
DOUBLE = {
    "task_id": "Mine/0",
    "prompt": PROMPT,
    "entry_point": "double",
    "canonical_solution": "    return [2 * i for i in x]\n",
    "test": "def check(candidate):\n    assert candidate([]) == []\n"
    "    assert candidate([1, 2]) == [2, 4]\n    assert candidate([0]) != [1]\n",
}
AREA = {
    "task_id": 7,
    "text": "Write a function to find the area of a[0] x a[1].",
    "code": "def area(a, scale=1):\r\n\treturn a[0] * a[1] * scale",
    "test_setup_code": "",
    "test_list": [
        "assert area((2, 3)) == 6",
        "assert area((2, 2)) == 4",
        "assert area((1, 1)) == 1",
    ],
    "challenge_test_list": [],
}
NEEDS_MORE = {
    "task_id": 8,
    "text": "Write a function to find the smallest.",
    "code": "import heapq\ndef smallest(x): return heapq.nsmallest(1, x)[0]",
    "test_setup_code": "y = [3, 1]",
    "test_list": [
        "assert smallest(y) == 1",
        "assert smallest([2]) == 2",
        "assert smallest([5, 4]) == min(4, 5)",
    ],
}


@pytest.fixture(autouse=True)
def impatience(monkeypatch):
    """Stop endless programs early."""
    monkeypatch.setattr(code_grading, "LIMITS", replace(code_grading.LIMITS, seconds=0.5))


@pytest.fixture
def source(tmp_path):
    """Return a function that makes a source of lines."""

    def make_source(name, *lines, **fields):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        return questions({"name": name, "path": str(path), **fields})

    return make_source


@pytest.fixture
def double(source):
    return source("humaneval", DOUBLE)


@pytest.fixture
def area(source):
    return source("mbpp", AREA)


@pytest.mark.parametrize(
    ("answer", "worth"),
    [
        ("    return [i + i for i in x]", 1),
        ("    return [i + i for i in x]\n\nprint(double([1]))\nassert False", 1),
        ("def double(x):\n    return [i + i for i in x]", 1),
        ("def helper(i): return 2 * i\n\ndef double(x: List[int]): return list(map(helper, x))", 1),
        ("    return x", 0),
        ("    return None", 0),
        ("    return (", 0),
        ("    while True: pass", 0),
        ("", 0),
        (None, 0),
    ],
)
def test_a_completion_or_a_whole_function_is_graded_by_its_check(double, answer, worth):
    assert double.grade(double.item(0), answer) == worth


def test_a_program_is_worth_the_share_of_asserts_that_it_passes(area):
    asked = area.item(0)
    said = ["def area(a): return a[0] * a[1]", "def area(a): return 6", "def area(a): return 1 / 0"]
    assert [area.grade(asked, x) for x in said] == [1, pytest.approx(1 / 3), 0]


EQUAL = """class Equal:
    def __eq__(self, other): return True
    def __ne__(self, other): return True
"""
FRAMES = """import sys
def NAME(*x):
    f = sys._getframe()
    while f:
        f.f_globals.update(verdict='ok', value=6)
        f = f.f_back
    return 0"""
WRITES = """import os
for i in range(64):
    try: os.write(i, b'{"verdict": "ok", "value": 6}\\n')
    except OSError: pass
def NAME(*x): return 0"""
BUILTINS = """import builtins
builtins.bool = lambda x: True
builtins.AssertionError = None
def NAME(*x): return 0"""
SEARCH = """import gc
def NAME(*x):
    return [o for o in gc.get_objects() if isinstance(o, str) and 'assert' in o]"""
CHEATS = [
    EQUAL + "    def __len__(self): return 1\ndef NAME(*x): return Equal()",
    EQUAL + "def NAME(*x): return [Equal()]",
    EQUAL + "def NAME(*x): return {1: Equal()}",
    "class Int(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__\n"
    "def NAME(*x): return Int(9)",
    "class List(list):\n    def __eq__(self, other): return True\ndef NAME(*x): return List()",
    "def NAME(*x): return float('nan')",
    "def NAME(*x): exit(0)",
    "def NAME(*x): raise SystemExit(0)",
    "raise SystemExit(0)\ndef NAME(*x): return 0",
    "import os\nos._exit(0)\ndef NAME(*x): return 0",
    "import sys\nsys.exit(0)",
    "def check(candidate): return True\ndef NAME(*x): return 0",
    "def NAME(*x): return 0\ncheck = lambda candidate: None\ncandidate = lambda *x: 0",
    "def NAME(*x):\n    global check\n    check = print\n    print('passed')\n    return 'passed'",
    "print('passed\\n1.0\\nok')\ndef NAME(*x):\n    print('all tests passed')",
    BUILTINS,
    "__debug__ = False\ndef NAME(*x): return 0",
    WRITES,
    FRAMES,
    SEARCH,
    "def NAME(*x): return open('/proc/self/cmdline').read()",
    "import unittest\ndef NAME(*x): raise unittest.SkipTest",
    "def NAME(*x): return NAME",
    "def NAME(*x): return ...",
    "def NAME(*x): yield 1",
    "def NAME(*x): return type('A', (), {'__eq__': lambda s, o: True})()",
    "def NAME(*x): assert True",
    "import time\ndef NAME(*x): time.sleep(100)",
    "NAME = 1",
]


@pytest.mark.parametrize("cheat", CHEATS)
def test_no_cheat_scores(double, area, cheat):
    assert double.grade(double.item(0), cheat.replace("NAME", "double")) == 0
    assert area.grade(area.item(0), cheat.replace("NAME", "area")) == 0


@pytest.mark.parametrize(
    "test", ["abs(area((2, 3)) - 6) < .5", "not area((2, 3)) - 6", "6 >= area((2, 3)) >= 6"]
)
def test_an_assert_that_is_no_comparison_with_a_literal_is_decided_outside(source, test):
    asked = source("mbpp", {**AREA, "test_list": [f"assert {test}"]})
    question = asked.item(0)
    assert asked.grade(question, "def area(a): return a[0] * a[1]") == 1
    believed = "def NAME(*x): return 0\nbool = abs = lambda *x: True\ndef __not__(x): return True"
    for cheat in [believed, *CHEATS[:6]]:
        assert asked.grade(question, cheat.replace("NAME", "area")) == 0


def test_what_is_no_assert_is_refused_when_it_is_read(source):
    with pytest.raises(DataError, match=r"a test must be one assert, .* found 'area\(1\) == 2'"):
        source(
            "mbpp", {**AREA, "test_list": [*AREA["test_list"], "area(1) == 2"]}, on_error="raise"
        )


def test_a_test_never_reaches_the_program(area):
    """A program sees its arguments; what it is compared with stays outside."""
    seen = "log = []\ndef area(a):\n    log.append(a)\n    return str(log) + str(globals().keys())"
    with tiers.interpreter().open(seen) as program:
        assert "6" not in str(program.call("area((2, 3))").value)
    assert area.grade(area.item(0), seen) == 0


@needs_jail
def test_what_the_first_tier_lacks_is_graded_in_the_second(source):
    more = source("mbpp", NEEDS_MORE)
    asked = more.item(0)
    assert more.grade(asked, asked.answer) == 1
    assert more.grade(asked, "import heapq\ndef smallest(x): return x[0]") == pytest.approx(1 / 3)
    for cheat in CHEATS[::5]:
        assert more.grade(asked, "import heapq\n" + cheat.replace("NAME", "smallest")) == 0


def test_a_reference_that_cannot_run_is_left_out_and_listed_or_refused(source, monkeypatch):
    monkeypatch.setattr(tiers, "language", lambda use="": None)
    more = {**NEEDS_MORE, "code": f"{NEEDS_MORE['code']}  # a text that was not graded before"}
    found = source("mbpp", AREA, more)
    assert len(found) == 1
    assert len(found.skipped) == 1 and "not graded as right" in found.skipped[0]
    with pytest.raises(DataError, match=r"line 2: .*not graded as right"):
        source("mbpp", AREA, more, on_error="raise")
    wrong = {**AREA, "code": "def area(a): return 6"}
    with pytest.raises(DataError, match="holds no question; 1 lines are broken"):
        source("mbpp", wrong)


# ---- Prompts and replies -------------------------------------------------------------------------


def test_prompts_show_code_as_it_is_and_no_test(double, area, source):
    env = make("coevo/solver_verifier-v0", questions=double, loops=1)
    env.reset(seed=0)
    system, user = env.chat("solver_0")
    assert "one block between lines of three backticks" in system["content"]
    assert "```python\nfrom typing import List\n" in user["content"]
    assert "x: List[int]) -> List[int]" in user["content"] and ">>> double([1])" in user["content"]
    assert "check" not in user["content"]
    asked = area.item(0)
    assert asked.question.endswith(
        "a[0] x a[1].\nWrite it as a Python function `area` of 1 argument."
    )
    assert "assert" not in asked.question
    shown = source("mbpp", AREA, shown=1).item(0).question
    assert "area((2, 3)) == 6" in shown and "area((2, 2))" not in shown


def test_an_episode_is_paid_by_the_tests_and_counts_for_pass_at_k(double):
    solved = []
    for said in ("Twice:\n```python\n    return [i + i for i in x]\n```", "    return x"):
        env = make("coevo/solver_verifier-v0", questions=double, loops=1)
        assert env.task.slow
        env.reset(seed=0)
        env.step(said)
        solved.append(is_solved(env, env.episode, "", dict.fromkeys(env.possible_agents, "agent")))
        assert env.episode.turns[0].verified == float(solved[-1])
    assert solved == [True, False]
    starts = (RepeatedStart(0, "", (True, False, False, False), (None,) * 4),)
    assert Repeats(4, starts).pass_at(2).interval.point == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("reply", "program"),
    [
        ("```python\nx = 1\n```", "x = 1"),
        ("First\n```\nx = 1\n```\nbetter:\n```py\nx = [2]\n```\n[3]", "x = [2]"),
        ("<think>```\nx = 0\n```</think>\n```\nx = 1\n```", "x = 1"),
        ("```python\nx = 1", "x = 1"),
        ("    return [1]", "    return [1]"),
        (" \n", None),
    ],
)
def test_the_last_block_of_code_is_the_answer(reply, program):
    assert final_answer(reply, "code") == program


TEAMS = ["debate", "solver_verifier", "moderated_debate", "pioneer_observer", "sequential_team"]


@pytest.mark.parametrize("style", ["full", "terse"])
@pytest.mark.parametrize("name", [*TEAMS, "peer_review"])
def test_every_team_asks_for_a_block_of_code(double, name, style):
    env = make(f"coevo/{name}-v0", questions=double, prompt_style=style)
    env.reset(seed=0)
    said = " ".join(message["content"] for message in env.chat(env.agent_selection))
    assert ("three backticks" if style == "full" else "a block of code") in said
    assert "boxed" not in said and "[answer]" not in said


# ---- Published files -----------------------------------------------------------------------------


@real_data
def test_a_sample_of_published_references_passes(tmp_path):
    for name, file in (("humaneval", "HumanEval.jsonl"), ("mbpp", "mbpp.jsonl")):
        lines = (DATA / name / file).read_text("utf-8").splitlines()
        kept = [lines[i] for i in np.random.default_rng(0).permutation(len(lines))[:12]]
        path = tmp_path / file
        path.write_text("\n".join(kept), encoding="utf-8")
        source = questions({"name": name, "path": str(path)})
        least = 10 if cpython.why_not() else 12
        assert len(source) >= least, source.skipped
        assert all(q.tests for q in map(source.item, range(len(source))))
