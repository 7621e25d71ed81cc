"""A soak of the environments: many steps of random and fuzzed replies over all ids.

Watched: memory and open files after every round over the ids, and that every step leaves a legal
state (rewards finite, an end for every seat at once, infos for the seats that play).

    python studies/soak.py --steps 1000000 > soak.txt
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from coevo.envs import list_envs, make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import StopReason

FUZZ = ("", "[", "]]][[[", "[\ud800]", "\x00\x1b[31m[1]", "[9] " * 500, "\u202e[0]\ue000", "NaN")
"""Replies that no rules foresee."""
SLICE = 200
"""Steps of one environment in a round."""
MOST = 2.0
"""Megabytes per 100,000 steps from which memory grows."""
STYLES = ("full", "terse")


@dataclass
class Soak:
    """What was seen."""

    steps: int = 0
    episodes: int = 0
    stops: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    """`id: what was wrong`."""
    memory: list[float] = field(default_factory=list)
    """Resident megabytes after each round."""
    files: list[int] = field(default_factory=list)
    """Open file handles after each round."""

    @property
    def slope(self) -> float:
        """Return the growth of memory over the later half of the rounds, MB per 100,000 steps."""
        half = len(self.memory) // 2
        late = self.memory[half:]
        if len(late) < 2:
            return float("nan")
        per_round = float(np.polyfit(np.arange(len(late)), late, 1)[0])
        return per_round * 100_000 / (self.steps / len(self.memory))


def replies(env: TextEnv, rng: np.random.Generator, fuzzed: float) -> Iterator[str]:
    """Yield a reply for the seat that is asked, again and again."""
    while True:
        legal = env.infos[env.agent_selection]["legal_actions"]
        if rng.random() < fuzzed:
            yield FUZZ[int(rng.integers(len(FUZZ)))]
        elif legal:
            yield f"[{legal[int(rng.integers(len(legal)))]}]"
        else:
            yield f"I think so. [{int(rng.integers(10))}]"


def check(env: TextEnv) -> str:
    """Return what is wrong with the state of an environment; empty if nothing is."""
    if not all(np.isfinite(r) for r in env.rewards.values()):
        return f"rewards {env.rewards}"
    over = [env.terminations[a] or env.truncations[a] for a in env.agents]
    ended = env.episode.stop is not StopReason.UNFINISHED
    if set(over) != {ended}:
        return f"stop {env.episode.stop}, ends {over}"
    if env.infos.keys() != set(env.agents):
        return f"infos of {sorted(env.infos)}, seats {env.agents}"
    if not ended and env.agent_selection not in env.awaiting:
        return f"{env.agent_selection} is asked, {env.awaiting} are awaited"
    return ""


def soak(ids: list[str], steps: int, *, seed: int = 0, fuzzed: float = 0.1) -> Soak:
    """Play the environments in turn until so many steps are made."""
    found, rng = Soak(), np.random.default_rng(seed)
    while found.steps < steps:
        for id in ids:
            style = STYLES[int(rng.integers(2))]
            env = make(id, prompt_style=style, illegal={"retries": int(rng.integers(3))})
            _some(env, found, rng, fuzzed)
        gc.collect()
        found.memory.append(_resident())
        found.files.append(len(os.listdir("/proc/self/fd")))
        sys.stderr.write(
            f"{found.steps} steps, {found.memory[-1]:.1f} MB, {found.files[-1]} files\n"
        )
    return found


def _some(env: TextEnv, found: Soak, rng: np.random.Generator, fuzzed: float) -> None:
    made = 0
    while made < SLICE:
        env.reset(seed=int(rng.integers(2**31)))
        for reply in replies(env, rng, fuzzed):
            env.step(reply)
            made += 1
            found.steps += 1
            if wrong := check(env):
                found.faults.append(f"{env}: {wrong}")
            if env.episode.stop is not StopReason.UNFINISHED or made >= SLICE:
                break
        found.episodes += 1
        stop = str(env.episode.stop)
        found.stops[stop] = found.stops.get(stop, 0) + 1


def _resident() -> float:
    """Return this process's resident memory in megabytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def main(arguments: list[str]) -> int:
    """Run and print; 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    start = time.perf_counter()
    found = soak([spec.id for spec in list_envs()], given.steps, seed=given.seed)
    lines = [
        f"{found.steps} steps, {found.episodes} episodes, {time.perf_counter() - start:.0f} s",
        f"stops {found.stops}",
        f"memory {found.memory[0]:.1f} to {found.memory[-1]:.1f} MB, "
        f"{found.slope:.3f} MB per 100,000 steps over the later half",
        f"files {found.files[0]} to {found.files[-1]}",
        f"faults {len(found.faults)}: {found.faults[:5]}",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    grown = found.slope > MOST or found.files[-1] > found.files[len(found.files) // 2]
    return 1 if found.faults or grown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
