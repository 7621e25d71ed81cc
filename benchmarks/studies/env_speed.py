"""Steps per second beside PettingZoo's classic games and TextArena, in one process.

The same games, random moves, every observation read: ours with full chats, as trainers make them;
theirs as their packages make them, and PettingZoo's without its wrappers (`raw`) too. A game is
played in short turns on both sides alternately, so that a busy machine slows both; the ratio is of
the totals.

    pip install pygame rlcard textarena
    python -P -m coevo.benchmarks.studies.env_speed --seconds 4 > env_speed.txt
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from coevo.envs import make

CLASSIC = {
    "coevo/tic_tac_toe-v0": "pettingzoo.classic.tictactoe.tictactoe",
    "coevo/connect_four-v0": "pettingzoo.classic.connect_four.connect_four",
    "coevo/leduc_poker-v0": "pettingzoo.classic.rlcard_envs.leduc_holdem",
}
ARENA = {
    "coevo/tic_tac_toe-v0": "TicTacToe-v0",
    "coevo/connect_four-v0": "ConnectFour-v0",
    "coevo/kuhn_poker-v0": "KuhnPoker-v0",
}
TURN = 0.25
"""Seconds that one side plays before the other does."""
Play = Callable[[int, np.random.Generator], int]
"""Seed and generator -> steps of one episode."""


def ours(id: str) -> Play:
    """Return how an episode of ours is played."""
    template = make(id, prompt_style="full")

    def play(seed: int, rng: np.random.Generator) -> int:
        env, steps = template.fresh(), 0
        env.reset(seed=seed)
        while env.awaiting:
            _, _, _, _, info = env.last()
            legal = info["legal_actions"]
            env.step(f"[{legal[int(rng.integers(len(legal)))]}]")
            steps += 1
        return steps

    return play


def classic(module: str, made: str = "env") -> Play:
    """Return how an episode of PettingZoo's is played."""
    env = getattr(importlib.import_module(module), made)()

    def play(seed: int, rng: np.random.Generator) -> int:
        env.reset(seed=seed)
        steps = 0
        for _ in env.agent_iter():
            seen, _, over, cut, _ = env.last()
            if over or cut:
                env.step(None)
                continue
            legal = np.flatnonzero(seen["action_mask"])
            env.step(int(legal[int(rng.integers(len(legal)))]))
            steps += 1
        return steps

    return play


def raw_classic(module: str) -> Play:
    """Return how an episode of PettingZoo's is played without wrappers."""
    return classic(module, "raw_env")


def arena(id: str) -> Play:
    """Return how an episode of TextArena's is played; it tells no legal moves, so any is tried."""
    textarena: Any = importlib.import_module("textarena")
    words = {
        "TicTacToe-v0": [f"[{n}]" for n in range(9)],
        "ConnectFour-v0": [f"[col {n}]" for n in range(7)],
        "KuhnPoker-v0": ["[check]", "[bet]", "[call]", "[fold]"],
    }[id]

    def play(seed: int, rng: np.random.Generator) -> int:
        env = textarena.make(id)
        env.reset(num_players=2, seed=seed)
        done, steps = False, 0
        while not done:
            env.get_observation()
            done, _ = env.step(action=words[int(rng.integers(len(words)))])
            steps += 1
        env.close()
        return steps

    return play


def rates(sides: list[Play], seconds: float, seed: int) -> list[float]:
    """Return the steps per second of each side."""
    rng = np.random.default_rng(seed)
    steps, spent, number = [0] * len(sides), [0.0] * len(sides), 0
    while min(spent) < seconds:
        for side, play in enumerate(sides):
            began = time.perf_counter()
            while time.perf_counter() - began < TURN:
                steps[side] += play(number, rng)
                number += 1
            spent[side] += time.perf_counter() - began
    return [n / t for n, t in zip(steps, spent, strict=True)]


def main(arguments: list[str]) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each side of each game")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    kinds = (
        ("PettingZoo", CLASSIC, classic),
        ("PettingZoo raw", CLASSIC, raw_classic),
        ("TextArena", ARENA, arena),
    )
    for name, table, other in kinds:
        for id, theirs in table.items():
            try:
                sides = [ours(id), other(theirs)]
            except ImportError as error:
                sys.stdout.write(f"{id}: {name} cannot be played here ({error})\n")
                continue
            own, foreign = rates(sides, given.seconds, given.seed)
            sys.stdout.write(
                f"{id}: ours {own:,.0f} steps per second, {name} {foreign:,.0f}, "
                f"ratio {own / foreign:.2f}\n"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
