"""Carries wrong command lines out, and says which were not refused as they should be."""

import os
import shutil
from pathlib import Path

import numpy as np

from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig, config_text
from tests import damage
from tests.faults.child import Done, run
from tests.faults.command_lines import BROKEN, KUHN, TREES, Wrong, all_wrong, broken_name

SECONDS, MEMORY = 10.0, 2 << 30
"""What a wrong command may take at most."""
WRITTEN = ("new", "runs")
"""Where commands write that name no other place."""
LONGEST = 6000
"""Characters of an answer: a list of all that is known is no longer."""
SURE = ("nested", "nan")
"""Kinds of value that no field takes."""
TOLD = ("algorithm.published", "algorithm.variants")
"""What takes any key: what a record says about itself."""


def prepare(rng: np.random.Generator) -> None:
    """Write what the command lines name into this folder: files, and wrong configurations."""
    Path("a file").write_text("text")
    Path("a folder").mkdir()
    Path("a loop").symlink_to("a loop")
    os.mkfifo("a pipe")
    for kind, content in BROKEN.items():
        Path(broken_name(kind)).write_bytes(content)
    config = TrainConfig(algorithm=algorithm("mars"), env=KUHN, model="table", steps=1)
    Path("right.yaml").write_text(config_text(config))
    harms = [h for h in damage.of_fields(Path("right.yaml")) if h.name.split()[-1] in SURE]
    harms = [h for h in harms if not h.name.startswith(TOLD)]
    harms += damage.of_unknown(Path("right.yaml"), free=TOLD)
    for number in range(TREES):
        path = Path(f"wrong{number}.yaml")
        path.write_text(Path("right.yaml").read_text())
        harms[int(rng.integers(len(harms)))].do(path)


def tried(seed: int, most: int, place: Path) -> list[str]:
    """Return what is wrong with the answers to wrong command lines; the folder is this one."""
    rng = np.random.default_rng([seed, 3])
    prepare(rng)
    found = []
    for wrong in all_wrong(rng, most):
        done = run(wrong.words, place)
        fault = fault_of(wrong, done)
        if done.status == 2 and any(Path(name).exists() for name in WRITTEN):
            fault = fault or "refused, and wrote a folder"
        clear()
        if fault:
            found.append(f"{fault}: coevo {' '.join(wrong.words)[:300]!r} ({wrong.what}): {done!r}")
    return found


def clear() -> None:
    """Remove what a command that was accepted wrote."""
    for name in WRITTEN:
        shutil.rmtree(name, ignore_errors=True)


def fault_of(wrong: Wrong, done: Done) -> str:
    """Return what is wrong with an answer; empty if nothing is."""
    if done.status == 0:
        return "accepted"
    if done.status != 2 or not done.one_line:
        return "not one line and 2"
    if wrong.named and not any(name in done.err for name in wrong.named):
        return f"names none of {wrong.named}"
    if len(done.err) > LONGEST:
        return f"a line of {len(done.err)} characters"
    if done.seconds > SECONDS:
        return f"{done.seconds:.0f} s"
    return f"{done.memory >> 20} MB" if done.memory > MEMORY else ""
