"""A command names the extra that it lacks, and the line that installs it, before it imports it."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from coevo.commands.arguments import COMMANDS
from coevo.commands.extras import EXTRAS

ROOT = Path(__file__).resolve().parents[2]
HIDE = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

HIDDEN = sys.argv[1].split(",")
sys.meta_path.insert(0, Hidden())
sys.argv = ["coevo", *sys.argv[2:]]
from coevo.__main__ import main

status = main()
assert not {"torch", "transformers"} & set(sys.modules)
sys.exit(status)
"""


def run(hidden, *words):
    command = [sys.executable, "-P", "-c", HIDE, ",".join(hidden), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def example(name):
    return COMMANDS[name].example.split()[1:]


@pytest.mark.parametrize("name", [name for name in COMMANDS if COMMANDS[name].extra])
def test_a_command_without_its_extra_says_what_installs_it(name):
    extra = COMMANDS[name].extra
    done = run(["torch"], *example(name))
    assert done.returncode == 2, done.stderr
    line = f"coevo {name} needs torch: pip install -c constraints.txt -e '.[{extra}]'"
    assert done.stderr == f"coevo: error: {line}\n"


@pytest.mark.parametrize("words", [["envs"], ["--help"], ["train", "--help"]])
def test_what_needs_no_extra_works_without_all_of_them(words):
    done = run(EXTRAS["compare"], *words)
    assert done.returncode == 0, done.stderr


def test_help_shows_the_extra_beside_each_command():
    lines = run([], "--help").stdout.splitlines()
    for name, kind in COMMANDS.items():
        line = next(line for line in lines if line.startswith(f"  {name} "))
        assert (f"[{kind.extra}]" in line) == bool(kind.extra)


def test_the_packages_of_an_extra_are_those_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = {
        extra: {line.partition(">")[0] for line in lines if not line.startswith("coevo")}
        for extra, lines in project["optional-dependencies"].items()
    }
    assert set(EXTRAS["train"]) == listed["train"]
    assert set(EXTRAS["compare"]) == listed["train"] | listed["compare"]
