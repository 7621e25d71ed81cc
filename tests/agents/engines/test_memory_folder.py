import gc
import os
import subprocess
import sys

from coevo.agents.engines.processes import PREFIX, MemoryFolder

KILLED = """
import os, signal, sys
from pathlib import Path
from coevo.agents.engines.processes import MemoryFolder
folder = MemoryFolder(Path(sys.argv[1]))
(folder.path / "weights").write_text("1")
os.kill(os.getpid(), signal.SIGKILL)
"""


def aged(path):
    os.utime(path, (0, 0))


def test_a_folder_goes_with_its_owner_and_what_a_kill_left_goes_when_the_next_is_made(tmp_path):
    one = MemoryFolder(tmp_path)
    subprocess.run([sys.executable, "-P", "-c", KILLED, str(tmp_path)], check=False)
    (left,) = (p for p in tmp_path.iterdir() if p != one.path)
    (tmp_path / "others").mkdir()
    for path in (one.path, left, tmp_path / "others"):
        assert path.is_dir()
    MemoryFolder(tmp_path)
    assert left.is_dir(), "it may just have been made"
    for path in (one.path, left, tmp_path / "others"):
        aged(path)
    two = MemoryFolder(tmp_path)
    assert {*tmp_path.iterdir()} == {one.path, two.path, tmp_path / "others"}
    assert one.path.name.startswith(PREFIX)
    path = one.path
    del one
    gc.collect()
    assert not path.exists() and two.path.is_dir()
