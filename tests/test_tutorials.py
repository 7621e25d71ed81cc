"""What a tutorial writes passes the tests that the package's own environments, rewards, algorithms
and claims pass, once it is copied in."""

import os
import re
import subprocess
import sys

import pytest

from tests.test_docs import ROOT, blocks

SHOWS = re.compile(r"^(?:for |print\()", re.MULTILINE)
"""Where the code of a tutorial stops to define and begins to show."""
COPIED = {
    "environment": "import environment_0, environment_1, environment_2",
    "reward": "import reward_0",
    "algorithm": """
from typing import Annotated, get_args
from algorithm_0 import ALGORITHM
from algorithm_2 import GroupMedian
from coevo.envs.core.config import choice
from coevo.trainers import components
from coevo.trainers.algorithms import ALGORITHMS

ALGORITHMS[ALGORITHM.name] = ALGORITHM
union = get_args(components.AnyBaseline)[0] | GroupMedian
components.AnyBaseline = Annotated[union, choice(components.Baseline)]
""",
    "claim": """
from coevo.benchmarks import reproductions

reproductions.claims.__path__.append(FOLDER)
reproductions.NAMES = (*reproductions.NAMES, "loo_bandit")
""",
}
"""How the code of a tutorial is copied in: what a line in a table of the package would do."""
CONTRACTS = {
    "environment": (["tests/envs/core"], "mine/"),
    "reward": (["tests/envs/rewards"], "polite"),
    "algorithm": (
        [
            "tests/trainers/test_algorithms.py",
            "tests/trainers/test_algorithm_laws.py",
            "tests/trainers/test_learns.py",
            "tests/trainers/test_loop.py",
            "tests/trainers/components/test_laws.py",
        ],
        "loo_entropy or group_median",
    ),
    "claim": (["tests/benchmarks/reproductions/test_framework.py"], "loo_bandit"),
}
"""The tests of each kind, and what they call that of the tutorial."""
LEAST = {"environment": 40, "reward": 4, "algorithm": 15, "claim": 4}
"""Fewest tests that find it in the tables."""


def copy_in(kind, folder):
    """Write the modules of a tutorial, and `copied`, which puts them into the tables."""
    page = ROOT / "docs" / "tutorials" / f"{kind}.md"
    for number, (_, code) in enumerate(blocks(page, "python")):
        name = "loo_bandit" if kind == "claim" else f"{kind}_{number}"
        (folder / f"{name}.py").write_text(SHOWS.split(code)[0], encoding="utf-8")
    (folder / "copied.py").write_text(f"FOLDER = {str(folder)!r}\n{COPIED[kind]}")


@pytest.mark.parametrize("kind", COPIED)
def test_the_code_of_a_tutorial_passes_the_contract_tests_when_copied_in(kind, tmp_path):
    copy_in(kind, tmp_path)
    files, named = CONTRACTS[kind]
    searched = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", "-q", "-p", "copied", "-k", named, *files],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": searched},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.findall(r"(\d+) passed", done.stdout)[-1]) >= LEAST[kind]
