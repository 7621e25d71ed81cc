"""Every file of a run's folder damaged: each command after it names the file or ends equal."""

import shutil

import pytest

from tests.faults import folders
from tests.faults.child import run

pytestmark = [pytest.mark.faults]
ALL_OF = [pytest.param(k, marks=pytest.mark.xdist_group(f"folder {k}")) for k in folders.KINDS]


@pytest.mark.parametrize("kind", ALL_OF)
def test_a_damaged_file_of_a_run(kind, tiny_model_dir, rng, tmp_path, fault):
    """In every way, each with one command; the seed says which."""

    def call(words):
        return run(words, tmp_path / "said")

    whole, calm, commands = tmp_path / "whole", {}, list(folders.COMMANDS)
    assert call(folders.made(kind, tiny_model_dir, whole)).status == 0
    for command in commands:
        copy = shutil.copytree(whole, tmp_path / command / "run")
        calm[command] = folders.result_of(command, copy, call)[1]
    first = int(rng.integers(len(commands)))
    for number, case in enumerate(folders.cases(whole), first):
        command = commands[number % len(commands)]
        given = (whole, calm[command], tmp_path / "work", call)
        what = folders.fault_of(case, command, *given)
        fault("damaged run folder", not what, what)
