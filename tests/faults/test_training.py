"""Training that is killed, refused, signalled or damaged: it continues to the same bits."""

import os
import time

import pytest

from tests.faults import child
from tests.faults.conftest import CYCLES, ends, goes_on

pytestmark = pytest.mark.faults
KILLS = 2
"""Of either kind for every kind of cycle."""


@pytest.mark.parametrize("cycle", CYCLES)
def test_killed_at_any_moment(cycle, calm, words, rng, tmp_path, fault):
    whole = calm(cycle)
    for number in range(KILLS):
        folder = tmp_path / f"time{number}" / "run"
        begun = child.Child(words(cycle, folder), folder.parent)
        time.sleep(whole.seconds * rng.random())
        begun.kill()
        _then_equal("kill", begun.wait(), folder, words(cycle, folder), whole, fault)
    for number in range(KILLS):
        folder = tmp_path / f"change{number}" / "run"
        at = int(rng.integers(len(whole.changes))) + 1
        killed = child.at_change(folder, at, child.die)
        done = child.run(words(cycle, folder), folder.parent, killed)
        kind = "kill while a file is written"
        _then_equal(kind, done, folder, words(cycle, folder), whole, fault)


def _then_equal(kind, done, folder, command, whole, fault):
    again = goes_on(folder, command)
    held = again.status == 0 and ends(folder) == whole.ends
    fault(kind, held and done.status in (0, -9), (folder, done, again, where(folder, whole)))


def where(folder, whole) -> list[str]:
    """Name what differs from the undisturbed run."""
    try:
        found = ends(folder)
    except (OSError, ValueError) as error:
        return [repr(error)]
    keys = {*found, *whole.ends}
    return [k for k in sorted(keys) if found.get(k) != whole.ends.get(k)]


def test_a_pipe_that_nobody_reads(calm, words, tmp_path, fault):
    whole, folder = calm("policy gradient"), tmp_path / "run"

    def closed() -> None:
        read, write = os.pipe()
        os.close(read)
        os.dup2(write, 1)

    command = words("policy gradient", folder)
    done = child.run(command, tmp_path, closed)
    again = goes_on(folder, command)
    held = done.status == 141 and not done.err and again.status == 0
    held = held and ends(folder) == whole.ends
    fault("closed pipe", held, (done, again, where(folder, whole)))
