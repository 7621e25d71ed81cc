"""The quick experiments print the figures that the table of the folder has."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

STUDIES = Path(__file__).resolve().parents[2] / "studies"
TABLE = (STUDIES / "README.md").read_text()


@pytest.mark.parametrize("name", ["bnpo", "tis"])
def test_printed_figures_are_in_the_table(name):
    script = STUDIES / f"{name}_numpy.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    printed = re.findall(r"\d\.\d{4}(?: ± \d\.\d{4})?", done.stdout)
    assert printed
    assert [figure for figure in printed if figure not in TABLE] == []


def test_every_experiment_is_in_the_table():
    assert set(re.findall(r"\w+_numpy\.py", TABLE)) == {p.name for p in STUDIES.glob("*_numpy.py")}
