"""Exact values of two-player games in which some replies are no legal move.

What such a reply costs is decided by the environment's illegal-move policy, and so it is here: to
every choice the tree adds the reply that is no legal move, with its probability and its end. A best
response never makes one, and gets what the illegal-move policy gives it for the opponent's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyspiel
from numpy.typing import NDArray

from coevo.agents.strategies.game_tree import Decision, Policy
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.illegal import Risk, rest_of
from coevo.envs.games.openspiel import OpenSpielTask

Values = NDArray[np.float64]
Response = Callable[["Node"], "Node"]


@dataclass(frozen=True, slots=True)
class Node:
    """One history of the game."""

    player: int = -1
    """Who decides; -1 for chance and at an end."""
    key: str = ""
    """Information state of the one who decides."""
    moves: tuple[tuple[float, Node], ...] = ()
    """Legal moves: probability under the policy or by chance, and what follows."""
    illegal: tuple[float, Node] | None = None
    """The reply that is no legal move, where it ends the game: its probability, and the end."""
    paid: Values | None = None
    """Payoffs of an end; elsewhere what illegal replies cost on average while the game goes on."""

    def onwards(self) -> tuple[tuple[float, Node], ...]:
        """Return all that may follow under the policy."""
        return self.moves if self.illegal is None else (*self.moves, self.illegal)


class ForfeitTree:
    """A game of two seats that one policy plays, with its illegal replies.

    Args:
        env: of the game; its illegal-move policy says what an illegal reply costs.
        game: in its turn-based form.
        decisions: all information states.
        table: information state -> action and probability, given that the reply is legal.
        legal: information state -> probability that a reply is legal.
    """

    def __init__(
        self,
        env: TextEnv,
        game: pyspiel.Game,
        decisions: Sequence[Decision],
        table: Policy,
        legal: Mapping[str, float],
    ) -> None:
        if not isinstance(env.task, OpenSpielTask):
            raise ConfigError(f"{env} is no OpenSpiel game: nothing there is known exactly")
        self._task, self._policy, self._seats = env.task, env.illegal, tuple(env.possible_agents)
        self._shown = {d.key: d.state for d in decisions}
        self._table = {key: dict(moves) for key, moves in table.items()}
        tries = env.illegal.retries + 1  # every one as likely to be illegal as the first
        self._wrong = {key: max(0.0, 1.0 - p) ** tries for key, p in legal.items()}
        self.root = self._node(game.new_initial_state(), ())

    def on_policy(self) -> tuple[float, ...]:
        return tuple(map(float, self._mean(self.root)))

    def best_response(self, seat: int) -> float:
        """Return what a best response of a seat gets against the policy in the other."""
        members: dict[str, list[tuple[float, Node]]] = defaultdict(list)
        _reached(self.root, seat, 1.0, members)
        chosen: dict[str, int] = {}
        known: dict[int, float] = {}

        def value(node: Node) -> float:
            if id(node) not in known:
                known[id(node)] = computed(node)
            return known[id(node)]

        def computed(node: Node) -> float:
            if node.player == seat:
                return value(node.moves[best(node.key)][1])
            here = 0.0 if node.paid is None else float(node.paid[seat])
            return here + sum(p * value(after) for p, after in node.onwards() if p)

        def best(key: str) -> int:
            if key not in chosen:
                gains = [
                    sum(reach * value(node.moves[at][1]) for reach, node in members[key])
                    for at in range(len(members[key][0][1].moves))
                ]
                chosen[key] = int(np.argmax(gains))
            return chosen[key]

        return value(self.root)

    def _mean(self, node: Node) -> Values:
        total = np.zeros(len(self._seats)) if node.paid is None else node.paid.copy()
        for probability, after in node.onwards():
            if probability:
                total += probability * self._mean(after)
        return total

    def _node(self, state: pyspiel.State, lost: tuple[int, ...]) -> Node:
        """Return a history and all that follows; `lost` has forfeited in this very round."""
        if state.is_chance_node():
            followed = [(p, self._node(state.child(a), ())) for a, p in state.chance_outcomes()]
            return Node(moves=tuple(followed))
        if state.is_terminal():
            return Node(paid=np.array(state.returns()))
        player = state.current_player()
        key = state.information_state_string(player)
        wrong, odds = self._wrong[key], self._table[key]
        waiting = self._task.simultaneous and player == 0
        end = self._forfeit(state, lost)
        moves = [
            (odds[a], end if lost and not waiting else self._node(state.child(a), lost))
            for a in state.legal_actions()
        ]
        if self._policy.then == "random":
            mixed = tuple((p * (1 - wrong) + wrong / len(moves), after) for p, after in moves)
            return Node(player, key, mixed, paid=wrong * self._charge(state, (player,)))
        legal = tuple((p * (1 - wrong), after) for p, after in moves)
        both = (*lost, player)
        if waiting:
            other = self._node(state.child(state.legal_actions()[0]), both)
            return Node(player, key, legal, (wrong, other))
        return Node(player, key, legal, (wrong, self._forfeit(state, both)))

    def _forfeit(self, state: pyspiel.State, lost: Sequence[int]) -> Node:
        return Node(paid=np.array(state.returns()) + self._charge(state, lost))

    def _charge(self, state: pyspiel.State, lost: Sequence[int]) -> Values:
        """Return what illegal replies of some seats add to the payoffs of all seats."""
        task, so_far, risks = self._task, state.returns(), {}
        for i in lost:
            worst = task.worst_left(self._seats[i], so_far[i])
            rest = rest_of(worst, task.payoff_range)
            risks[self._seats[i]] = Risk(worst, task.at_risk_at(self._seen(state), i), rest)
        given = self._policy.rewards(self._seats, risks) if risks else dict.fromkeys(self._seats, 0)
        return np.array([given[a] for a in self._seats], dtype=float)

    def _seen(self, state: pyspiel.State) -> pyspiel.State:
        return self._shown[state.information_state_string(state.current_player())]


def _reached(
    node: Node, seat: int, reach: float, members: dict[str, list[tuple[float, Node]]]
) -> None:
    """List the nodes of a seat's information states with how others and chance lead there."""
    if node.player == seat:
        members[node.key].append((reach, node))
        for _, after in node.moves:
            _reached(after, seat, reach, members)
        return
    for probability, after in node.onwards():
        _reached(after, seat, reach * probability, members)
