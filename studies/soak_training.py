"""A soak of training: run after run through the loop, watching what must not grow.

Watched: memory, open files and threads after every run; growth over the later half of the time
is a failure. Beside this study, `soak.py` does the same for steps of environments.

    make soak MINUTES=60
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from coevo.trainers import loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.run import start
from coevo.trainers.run_folder import RunFolder

RUNS = (
    ("mars", "starter", "coevo/kuhn_poker-v0"),
    ("remix", "table", "coevo/kuhn_poker-v0"),
    ("dno", "table", "coevo/kuhn_poker-v0"),
)
"""Algorithm, start model, environment: sequences and a cache of tokens, old episodes, pairs."""
UPDATES = 40
"""Of one run; checkpoints are written and pruned on the way."""
MOST = 8.0
"""Megabytes that memory may be larger at the end of the later half than at its start, by the line
through it: what allocators keep for themselves."""


class Seen(NamedTuple):
    """What a process holds after a run."""

    megabytes: float
    files: int
    threads: int


def seen() -> Seen:
    """Return what this process holds now."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    size = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    return Seen(size, len(os.listdir("/proc/self/fd")), threading.active_count())


def growth(values: list[float]) -> float:
    """Return how much the line through the later half of some values rises over that half.

    >>> round(growth([9.0, 1.0, 1.0, 2.0, 3.0, 4.0]), 6)
    2.0
    """
    late = values[len(values) // 2 :]
    slope = np.polyfit(np.arange(len(late)), late, 1)[0] if len(late) > 1 else 0.0
    return float(slope * (len(late) - 1))


def faults(found: list[Seen]) -> list[str]:
    """Return what grew; nothing where all is well.

    >>> flat = [Seen(500.0, 9, 3)] * 8
    >>> faults(flat), faults([Seen(500.0 + 9 * n, 9, 3) for n in range(8)])
    ([], ['memory grew by 27.0 MB'])
    """
    said = []
    if (grown := growth([s.megabytes for s in found])) > MOST:
        said.append(f"memory grew by {grown:.1f} MB")
    late = found[len(found) // 2 :]
    for name in ("files", "threads"):
        first, last = getattr(late[0], name), getattr(late[-1], name)
        if last > first:
            said.append(f"{name} grew from {first} to {last}")
    return said


def soak(minutes: float, *, updates: int = UPDATES) -> list[Seen]:
    """Train one run after the other until the time is up; return what was seen."""
    found: list[Seen] = []
    until, number = time.monotonic() + 60 * minutes, 0
    while time.monotonic() < until or number < len(RUNS):
        name, model, env = RUNS[number % len(RUNS)]
        config = TrainConfig(
            algorithm=algorithm(name),
            env=env,
            model=model,
            seed=number,
            steps=updates,
            checkpoint_every=5,
        )
        with tempfile.TemporaryDirectory() as place:
            folder = RunFolder(Path(place) / "run")
            folder.create(config)
            for _ in loop.updates(start(config, folder)):
                pass
        number += 1
        found.append(seen())
        sys.stderr.write(f"{number} runs, {number * updates} updates: {found[-1]}\n")
    return found


def main(arguments: list[str]) -> int:
    """Run and print; 1 if something grew."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--updates", type=int, default=UPDATES, help="of one run")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    found = soak(given.minutes, updates=given.updates)
    grown = faults(found)
    sys.stdout.write(f"{len(found)} runs, from {found[0]} to {found[-1]}\n")
    sys.stdout.write(f"faults {len(grown)}: {grown}\n")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
