"""Both tiers: verdicts, limits, determinism, copies; and attacks, which change nothing."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from coevo.envs.core.errors import ConfigError, MissingExtraError
from coevo.envs.programs import cpython, jail, tiers
from coevo.envs.programs.monty import MontySandbox
from coevo.envs.programs.sandbox import GRACE, Limits
from tests.envs.programs import attacks

pytest.importorskip("pydantic_monty", reason="the extra `programs` is not installed")
needs_jail = pytest.mark.skipif(bool(cpython.why_not()), reason=f"no jail: {cpython.why_not()}")
BOTH = ["interpreter", pytest.param("language", marks=needs_jail)]
QUICK = Limits(seconds=0.05)
SECRET = "the-secret-of-the-host"
SLACK = 5.0
"""Seconds that a busy machine may add."""


@pytest.fixture(params=BOTH)
def sandbox(request):
    return getattr(tiers, request.param)()


def called(sandbox, source, expression="None", **inputs):
    with sandbox.open(source, limits=QUICK) as program:
        return program.call(expression, **inputs)


def test_a_program_keeps_its_state_between_calls_and_gives_plain_values(sandbox):
    with sandbox.open(
        "n = [0]\ndef f(x):\n    n[0] += x\n    print('hi', x)\n    return n[0]"
    ) as program:
        assert [program.call("f(x)", x=x).value for x in (1, 2)] == [1, 3]
        assert program.call("f(0)").printed == "hi 0\n"
    value = [1, (2.5, None, True), {"a": {1, 2}, (1,): frozenset([3])}, b"x", 1j, "é\n"]
    assert called(sandbox, "", "value", value=value).value == value


@pytest.mark.parametrize(
    ("source", "expression", "verdict", "detail"),
    [
        ("def f(:", "1", "syntax", ""),
        ("1 / 0", "1", "raised", "ZeroDivisionError: division by zero"),
        ("", "{}['a\\nb']", "raised", "KeyError"),
        ("", "unknown", "raised", "NameError: name 'unknown' is not defined"),
        ("while True: pass", "1", "time", ""),
        ("def f(): return f()", "f()", "depth", "RecursionError"),
        ("", "'a' * 10**10", "memory", "MemoryError"),
        ("", "'a' * 200_000", "bad_value", "too large"),
        ("", "[1, ...]", "bad_value", "plain value"),
        ("class A: pass", "A()", "bad_value", "plain value"),
    ],
)
def test_verdicts_are_data(sandbox, source, expression, verdict, detail):
    found = called(sandbox, source, expression)
    assert (found.verdict, found.value) == (verdict, None)
    assert detail in found.detail
    assert "\n" not in found.detail


@pytest.mark.parametrize("source", ["import numpy", "class B(Exception): pass", "callable(1)"])
def test_what_the_first_tier_lacks_is_said_to_be_unsupported(source):
    assert called(tiers.interpreter(), source).verdict == "unsupported"


@needs_jail
def test_the_second_tier_is_the_whole_language():
    source = "import heapq, string\nclass A(Exception):\n    @property\n    def x(self): yield 1"
    assert called(tiers.language(), source, "list(A().x)").value == [1]
    assert called(tiers.language(), "", "2**20000").verdict == "bad_value"  # too many digits


def test_after_a_verdict_that_loses_it_a_program_starts_anew(sandbox):
    with sandbox.open("n = [1]", limits=QUICK) as program:
        assert program.call("n.append(2)").ok
        assert program.call("[1 for _ in iter(int, 1)]").verdict in ("time", "memory")
        assert (program.call("n").value, program.lost) == ([1], 1)


def test_what_goes_in_is_a_copy(sandbox):
    given = {"a": [1, 2]}
    found = called(sandbox, "", "(x['a'].append(3), x)[1]", x=given)
    assert (found.value, given) == ({"a": [1, 2, 3]}, {"a": [1, 2]})


def test_functions_of_ours_can_be_called_with_plain_values(sandbox):
    asked = []
    functions = {"ask": lambda *x: (asked.append(x), {"got": x})[1]}
    with sandbox.open(
        "def f(n): return [ask(i, (i,))['got'] for i in range(n)]", functions=functions
    ) as p:
        assert p.call("f(3)").value == asked == [(0, (0,)), (1, (1,)), (2, (2,))]


ALEATORY = """
import random, time
def f():
    return random.random(), random.choice(range(100)), hash("a"), time.time(), sorted({"b", "a"})
"""


def test_one_seed_gives_one_result_in_every_process(sandbox):
    def run(seed):
        with sandbox.open(ALEATORY, seed=seed) as program:
            return program.call("(f(), f())").value

    assert run(7) == run(7) != run(8)
    code = "import sys; from coevo.envs.programs import tiers\n"
    code += "with getattr(tiers, sys.argv[1])().open(sys.stdin.read(), seed=7) as p: "
    code += "print(p.call('(f(), f())').value)"
    tier = "language" if sandbox is tiers.language() else "interpreter"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, tier],
        input=ALEATORY, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == str(run(7))


def test_a_worker_that_is_killed_during_a_call_is_a_verdict():
    sandbox = MontySandbox()

    def kill():
        for child in Path(f"/proc/{os.getpid()}/task").glob("*/children"):
            for pid in map(int, child.read_text().split()):
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                if b"monty" in command or b"bwrap" in command:
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.5)  # what it started in its namespace ends after it

    with sandbox.open("x = 1", functions={"kill": kill}) as program:
        assert program.call("x").value == 1
        assert program.call("kill()").verdict == "crash"
        assert program.call("x").value == 1
    sandbox.close()


def test_what_differs_from_cpython_in_the_first_tier_is_known():
    """When one of these fails, Monty was mended: say so in the tutorial."""
    code = r"import re" "\n" r"x = re.sub(r'(.)([A-Z][a-z]+)', r'\1_\2', 'GoogleAssistant')"
    assert called(tiers.interpreter(), code, "x").value == "GooglAssistant"
    assert called(
        tiers.interpreter(), "class A:\n    def __bool__(self): return False", "bool(A())"
    ).value


# ---- Attacks -------------------------------------------------------------------------------------


@pytest.fixture
def host(tmp_path, monkeypatch, capfd):
    """Watch a file, the environment, the output and the processes of the host during a test."""
    file = tmp_path / "secret.txt"
    file.write_text(SECRET)
    monkeypatch.setenv("SECRET", SECRET)
    yield file
    assert file.read_text() == SECRET
    assert list(tmp_path.iterdir()) == [file]
    assert capfd.readouterr() == ("", "")


def attack(sandbox, source, file):
    """Run an attack as a definition and as what a function does when it is called."""
    body = "".join(f"    {line}\n" for line in source.replace("FILE", str(file)).splitlines())
    start = time.monotonic()
    found = called(sandbox, f"def f():\n{body}", "f()")
    assert time.monotonic() - start < QUICK.seconds * 2 + GRACE + SLACK, source
    assert SECRET not in repr(found), source
    return found.verdict


def test_no_attack_reaches_the_host_from_the_first_tier(host):
    verdicts = Counter(attack(tiers.interpreter(), source, host) for source in attacks.ATTACKS)
    assert sum(verdicts.values()) > 180
    assert verdicts["time"] > 10 and verdicts["memory"] > 20 and verdicts["raised"] > 30
    assert called(tiers.interpreter(), "", "1 + 1").value == 2


@needs_jail
def test_no_attack_reaches_the_host_from_the_second_tier(host):
    """A sample of those that this tier alone makes possible; studies/ has a script for all."""
    for source in [*attacks.FILES[::3], *attacks.OUT[::2], *attacks.INSIDE[::8]]:
        attack(tiers.language(), source, host)
    assert called(tiers.language(), "", "1 + 1").value == 2
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "sleep 1000" not in left


# ---- Without a jail ------------------------------------------------------------------------------


@pytest.fixture
def jailless(monkeypatch):
    """Take bubblewrap away."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    jail.jailed.cache_clear()
    yield
    jail.jailed.cache_clear()


def test_without_bubblewrap_there_is_no_second_tier(jailless, monkeypatch):
    assert "apt install bubblewrap" in cpython.why_not()
    with pytest.raises(ConfigError, match="need a jail: bubblewrap is not installed"):
        called(cpython.CpythonSandbox(), "", "1")


def test_a_jail_that_is_required_and_absent_is_one_line(jailless, monkeypatch):
    sandbox = MontySandbox()
    assert sandbox.name == "monty"
    monkeypatch.setenv(jail.REQUIRED, "1")
    with pytest.raises(ConfigError) as error:
        called(sandbox, "", "1")
    assert str(error.value).count("\n") == 0
    assert "COEVO_REQUIRE_JAIL=1, and programs have no jail here" in str(error.value)
    monkeypatch.setenv(jail.REQUIRED, "yes")
    with pytest.raises(ConfigError, match="must be 0 or 1"):
        called(sandbox, "", "1")


def test_without_monty_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"'\.\[programs\]'"):
        MontySandbox()


def test_every_process_that_runs_a_program_is_a_worker_or_jailed():
    """No bare subprocess: the two places that start one go through the jail's command."""
    folder = Path(tiers.__file__).parent
    starts = {p.name: p.read_text().count("subprocess.") for p in folder.glob("*.py")}
    assert {name for name, count in starts.items() if count} == {"jail.py", "cpython.py"}


@needs_jail
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_the_jail_needs_no_rights():
    """An unprivileged user starts the same command."""
    command = jail.jailed("/usr/bin/true", "--version", 10**9).command
    at = next(i for i, part in enumerate(command) if part.endswith("bwrap"))
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"]
    assert (
        subprocess.run([*nobody, *command[at:]], capture_output=True, check=False).returncode == 0
    )
