"""Best known play of small OpenSpiel games, solved on first use and kept for the process.

perfect information, zero-sum     minimax, ties broken uniformly; where the game has too many
                                  positions or dice, tree search, which is strong, not optimal
other two-player zero-sum games   average policy of CFR+; simultaneous moves as hidden turns
two players with one payoff       best pair of deterministic policies, by enumeration
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyspiel

from coevo.agents.agent import Request
from coevo.agents.scripted import MoveAgent, expert_replies
from coevo.agents.strategies.game_tree import (
    GameTree,
    Policy,
    best_response,
    game_tree,
    turn_based_key,
)
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.task import Replies
from coevo.envs.games.openspiel import load_game

POSITIONS = 200_000
"""Most positions that minimax visits before tree search takes over; about a second."""
SIMULATIONS = 1000
"""Simulations per move of the tree search; about 10 ms in Connect Four."""
SOLVER_VISITS = 2_000_000
"""Nodes that CFR+ visits in all; about 2.5 seconds."""
NEGLIGIBLE = 2e-4
"""CFR+ stops at this exploitability, as a share of the payoff range."""
EXACT = 1e-3
"""Exploitability up to which a policy passes as optimal, as a share of the payoff range."""
JOINT_POLICIES = 20_000
"""Most policies of player 0 that the cooperative enumeration tries."""

# Games whose board and mover decide everything that follows, whatever led there.
_MARKOV = {"tic_tac_toe", "connect_four", "nim", "breakthrough", "dots_and_boxes", "hex"}
_DEEPEST = 400
_KINDS = (
    "two-player zero-sum games that are sequential with perfect information, or small; "
    "and small two-player games in which both get the same payoff"
)
_ELSE = f"Oracles: {_KINDS}; elsewhere try expert:1"


class Solution:
    """Play of one game."""

    label: str = ""
    """How it was found, for reports."""
    exploitability: float | None = None
    """What a best response gains on average over the seats; None where it is not known."""
    exact: bool = False
    """Whether the play is optimal, up to `EXACT` of the payoff range."""

    def odds(self, info: Mapping[str, Any]) -> np.ndarray:
        """Return the probability of each entry of `legal_actions`."""
        raise NotImplementedError(f"{type(self).__name__} must define odds")  # abstract


class Minimax(Solution):
    """Every move that keeps the value of the game, all equally likely."""

    label = "minimax"
    exploitability = 0.0
    exact = True

    def __init__(self, game: pyspiel.Game) -> None:
        self.game = game
        self._markov = game.get_type().short_name in _MARKOV
        self._values: dict[tuple[int, str], float] = {}
        self.value(game.new_initial_state())

    def value(self, state: pyspiel.State) -> float:
        """Return what player 0 gets from here if both play optimally."""
        if state.is_terminal():
            return float(state.returns()[0])
        mover = state.current_player()
        key = (mover, str(state) if self._markov else state.history_str())
        if key not in self._values:
            if len(self._values) >= POSITIONS:
                raise ConfigError(f"{self.game}: over {POSITIONS} positions, too many for minimax")
            best = max if mover == 0 else min
            self._values[key] = best(self.value(state.child(a)) for a in state.legal_actions())
        return self._values[key]

    def odds(self, info: Mapping[str, Any]) -> np.ndarray:
        state = state_of(self.game, info)
        sign = 1 if state.current_player() == 0 else -1
        values = np.array([sign * self.value(state.child(a)) for a in state.legal_actions()])
        best = values == values.max()
        return best / best.sum()


class TreeSearch(Solution):
    """OpenSpiel's Monte Carlo tree search; the seed is fixed, so a state always gets one move."""

    def __init__(self, game: pyspiel.Game, simulations: int) -> None:
        self.game = game
        self.simulations = simulations
        self.label = f"tree search, {simulations} simulations"
        self._chosen = functools.lru_cache(maxsize=10_000)(self._search)

    def odds(self, info: Mapping[str, Any]) -> np.ndarray:
        chosen = self._chosen(tuple(info["history"]))
        return np.eye(len(info["legal_actions"]))[chosen]

    def _search(self, history: tuple[int, ...]) -> int:
        state = state_of(self.game, {"history": history})
        solve = self.game.get_type().chance_mode == pyspiel.GameType.ChanceMode.DETERMINISTIC
        rollouts = pyspiel.RandomRolloutEvaluator(1, 0)
        bot = pyspiel.MCTSBot(self.game, rollouts, 2.0, self.simulations, 100, solve, 0, False)
        return int(state.legal_actions().index(bot.step(state)))


class Tabular(Solution):
    """Probabilities looked up by information state."""

    def __init__(self, game: pyspiel.Game, policy: Policy) -> None:
        self.game = game
        self._odds = {key: _probabilities(pairs) for key, pairs in policy.items()}

    def odds(self, info: Mapping[str, Any]) -> np.ndarray:
        key = turn_based_key(self.game, info["information_state"], info["player"])
        return self._odds[key]


class OracleAgent(MoveAgent):
    """Plays the best known move of every OpenSpiel game that it can solve.

    Where moves are texts it says what the environment's expert says at its best. `simulations` are
    those of a move, where tree search has to do.
    """

    name = "oracle"
    skill = 1.0

    def __init__(self, simulations: int = SIMULATIONS) -> None:
        if simulations < 1:
            raise ConfigError(f"simulations={simulations} must be at least 1")
        self.simulations = simulations
        self.exact = True
        """Whether all play so far came from optimal solutions; reports say so where not."""

    def speech(self, request: Request) -> Replies:
        if request.info["legal_actions"] is None and expert_replies(request, self.skill) is None:
            raise ConfigError(f"no oracle: any text is legal here and there is no expert. {_ELSE}")
        return super().speech(request)

    def odds(self, request: Request) -> np.ndarray:
        solution = solve(game_of(request.info), self.simulations)
        self.exact = self.exact and solution.exact
        odds = solution.odds(request.info)
        if len(odds) != len(request.info["legal_actions"]):
            raise ConfigError(
                f"{game_of(request.info)} has {len(odds)} legal moves here, the environment "
                f"names {len(request.info['legal_actions'])}"
            )
        return odds


def solve(game: str, simulations: int = SIMULATIONS) -> Solution:
    """Solve a game, once per process.

    Raises:
        ConfigError: there is no oracle for this kind of game, or it is too large.
    """
    try:
        return _solved(str(load_game(game)), simulations)
    except ConfigError as error:
        raise ConfigError(f"no oracle: {error}. Oracles: {_KINDS}") from None


@functools.lru_cache(maxsize=16)
def _solved(game: str, simulations: int) -> Solution:
    loaded = load_game(game)
    kind, utility = loaded.get_type(), pyspiel.GameType.Utility
    if loaded.num_players() != 2:
        raise ConfigError(f"{game} has {loaded.num_players()} players")
    zero_sum = kind.utility in (utility.ZERO_SUM, utility.CONSTANT_SUM)
    if zero_sum and _open_turns(kind):
        return _perfect_information(loaded, simulations)
    tree = game_tree(game)
    if zero_sum:
        return equilibrium(loaded, tree)
    if tree.common_payoff:
        return best_pair(loaded, tree)
    raise ConfigError(f"{game} pays its players differently, and not zero-sum")


def equilibrium(game: pyspiel.Game, tree: GameTree) -> Tabular:
    """Run CFR+ until its exploitability is negligible or its node visits are spent.

    Measured: Kuhn poker under 1e-3 at once, Leduc poker under 0.01 in about 2 seconds.
    """
    solver = pyspiel.CFRPlusSolver(tree.game)
    scale = game.max_utility() - game.min_utility()
    rounds = int(np.clip(SOLVER_VISITS // tree.histories, 50, 1000))
    for done in range(1, rounds + 1):
        solver.evaluate_and_update_policy()
        if done % 100 and done < rounds:
            continue
        average = solver.tabular_average_policy()
        gap = pyspiel.nash_conv(tree.game, average, True) / 2
        if gap < NEGLIGIBLE * scale:
            break
    solution = Tabular(game, average.policy_table())
    solution.label = f"CFR+, exploitability {gap:.2g}"
    solution.exploitability, solution.exact = gap, gap <= EXACT * scale
    return solution


def best_pair(game: pyspiel.Game, tree: GameTree) -> Tabular:
    """Return the best of all `pairs`; of equal ones the first."""
    best_value, best = -np.inf, {}
    for value, policy in pairs(tree):
        if value > best_value + 1e-12:
            best_value, best = value, policy
    solution = Tabular(game, best)
    solution.label, solution.exact, solution.exploitability = "best pair", True, 0.0
    return solution


def pairs(tree: GameTree) -> Iterator[tuple[float, Policy]]:
    """Return every deterministic policy of player 0 with player 1's best response to it.

    Before it stands the payoff of both.

    Raises:
        ConfigError: there are more than `JOINT_POLICIES`.
    """
    own, other = ([d for d in tree.decisions if d.player == p] for p in range(2))
    choices = [d.state.legal_actions(0) for d in own]
    count = np.prod([float(len(c)) for c in choices])
    if count > JOINT_POLICIES:
        raise ConfigError(f"{tree.game}: player 0 has {count:.0f} policies, too many to try")
    anything = {d.key: _pure(d.state, 1, d.state.legal_actions(1)[0]) for d in other}
    for actions in itertools.product(*choices):
        first = {d.key: _pure(d.state, 0, a) for d, a in zip(own, actions, strict=True)}
        best = best_response(tree, [first, anything], 1)
        yield best.value, first | best.policy


def state_of(game: pyspiel.Game, info: Mapping[str, Any]) -> pyspiel.State:
    """Replay the history of a game in which nothing is hidden."""
    state = game.new_initial_state()
    for action in info["history"]:
        state.apply_action(action)
    return state


def game_of(info: Mapping[str, Any]) -> str:
    """Return the game string of a request; raise where the environment is not an OpenSpiel game."""
    if "game" not in info:
        raise ConfigError(f"no oracle: the environment is no OpenSpiel game. {_ELSE}")
    return str(info["game"])


def _perfect_information(game: pyspiel.Game, simulations: int) -> Solution:
    deterministic = pyspiel.GameType.ChanceMode.DETERMINISTIC
    if game.get_type().chance_mode == deterministic and game.max_game_length() <= _DEEPEST:
        try:
            return Minimax(game)
        except ConfigError:
            pass
    return TreeSearch(game, simulations)


def _open_turns(kind: pyspiel.GameType) -> bool:
    return bool(
        kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
        and kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
    )


def _probabilities(pairs: list[tuple[int, float]]) -> np.ndarray:
    odds = np.array([p for _, p in sorted(pairs)])
    return odds / odds.sum()


def _pure(state: pyspiel.State, player: int, action: int) -> list[tuple[int, float]]:
    return [(a, float(a == action)) for a in state.legal_actions(player)]
