"""Carries wrong command lines out, and says which were not refused as they should be."""

from pathlib import Path

import numpy as np

from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig, config_text
from tests import damage
from tests.faults.child import Done, run
from tests.faults.command_lines import KUHN, all_wrong

SECONDS, MEMORY = 10.0, 2 << 30
"""What a wrong command may take at most."""
SURE = ("nested", "nan")
"""Kinds of value that no field takes."""
TOLD = ("algorithm.published", "algorithm.variants")
"""What a record says about itself: free text and values, read by nobody who trains."""


def prepare(rng: np.random.Generator) -> None:
    """Write what the command lines name into this folder: files, and wrong configurations."""
    Path("a file").write_text("text")
    config = TrainConfig(algorithm=algorithm("mars"), env=KUHN, model="table", steps=1)
    Path("right.yaml").write_text(config_text(config))
    harms = [h for h in damage.of_fields(Path("right.yaml")) if h.name.split()[-1] in SURE]
    harms = [h for h in harms if not h.name.startswith(TOLD)]
    for number in range(400):
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
        if fault := _fault(done):
            found.append(f"{fault}: coevo {' '.join(wrong.words)[:300]!r} ({wrong.what}): {done!r}")
    return found


def _fault(done: Done) -> str:
    if done.status == 0:
        return "accepted"
    if done.status != 2 or not done.one_line:
        return "not one line and 2"
    if done.seconds > SECONDS:
        return f"{done.seconds:.0f} s"
    return f"{done.memory >> 20} MB" if done.memory > MEMORY else ""
