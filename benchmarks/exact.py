"""Exact values of small OpenSpiel games: exploitability, payoffs, returns of best responses.

An agent is asked once, at every information state of the game.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyspiel

from coevo.agents.agent import Agent, Numbers, Request
from coevo.agents.scripted import RandomAgent
from coevo.agents.strategies.game_tree import Decision, GameTree, Policy, best_response, game_tree
from coevo.benchmarks.forfeits import ForfeitTree
from coevo.benchmarks.statistics.normalise import References
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError
from coevo.envs.games.openspiel import OpenSpielTask
from coevo.envs.games.tensors import encode

INSTEAD = "coevo evaluate, or coevo tournament"
"""What measures an agent where exact values are out of reach."""


@dataclass(frozen=True)
class PolicyTable:
    """An agent's move probabilities at every information state of a game."""

    tree: GameTree
    table: Policy
    """Information state -> (action, probability)."""
    legal_mass: dict[str, float] | None
    """Information state -> probability of answering with a bare legal move; None where the agent
    does not say. The table holds probabilities given that it does."""
    env: TextEnv

    @property
    def always_legal(self) -> bool:
        """Whether other answers are too rare to matter, or not known."""
        return self.legal_mass is None or min(self.legal_mass.values()) > 1 - 1e-9


@dataclass(frozen=True)
class Exploitability:
    """Distance from equilibrium; every value in units of the game's payoff.

    Answers that are no legal move count with their probability and by what the environment's
    illegal-move policy makes of them; retries are taken to fail as often as first attempts.
    """

    nash_conv: float
    """Sum over seats of what a best response gains over the policy itself; 0 at equilibrium."""
    exploitability: float | None
    """nash_conv / 2; None where the game is not constant-sum."""
    best_response_values: tuple[float, ...]
    """Per seat: payoff of a best response in this seat against the policy in the other."""
    on_policy_values: tuple[float, ...]
    """Per seat: payoff when the policy plays both seats."""
    information_states: int
    legal_mass_min: float | None
    """Smallest probability of a bare legal answer over all of them; None where unknown."""
    conditional: float | None
    """`exploitability` of the policy given that every answer is legal: how well it would play."""


def exploitability(
    agent: Agent, env_id: str, env_options: Mapping[str, Any] | None = None
) -> Exploitability:
    """Measure an agent exactly.

    The environment is a two-player OpenSpiel game of at most 400 000 nodes, and the agent gives
    probabilities; else ConfigError.
    """
    policy = tabular_policy(agent, env_id, env_options)
    game, mass = policy.tree.game, policy.legal_mass
    best, own = _legal_values(policy)
    utility = pyspiel.GameType.Utility
    constant_sum = game.get_type().utility in (utility.ZERO_SUM, utility.CONSTANT_SUM)
    conditional = (sum(best) - sum(own)) / 2 if constant_sum else None
    if mass is not None and not policy.always_legal:
        tree = ForfeitTree(policy.env, game, policy.tree.decisions, policy.table, mass)
        best, own = tuple(map(tree.best_response, range(2))), tree.on_policy()
    nash_conv = sum(best) - sum(own)
    return Exploitability(
        nash_conv=nash_conv,
        exploitability=nash_conv / 2 if constant_sum else None,
        best_response_values=best,
        on_policy_values=own,
        information_states=len(policy.table),
        legal_mass_min=None if mass is None else min(mass.values()),
        conditional=conditional,
    )


def _legal_values(policy: PolicyTable) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return values of best responses and of the policy, given that its answers are legal."""
    game, root = policy.tree.game, policy.tree.game.new_initial_state()
    table = pyspiel.TabularPolicy(policy.table)
    best = [
        float(pyspiel.TabularBestResponse(game, seat, table).value_from_state(root))
        for seat in range(2)
    ]
    return tuple(best), tuple(map(float, pyspiel.expected_returns(root, table, -1, True)))


def exact_payoffs(
    agent: Agent, opponent: Agent, env_id: str, env_options: Mapping[str, Any] | None = None
) -> tuple[float, float]:
    """Return an agent's expected payoff against another in the first and in the second seat.

    Environment and agents are as in `exploitability`.
    """
    policies = [tabular_policy(a, env_id, env_options) for a in (agent, opponent)]
    if not all(p.always_legal for p in policies):
        one, two = (_mixed(*pair).on_policy() for pair in (policies, policies[::-1]))
        return one[0], two[1]
    tree, (own, other) = policies[0].tree, (p.table for p in policies)
    return expected_returns(tree, [own, other])[0], expected_returns(tree, [other, own])[1]


def _mixed(first: PolicyTable, second: PolicyTable) -> ForfeitTree:
    sides = {d.key: (first, second)[d.player] for d in first.tree.decisions}
    table = {key: side.table[key] for key, side in sides.items()}
    legal = {key: 1.0 if s.legal_mass is None else s.legal_mass[key] for key, s in sides.items()}
    return ForfeitTree(first.env, first.tree.game, first.tree.decisions, table, legal)


def tabular_policy(
    agent: Agent, env_id: str, env_options: Mapping[str, Any] | None = None
) -> PolicyTable:
    """Ask an agent for its probabilities at every information state, in one batch."""
    env, tree = _env(env_id, env_options)
    if len(env.possible_agents) != 2:
        raise ConfigError(f"{env_id}: exploitability needs a two-player environment")
    keys = [d.key for d in tree.decisions]
    odds, mass = _ask(agent, requests(env, tree.decisions, numbers=agent.reads_numbers))
    table = {
        d.key: list(zip(d.state.legal_actions(d.player), map(float, p), strict=True))
        for d, p in zip(tree.decisions, odds, strict=True)
    }
    said = None if mass is None else dict(zip(keys, mass, strict=True))
    return PolicyTable(tree, table, said, env)


def requests(
    env: TextEnv, decisions: Sequence[Decision], *, numbers: bool = False
) -> list[Request]:
    """Return the request that a seat would get at each information state of an environment.

    `numbers` is for agents that read them.
    """
    rng, task = np.random.default_rng(0), env.task
    if not isinstance(task, OpenSpielTask):
        raise ConfigError(f"{env} is no OpenSpiel game: nothing there is known exactly")
    return [
        Request(
            seat=env.possible_agents[d.player],
            chat=task.chat_at(d.state, d.player, env.prompt_style),
            info={
                "legal_actions": list(task.legal_moves(d.state, d.player)),
                "env_id": env.env_id,
                "task_id": "",
                "parse": {},
                **task.known_at(d.state, d.player),
            },
            rng=rng,
            numbers=_numbers(task, d) if numbers else None,
        )
        for d in decisions
    ]


def _numbers(task: OpenSpielTask, at: Decision) -> Numbers:
    moves = {number: move for move, number in task.legal_moves(at.state, at.player).items()}
    return Numbers(encode(at.state, at.player), moves)


def _ask(agent: Agent, asked: list[Request]) -> tuple[list[np.ndarray], list[float] | None]:
    known = agent.move_logprobs(asked)
    if known is None:
        return agent.probabilities(asked), None
    totals, odds = [], []
    for logp in known:
        total = np.logaddexp.reduce(logp)
        totals.append(float(np.exp(total)))
        odds.append(np.exp(logp - total))
    return odds, totals


# ---- Values of scripted play, for any number of players -----------------------------------------


def tree_of(env_id: str, env_options: Mapping[str, Any] | None = None) -> GameTree:
    return _env(env_id, env_options)[1]


def seat_policy(
    agent: Agent, env_id: str, env_options: Mapping[str, Any] | None, player: int
) -> Policy:
    env, tree = _env(env_id, env_options)
    own = [d for d in tree.decisions if d.player == player]
    odds = agent.probabilities(requests(env, own, numbers=agent.reads_numbers))
    return {
        d.key: list(zip(d.state.legal_actions(player), map(float, p), strict=True))
        for d, p in zip(own, odds, strict=True)
    }


def expected_returns(tree: GameTree, policies: Sequence[Policy]) -> list[float]:
    tables = [pyspiel.TabularPolicy(p) for p in policies]
    root = tree.game.new_initial_state()
    return [float(r) for r in pyspiel.expected_returns(root, tables, -1, True)]


def against(env_id: str, env_options: Mapping[str, Any] | None, other: Agent) -> References:
    """Return what random play and a best response get against one agent in all other seats.

    Both are averaged over the seat that is measured, as head-to-head scores are.
    """
    tree, uniform = tree_of(env_id, env_options), RandomAgent()
    seats = range(tree.game.num_players())
    others = [seat_policy(other, env_id, env_options, p) for p in seats]
    low = high = 0.0
    for seat in seats:
        own = seat_policy(uniform, env_id, env_options, seat)
        mixed = [own if p == seat else others[p] for p in seats]
        low += expected_returns(tree, mixed)[seat]
        high += best_response(tree, mixed, seat).value
    return References(low / len(seats), high / len(seats))


def _env(env_id: str, env_options: Mapping[str, Any] | None) -> tuple[TextEnv, GameTree]:
    env = make(env_id, **(env_options or {}))
    if not isinstance(env.task, OpenSpielTask):
        raise ConfigError(f"{env_id} is no OpenSpiel game: nothing there is known exactly")
    try:
        return env, game_tree(str(env.task.game))
    except ConfigError as error:
        raise ConfigError(f"{error}; play against others instead: {INSTEAD}") from None
