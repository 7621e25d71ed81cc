"""Agent steps per second of the grid worlds: arrays without text, arrays beside text, full chats.

One agent step is one seat's action with the observation that follows. Actions are random and legal;
a world is played in one process, and seconds are those of its CPU.

    OMP_NUM_THREADS=1 python studies/grid_speed.py --seconds 4 > grid_speed.txt
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from coevo.envs import make
from coevo.envs.bridges.arrays import parallel_array_env
from coevo.envs.grids.parallel import grid_env

LARGE = {"map": "large", "steps": 200, "ahead": 15, "behind": 0, "side": 10}
"""The published window, 16 by 21 cells."""
WORLDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("gathering", {}),
    ("gathering", {"gatherers": 8, **LARGE}),
    ("cleanup", {}),
    ("cleanup", {"agents": 10, **LARGE, "ahead": 7, "behind": 7, "side": 7}),
    ("cleanup", {"agents": 10, **LARGE}),
    ("harvest", {}),
    ("harvest", {"harvesters": 10, **LARGE}),
    ("ocean", {}),
    ("rule_world", {}),
)
Play = Callable[[int, np.random.Generator], int]
"""Seed and generator of actions -> agent steps of one episode."""


def arrays(env: Any) -> Play:
    """Return how an episode of a parallel environment of arrays is played."""

    def play(seed: int, rng: np.random.Generator) -> int:
        seen, _ = env.reset(seed=seed)
        steps = 0
        while env.agents:
            drawn = rng.random(len(seen))
            legal = [np.flatnonzero(s["action_mask"]) for s in seen.values()]
            chosen = zip(seen, drawn, legal, strict=True)
            actions = {a: int(moves[int(d * len(moves))]) for a, d, moves in chosen if len(moves)}
            seen, *_ = env.step(actions)
            steps += len(actions)
        return steps

    return play


def chats(env: Any) -> Play:
    """Return how an episode is played in full chats."""

    def play(seed: int, rng: np.random.Generator) -> int:
        env.reset(seed=seed)
        while env.awaiting:
            legal = env.info(env.agent_selection)["legal_actions"]
            env.observe(env.agent_selection)
            env.step(f"[{legal[int(rng.random() * len(legal))]}]")
        return len(env.episode.turns)

    return play


def rate(play: Play, seconds: float) -> float:
    """Return agent steps per second of this process's CPU."""
    rng, steps, seed = np.random.default_rng(0), 0, 0
    start = time.process_time()
    while time.process_time() - start < seconds:
        steps += play(seed, rng)
        seed += 1
    return steps / (time.process_time() - start)


def main() -> None:
    """Print a table of rates."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="CPU seconds for each figure")
    seconds = parser.parse_args().seconds
    lines = ["| world | seats | window | arrays alone | arrays beside text | full chats |"]
    lines += ["|---|---|---|---|---|---|"]
    for name, options in WORLDS:
        env_id = f"coevo/{name}-v0"
        env = grid_env(env_id, **options)
        made = (arrays(env), arrays(parallel_array_env(env_id, **options)))
        rates = [rate(play, seconds) for play in (*made, chats(make(env_id, **options)))]
        rows, columns = env.task.array_space.shape[1:]
        figures = " | ".join(f"{found:,.0f}" for found in rates)
        size = f"{name}{' (large map)' if options else ''}"
        lines.append(f"| {size} | {len(env.possible_agents)} | {rows} x {columns} | {figures} |")
        sys.stderr.write(lines[-1] + "\n")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
