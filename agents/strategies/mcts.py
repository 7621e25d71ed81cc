"""Tree search: an agent that plays a copy of the environment in its mind before it moves."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from coevo.agents.agent import Request
from coevo.agents.scripted import MoveAgent
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import answer


@dataclass
class _Node:
    """A place in the tree: how often it was passed, what that earned, and what was tried there."""

    visits: int = 0
    earned: float = 0.0
    after: dict[str, _Node] = field(default_factory=dict)


class Mcts(MoveAgent):
    """Monte Carlo tree search over its own moves; all else, and the end of a play, is at random.

    A move is chosen by mean + c sqrt(ln N / n), one that was never tried first; what is tried most
    is played. Payoffs count as shares of the range of the environment. It copies the environment as
    it is, hidden state included, so that it is an expert and no fair opponent. Source: UCT
    (Kocsis & Szepesvari 2006); c = 2 and the number of children are those of rStar-Math.

    Args:
        expansions: plays in its mind before each move.
        children: moves that are tried at a place, at most, drawn at random.
    """

    C = 2.0

    def __init__(self, expansions: int = 48, children: int = 12) -> None:
        if expansions < 1:
            raise ConfigError(f"expansions={expansions} must be at least 1")
        self.expansions, self.children = expansions, children
        self.name = f"mcts:{expansions}"

    def odds(self, request: Request) -> np.ndarray:
        legal, root = request.info["legal_actions"], self.searched(request)
        tried = np.array([root.after[m].visits if m in root.after else 0 for m in legal])
        worth = np.array([_mean(root.after.get(m)) for m in legal])
        best = (tried == tried.max()) & (worth == worth[tried == tried.max()].max())
        return np.eye(1, len(legal), int(best.argmax()))[0]

    def searched(self, request: Request) -> _Node:
        """Return the root of a tree that was searched."""
        assert request.inside is not None  # an insider is given it
        root = _Node()
        for _ in range(self.expansions):
            self._play(request.inside.fork(), request.seat, root, request.rng)
        return root

    def _play(self, env: TextEnv, seat: str, node: _Node, rng: np.random.Generator) -> None:
        env.applies_batch_rewards = False
        before, path, growing = env.episode.total(seat, "payoff"), [node], True
        while env.awaiting:
            here = env.agent_selection
            legal = env.infos[here]["legal_actions"]
            if not legal:
                raise ConfigError(f"{self.name}: seat {here} has no list of legal moves to try")
            if here == seat and growing:
                move = self._chosen(path[-1], legal, rng)
                growing = move in path[-1].after
                path.append(path[-1].after.setdefault(move, _Node()))
            else:
                move = str(legal[int(rng.integers(len(legal)))])
            env.step(answer(move))
        low, high = env.payoff_range
        earned = (env.episode.total(seat, "payoff") - before) / ((high - low) or 1.0)
        for passed in path:
            passed.visits += 1
            passed.earned += earned

    def _chosen(self, node: _Node, legal: tuple[str, ...], rng: np.random.Generator) -> str:
        fresh = [move for move in legal if move not in node.after]
        known = [move for move in legal if move in node.after]
        if fresh and (len(node.after) < self.children or not known):
            return fresh[int(rng.integers(len(fresh)))]
        total = math.log(max(1, node.visits))
        return max(
            known,
            key=lambda m: _mean(node.after[m]) + self.C * math.sqrt(total / node.after[m].visits),
        )


def _mean(node: _Node | None) -> float:
    return -math.inf if node is None or not node.visits else node.earned / node.visits
