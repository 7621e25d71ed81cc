"""What is written for readers holds: code runs, commands parse, tables and paths are true."""

import ast
import doctest
import importlib
import io
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from coevo.__main__ import TRAIN_EXTRA
from coevo.agents import SCRIPTED
from coevo.agents.population import POPULATION
from coevo.commands.arguments import COMMANDS, Algos, Train, flag
from coevo.commands.parse import parse
from coevo.commands.players import settings
from coevo.envs import list_envs, spec
from coevo.envs.core.errors import UnknownNameError
from coevo.envs.core.illegal import PRESETS
from coevo.trainers.algorithms import ALGORITHMS, algorithm

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FOLDERS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "setuptools"
]["package-dir"]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w.-]+(?:/[\w.-]+)*(?:/|\.(?:py|toml|txt|md))|[\w.-]+(?:/[\w.-]+)+")
NOT_FILES = re.compile(r"coevo/[\w]+-v\d+|owner/name|runs/.*")


def blocks(*languages):
    return [body for language, body in FENCE.findall(README) if language in languages]


def inline(text):
    return CODE.findall(FENCE.sub("", text))


# ---- Code ------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", blocks("python"))
def test_python_in_the_readme_runs(source, tmp_path):
    done = subprocess.run(
        [sys.executable, "-P", "-c", source], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert not done.stderr


def test_the_readme_has_python():
    assert blocks("python")


# ---- Commands --------------------------------------------------------------------------------


def command_lines():
    """Give every line of a block, and every quoted command, that calls coevo."""
    lines = [line for body in blocks("", "sh", "bash", "console") for line in body.splitlines()]
    return [line for line in [*lines, *inline(README)] if line.startswith("coevo ")]


@pytest.mark.parametrize("line", command_lines())
def test_commands_in_the_readme_parse(line):
    words = shlex.split(line, comments=True)
    args = parse(words[1:])
    assert type(args) in COMMANDS.values()
    for env in (getattr(args, "env", None) or "").split(","):
        assert not env or spec(env)
    if isinstance(args, Train) and args.algo is not None:
        algorithm(args.algo, args.variant, settings(args.set, "--set"))
    if isinstance(args, Algos) and args.name not in (None, "NAME"):
        algorithm(args.name)
    for name in (getattr(args, "agent", "seed"), getattr(args, "opponent", "seed")):
        assert name in SCRIPTED or name == "seed" or name.startswith("runs/")


def test_the_readme_shows_every_command():
    shown = {type(parse(shlex.split(line, comments=True)[1:])) for line in command_lines()}
    assert shown == set(COMMANDS.values())


def test_a_line_with_an_option_that_does_not_exist_would_be_noticed():
    with pytest.raises(UnknownNameError, match="--budgets"):
        parse(shlex.split("train mars --env coevo/kuhn_poker-v0 --budgets 4m"))


def test_options_named_in_the_text_exist():
    known = {flag(f.name) for kind in COMMANDS.values() for f in fields(kind)} | {"--help"}
    named = {w for code in inline(README) for w in code.split() if w.startswith("--")}
    assert named and named <= known


def test_make_targets_in_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.findall(r"^make (\w+)", "\n".join(blocks("")), re.MULTILINE)
    assert named
    assert [n for n in named if f"\n{n}:" not in makefile] == []


# ---- Examples in docstrings ------------------------------------------------------------------


def modules():
    """Give every module by name; the folders are mapped, so packages cannot be walked."""
    found = []
    for package, folder in FOLDERS.items():
        for file in sorted((ROOT / folder).rglob("*.py")):
            parts = file.relative_to(ROOT / folder).with_suffix("").parts
            found.append(".".join((package, *(p for p in parts if p != "__init__"))))
    return sorted(found)


AGENTS = ("agent", "game_tree", "human", "oracle", "scripted", "tutor")
LIGHT = [
    *(m for m in modules() if m.startswith("coevo.envs")),
    *("coevo", "coevo.__main__", "coevo.agents", *(f"coevo.agents.{name}" for name in AGENTS)),
    *(f"coevo.benchmarks.{name}" for name in ("evaluate", "exploitability", "scores")),
]
"""What works without any extra: environments, scripted players, exact evaluation."""
EXAMPLES = """
import doctest, importlib, sys
sys.modules |= dict.fromkeys(sys.argv[1].split(","))  # importing these fails
for name in sys.argv[2:]:
    assert doctest.testmod(importlib.import_module(name)).failed == 0, name
"""


@pytest.mark.parametrize("name", [m for m in modules() if m not in LIGHT])
def test_examples_in_docstrings_hold(name):
    said = io.StringIO()
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name)):
        runner.run(test, out=said.write)
    assert runner.failures == 0, said.getvalue()


def test_examples_of_the_light_modules_hold_without_any_extra(tmp_path):
    done = subprocess.run(
        [sys.executable, "-P", "-c", EXAMPLES, ",".join(TRAIN_EXTRA), *LIGHT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_modules_are_found_and_have_examples():
    found = modules()
    assert {"coevo", "coevo.__main__", "coevo.envs.core.env", "coevo.trainers.loop"} <= set(found)
    sources = [
        p.read_text(encoding="utf-8") for f in FOLDERS.values() for p in (ROOT / f).rglob("*.py")
    ]
    docs = [
        ast.get_docstring(node) or ""
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module)
    ]
    assert sum(doc.count(">>>") for doc in docs) > 100


# ---- Tables and names ------------------------------------------------------------------------


def first_column(section):
    """Give the quoted first cells of the table of a section."""
    body = README.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", body, re.MULTILINE)


def test_every_environment_has_one_row():
    assert sorted(first_column("Environments")) == [s.id for s in list_envs()]


def test_every_algorithm_has_one_row():
    assert sorted(first_column("Algorithms")) == sorted(ALGORITHMS)


def test_variants_in_the_table_exist():
    rows = re.findall(r"^\| `(\w+)` \|.*?variant `(\w+)`", README, re.MULTILINE)
    assert rows
    assert [(n, v) for n, v in rows if v not in ALGORITHMS[n].variants] == []


def test_lists_of_names_in_the_text_are_complete():
    text = " ".join(README.split())
    sentence = text.split("that are no legal move:")[1].split(", or your own")[0]
    assert sorted(CODE.findall(sentence)) == sorted(PRESETS)
    sentence = text.split("Populations:")[1].split(".")[0]
    assert sorted(CODE.findall(sentence)) == sorted(POPULATION)


# ---- Files -----------------------------------------------------------------------------------


def named_files(text):
    """Give the paths in quoted code; a name in capitals stands for any, so its folder counts."""
    words = [w for code in inline(text) for w in code.split() if not w.startswith("-")]
    paths = [w for w in words if FILE.fullmatch(w) and not NOT_FILES.fullmatch(w)]
    return [str(Path(p).parent) if re.search(r"\b[A-Z]+\.", Path(p).name) else p for p in paths]


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_named_files_exist(text):
    named = named_files(text)
    assert len(named) > 3
    assert [p for p in named if not (ROOT / p).exists()] == []


def test_the_map_names_the_folders():
    map_ = next(body for body in blocks("") if body.startswith("coevo/"))
    named = re.findall(r"^(\w+)/ ", map_, re.MULTILINE)
    assert sorted(named) == sorted([*FOLDERS.values(), "tests"])


def test_a_wrong_path_would_be_noticed():
    assert named_files("see `envs/core/nothing.py` and `trainers/NAME.py`") == [
        "envs/core/nothing.py",
        "trainers",
    ]
