"""What counts as 0 and as 1 in a scenario: computed exactly where the game is small."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from coevo.agents.agent import Agent
from coevo.agents.registry import scripted
from coevo.agents.scripted import RandomAgent
from coevo.agents.strategies.game_tree import GameTree, Policy, best_response
from coevo.agents.strategies.iterated import IteratedStrategy
from coevo.benchmarks.exact import expected_returns, seat_policy, tree_of
from coevo.benchmarks.statistics.normalise import References
from coevo.benchmarks.suites.scenarios import Scenario
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.dilemmas.catalogue import TABLES
from coevo.envs.dilemmas.stories import STORIES


def scenario_references(where: Scenario) -> References:
    """Compute a scenario's references; its game must be small, its company scripted.

    0 is random play in the focal seats. 1 is, for one focal seat, a best response to each company
    (which knows who came); for several, best responses to random play in all of them at once,
    which need not be the best that a team can do.
    """
    tree, seats = tree_of(where.env_id, where.env_options), where.seats

    def policies(agent: Agent) -> list[Policy]:
        return [seat_policy(agent, where.env_id, where.env_options, p) for p in range(len(seats))]

    uniform = policies(RandomAgent())
    taught = [best_response(tree, uniform, p).policy for p in range(len(seats))]
    known = {n: policies(scripted(n)) for n in {n for s in seats for n in where.company(s)}}
    bounds = []
    for focal, company in _companies(where):
        rest = {seats.index(s): known[name][seats.index(s)] for s, name in company.items()}
        bounds.append(_bounds(tree, [seats.index(s) for s in focal], rest, uniform, taught))
    low, high = np.mean(bounds, axis=0)
    return References(float(low), float(high))


def dilemma_references(where: Scenario) -> References:
    """Compute the same for two players, rounds, and a company of rules for two actions."""
    options = {key: value for key, value in where.env_options.items() if key != "game"}
    env = make(where.env_id, **where.env_options)
    tables = {game_name(env, story): None for story in getattr(env.task, "scenes", ("",))}
    bounds = [
        _against(np.asarray(TABLES[name].payoffs), player, other, options.get("rounds", 5))
        for name in tables
        for player in (0, 1)
        for other in where.company(f"player_{1 - player}")
    ]
    low, high = np.mean(bounds, axis=0)
    return References(float(low), float(high))


def game_name(env: TextEnv, story: str) -> str:
    """Return the table that pays."""
    return STORIES[story].game if story else env.task.game.name


def _against(payoffs: np.ndarray, player: int, other: str, rounds: int) -> tuple[float, float]:
    """Return what random play and a best reply earn against one player."""
    opponent = scripted(other)
    assert isinstance(opponent, IteratedStrategy)
    rule = opponent.rule(payoffs, 1 - player)

    def worth(own: tuple[int, ...], their: tuple[int, ...]) -> tuple[float, float]:
        if len(own) == rounds:
            return 0.0, 0.0
        share, found = rule(their, own), []
        for mine in (0, 1):
            low = high = 0.0
            for act, p in ((0, share), (1, 1 - share)):
                if p > 0:
                    paid = payoffs[(mine, act) if player == 0 else (act, mine)][player]
                    rest = worth((*own, mine), (*their, act))
                    low, high = low + p * (paid + rest[0]), high + p * (paid + rest[1])
            found.append((low, high))
        return (found[0][0] + found[1][0]) / 2, max(found[0][1], found[1][1])

    return worth((), ())


def _bounds(
    tree: GameTree,
    focal: Sequence[int],
    rest: Mapping[int, Policy],
    uniform: Sequence[Policy],
    taught: Sequence[Policy],
) -> tuple[float, float]:
    """Return what counts as 0 and as 1 with one company."""
    low = _per_head(tree, focal, rest, uniform)
    if len(focal) > 1:
        return low, _per_head(tree, focal, rest, taught)
    base = [rest.get(p, uniform[p]) for p in range(len(uniform))]
    return low, best_response(tree, base, focal[0]).value


def _per_head(
    tree: GameTree, focal: Sequence[int], rest: Mapping[int, Policy], own: Sequence[Policy]
) -> float:
    joint = [rest.get(p, own[p]) for p in range(len(own))]
    found = expected_returns(tree, joint)
    return float(np.mean([found[p] for p in focal]))


def _companies(where: Scenario) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    """Return every set of focal seats with every company, all equally likely."""
    for focal in where.focal_sets():
        others = [s for s in where.seats if s not in focal]
        for names in itertools.product(*(where.company(s) for s in others)):
            yield focal, dict(zip(others, names, strict=True))
