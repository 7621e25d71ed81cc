"""Updates per hour where the environment is slow, played and learnt in turn or played ahead.

Kuhn poker whose every round takes half a second, as a browser or a server would; the starter model
learns by REINFORCE with truncated importance weights. The last updates are timed, when as many
batches are under way as the staleness allows.

    python -P -m coevo.benchmarks.studies.staleness --updates 8 > staleness.txt
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from coevo.envs import register
from coevo.envs.core.factories import aec_factory, raw_factory
from coevo.envs.games.kuhn_poker import KuhnPoker
from coevo.trainers import loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.run_folder import RunFolder

ID = "coevo/slow_kuhn_poker-v0"
LATENCY = 0.5
"""Seconds of every round."""
START = 3
"""Updates that are not timed."""


class SlowKuhnPoker(KuhnPoker):
    """Kuhn poker behind a slow line."""

    env_id: ClassVar[str] = ID

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        """Carry a round out, late."""
        time.sleep(LATENCY)
        return super().play(moves)


raw_env = raw_factory(SlowKuhnPoker)
env = aec_factory(SlowKuhnPoker)


def seconds(staleness: int, updates: int, episodes: int, seed: int) -> list[float]:
    """Return the wall-clock seconds from one update's end to the next one's."""
    given = {
        "collect.episodes": episodes,
        "collect.staleness": staleness,
        "loss.is_correction": {"name": "token_tis"},
    }
    config = TrainConfig(
        algorithm=algorithm("reinforce", changes=given),
        env=ID,
        seed=seed,
        steps=START + updates,
        checkpoint_every=10**6,
        threads=1,
        device="cpu",
    )
    ends = []
    with tempfile.TemporaryDirectory() as folder:
        run = loop.start(config, RunFolder(Path(folder)))
        for done in loop.updates(run):
            ends.append(time.monotonic())
            oldest = done.metrics.get("staleness/max", 0.0)
    if oldest != staleness:
        raise RuntimeError(f"the last update learnt from episodes {oldest} updates old")
    return [b - a for a, b in zip(ends[START - 1 :], ends[START:], strict=False)]


def main(arguments: list[str]) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--updates", type=int, default=8)
    parser.add_argument("--episodes", type=int, default=2)
    parser.add_argument("--staleness", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    register(ID, "coevo.benchmarks.studies.staleness", "late", kind="competitive", listed=False)
    base = 0.0
    for staleness in (0, *given.staleness):
        found = seconds(staleness, given.updates, given.episodes, given.seed)
        each = statistics.fmean(found)
        base = base or each
        sys.stdout.write(
            f"staleness {staleness}: {3600 / each:.0f} updates per hour, {each:.2f} s each "
            f"({min(found):.2f} to {max(found):.2f}), {base / each:.2f} times\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
