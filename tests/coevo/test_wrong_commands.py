"""Wrong command lines in this process: a sample of what `make faults` tries in processes."""

import os
import time

import numpy as np
import pytest

from coevo.__main__ import main
from tests.faults.child import Done
from tests.faults.command_lines import all_wrong
from tests.faults.wrong_commands import clear, fault_of, prepare

SAMPLE = 64
"""Command lines, evenly over the ways to be wrong."""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="one of the files is a pipe")
def test_wrong_command_lines_are_refused_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COEVO_TRACEBACK", raising=False)
    rng, faults = np.random.default_rng([5, 3]), []
    prepare(rng)
    for wrong in all_wrong(rng, SAMPLE):
        began = time.monotonic()
        status = main(wrong.words)
        out, err = capsys.readouterr()
        done = Done(status, out, err, (time.monotonic() - began) / 10, 0)
        clear()
        if fault := fault_of(wrong, done):
            faults.append(f"{fault}: {wrong.words} ({wrong.what}): {done!r}")
    assert not faults, "\n".join(faults)
