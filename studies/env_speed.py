"""Steps per second beside PettingZoo's classic games and TextArena, in one process.

The same games, random moves, every observation read, every reply a text where there are texts:

- ours with full chats, as trainers make them;
- PettingZoo's as their package makes them (`env`); without wrappers (`raw_env`); and in text, the
  least that a language model needs: the array and the legal moves in a prompt, a reply that is
  parsed. The first two give arrays and take numbers;
- TextArena's as their package makes them, wrapped so that the seat to move reads all its text; and
  without wrappers (`-raw`), where what is new is a list that nobody has put into words. Ours and
  theirs are made anew for each episode.

A game is played in short turns on both sides alternately, in seconds of this process's CPU; the
ratio is of the totals. What is drawn for the moves costs both sides the same.

Last, 300 episodes of each game in one environment that is reset, on both sides: TextArena's wrapper
keeps what it has told over resets and tells it again, so that its rate depends on the number of
episodes. The first and the last 50 are printed beside the whole.

    pip install -c constraints.txt -e ".[bridges]"
    python studies/env_speed.py --seconds 4 > env_speed.txt
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
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
WORDS = {
    "TicTacToe-v0": [f"[{n}]" for n in range(9)],
    "ConnectFour-v0": [f"[col {n}]" for n in range(7)],
    "KuhnPoker-v0": ["[check]", "[bet]", "[call]", "[fold]"],
}
EPISODES, BLOCK = 300, 50
"""Episodes in one environment, and how many of the first and the last are told apart."""
TURN = 0.25
"""Seconds that one side plays before the other does."""
_NUMBER = re.compile(r"\[(\d+)\]\s*\Z")
Draws = Iterator[float]
"""Random numbers in 0..1."""
Play = Callable[[int, Draws], int]
"""Seed and draws -> steps of one episode."""


def drawn(seed: int) -> Draws:
    """Yield random numbers; drawn in blocks, they cost next to nothing of what is measured."""
    rng = np.random.default_rng(seed)
    while True:
        yield from rng.random(4096).tolist()


def chosen(moves: Sequence[Any], draws: Draws) -> Any:
    """Return one of the moves."""
    return moves[int(next(draws) * len(moves))]


def ours(id: str, anew: bool = True) -> Play:
    """Return how an episode of ours is played, in an environment made anew or in one for all."""
    template = make(id, prompt_style="full")
    kept = template.fresh()

    def play(seed: int, draws: Draws) -> int:
        env, steps = template.fresh() if anew else kept, 0
        env.reset(seed=seed)
        while env.awaiting:
            _, _, _, _, info = env.last()
            env.step(f"[{chosen(info['legal_actions'], draws)}]")
            steps += 1
        return steps

    return play


def numbered(legal: Any, seen: Any, draws: Draws) -> int:
    """Return a legal move by its number."""
    return int(chosen(legal, draws))


def in_words(legal: Any, seen: Any, draws: Draws) -> int:
    """Return a legal move that is read from a reply to a prompt."""
    moves = ", ".join(f"[{n}]" for n in legal)
    chat = ({"role": "user", "content": f"{seen['observation'].tolist()}\nLegal: {moves}"},)
    found = _NUMBER.search(f"[{chosen(legal, draws)}]" if chat else "")
    return int(found[1]) if found else -1


def classic(module: str, made: str = "env", reply: Callable[..., int] = numbered) -> Play:
    """Return how an episode of PettingZoo's is played."""
    env = getattr(importlib.import_module(module), made)()

    def play(seed: int, draws: Draws) -> int:
        env.reset(seed=seed)
        steps = 0
        for _ in env.agent_iter():
            seen, _, over, cut, _ = env.last()
            if over or cut:
                env.step(None)
                continue
            env.step(reply(np.flatnonzero(seen["action_mask"]), seen, draws))
            steps += 1
        return steps

    return play


def arena(id: str, ending: str = "", anew: bool = True) -> Play:
    """Return how an episode of TextArena's is played; it tells no legal moves, so any is tried."""
    textarena: Any = importlib.import_module("textarena")
    kept = textarena.make(id + ending)

    def play(seed: int, draws: Draws) -> int:
        env = textarena.make(id + ending) if anew else kept
        env.reset(num_players=2, seed=seed)
        done, steps = False, 0
        while not done:
            env.get_observation()
            done, _ = env.step(action=chosen(WORDS[id], draws))
            steps += 1
        env.close()
        return steps

    return play


KINDS: tuple[tuple[str, dict[str, str], Callable[[str], Play]], ...] = (
    ("PettingZoo", CLASSIC, classic),
    ("PettingZoo raw", CLASSIC, lambda game: classic(game, "raw_env")),
    ("PettingZoo in text", CLASSIC, lambda game: classic(game, reply=in_words)),
    ("TextArena", ARENA, arena),
    ("TextArena raw", ARENA, lambda game: arena(game, "-raw")),
)


def rates(sides: list[Play], seconds: float, seed: int) -> list[float]:
    """Return the steps per second of each side."""
    draws = drawn(seed)
    steps, spent, number = [0] * len(sides), [0.0] * len(sides), 0
    while min(spent) < seconds:
        for side, play in enumerate(sides):
            began = time.process_time()
            while time.process_time() - began < TURN:
                steps[side] += play(number, draws)
                number += 1
            spent[side] += time.process_time() - began
    return [n / t for n, t in zip(steps, spent, strict=True)]


def in_one(side: Play, seed: int) -> tuple[float, float, float]:
    """Return the steps per second of all episodes in one environment, of the first, of the last."""
    draws = drawn(seed)
    steps, spent = [], []
    for block in range(0, EPISODES, BLOCK):
        began = time.process_time()
        steps.append(sum(side(number, draws) for number in range(block, block + BLOCK)))
        spent.append(time.process_time() - began)
    return sum(steps) / sum(spent), steps[0] / spent[0], steps[-1] / spent[-1]


def main(arguments: list[str]) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each side of each game")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    for name, table, other in KINDS:
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
            sys.stdout.flush()
    for id, theirs in ARENA.items():
        try:
            sides = [ours(id, anew=False), arena(theirs, anew=False)]
        except ImportError as error:
            sys.stdout.write(f"{id}: TextArena cannot be played here ({error})\n")
            continue
        (own, *first_last), (foreign, *others) = (in_one(side, given.seed) for side in sides)
        sys.stdout.write(
            f"{id}: {EPISODES} episodes in one environment: ours {own:,.0f} steps per second "
            f"(first {BLOCK} {first_last[0]:,.0f}, last {BLOCK} {first_last[1]:,.0f}), "
            f"TextArena {foreign:,.0f} ({others[0]:,.0f}, {others[1]:,.0f}), "
            f"ratio {own / foreign:.2f}\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
