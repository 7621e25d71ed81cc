"""The reference scores of the games, computed again: exactly where small, else by play."""

import functools
import statistics

import numpy as np
import pyspiel
import pytest

from coevo.agents import ExpertAgent, RandomAgent
from coevo.agents.strategies.game_tree import game_tree
from coevo.agents.strategies.oracle import solve
from coevo.benchmarks.evaluate import evaluate
from coevo.benchmarks.exact import against, expected_returns, exploitability, seat_policy
from coevo.benchmarks.references import references
from coevo.envs import list_envs, make, spec
from coevo.envs.games.bargaining import best_split
from coevo.envs.games.hanabi import most_points

MINIMAX = ("coevo/dots_and_boxes-v0", "coevo/nim-v0")
PARTNERS = ("coevo/lewis_signaling-v0", "coevo/trade_comm-v0")
RESPONSES = ("coevo/liars_dice-v0", "coevo/sheriff-v0")
HANABI = ("coevo/hanabi-v0", "coevo/mini_hanabi-v0", "coevo/simple_hanabi-v0")
BLOTTO, BARGAINING = "coevo/colonel_blotto-v0", "coevo/bargaining-v0"
CORE_WAR = "coevo/core_war-v0"
EXPERTS = tuple(
    f"coevo/{name}-v0"
    for name in (
        *("backgammon", "battleship", "breakthrough", "chess", "dark_hex", "go", "hex"),
        *("liars_dice_rounds", "mancala"),
        *("negotiation", "othello", "oware", "phantom_tic_tac_toe", "pig"),
    )
)
"""Games whose reference is the mean return of the expert against random play."""
ELSEWHERE = (
    *("connect_four", "corridors", "goofspiel", "kuhn_poker", "leduc_poker", "make24"),
    *("tic_tac_toe", "tiny_hanabi"),
)
"""Games of test_references, and two whose own tests have their references."""
ERRORS = 4.5
"""Standard errors that a mean of few games may lie away."""


def test_every_game_is_tested_here_or_there():
    games = {e.id for e in list_envs() if ".games." in e.module and e.suite_names}
    here = {*MINIMAX, *PARTNERS, *RESPONSES, *HANABI, BLOTTO, BARGAINING, CORE_WAR, *EXPERTS}
    assert games == here | {f"coevo/{name}-v0" for name in ELSEWHERE}
    for env_id in games:
        assert spec(env_id).refs_source
        assert spec(env_id).refs["random"] != spec(env_id).refs["oracle"]


def random_against(solution, game, player):
    """Return the exact mean of random play against minimax in a game whose board says it all."""

    @functools.cache
    def of(key):
        state = states[key]
        if state.is_terminal():
            return state.returns()[player]
        children = []
        for child in (state.child(a) for a in state.legal_actions()):
            below = (child.current_player(), str(child))
            states[below] = child
            children.append(of(below))
        if state.current_player() == player:
            return statistics.fmean(children)
        odds = solution.odds({"history": state.history()})
        return sum(p * v for p, v in zip(odds, children, strict=True))

    root = game.new_initial_state()
    states = {(root.current_player(), str(root)): root}
    return of((root.current_player(), str(root)))


@pytest.mark.parametrize("env_id", MINIMAX)
def test_random_play_against_minimax(env_id):
    game = make(env_id).task.game
    solution = solve(str(game))
    assert solution.exact
    lost = [random_against(solution, game, player) for player in range(2)]
    assert references(env_id).scores == pytest.approx((statistics.fmean(lost), 0.0))


def test_random_play_of_blotto():
    random = exploitability(RandomAgent(), BLOTTO).exploitability
    assert references(BLOTTO).scores == pytest.approx((random, 0.0))


@pytest.mark.parametrize("env_id", PARTNERS)
def test_random_partners(env_id):
    tree = game_tree(str(make(env_id).task.game))
    random = [seat_policy(RandomAgent(), env_id, None, player) for player in range(2)]
    assert tree.common_payoff
    found = references(env_id).scores
    assert found == pytest.approx((expected_returns(tree, random)[0], 1.0))
    assert evaluate(ExpertAgent(1.0), env_id, None, games=4).value == 1.0


@pytest.mark.parametrize(
    "env_id", [pytest.param(RESPONSES[0], marks=pytest.mark.slow), RESPONSES[1]]
)
def test_best_responses_to_random_play(env_id):
    assert references(env_id).scores == pytest.approx(against(env_id, None, RandomAgent()))


def test_the_expert_of_the_sheriff_is_the_best_response():
    played = evaluate(ExpertAgent(1.0), "coevo/sheriff-v0", "random", games=300, seed=1)
    error = np.std(played.task_scores) / np.sqrt(len(played.task_scores))
    assert abs(played.value - references("coevo/sheriff-v0").scores.oracle) < ERRORS * error


def test_the_best_split_of_a_pool():
    start = pyspiel.load_game("bargaining").new_initial_state()
    pools = [start.child(a).instance() for a, _ in start.chance_outcomes()]
    best = np.mean([best_split(p.pool, p.values) for p in pools]) / 2
    assert references(BARGAINING).scores.oracle == pytest.approx(best)


@pytest.mark.parametrize("env_id", HANABI)
def test_no_play_of_hanabi_scores_more(env_id):
    assert references(env_id).scores.oracle == most_points(make(env_id).task.game)


@pytest.mark.parametrize("env_id", [*HANABI, BARGAINING])
def test_random_play_with_itself_by_simulation(env_id):
    close(env_id, RandomAgent(), None, references(env_id).scores.random)


@pytest.mark.parametrize(
    "env_id",
    [pytest.param(e, marks=[pytest.mark.slow] * (e == "coevo/chess-v0")) for e in EXPERTS],
)
def test_experts_against_random_play_by_simulation(env_id):
    assert references(env_id).scores.random == 0
    close(env_id, ExpertAgent(1.0), "random", references(env_id).scores.oracle)


def test_the_expert_of_core_war_by_simulation():
    assert references(CORE_WAR).scores.random == 0.5  # a share of one, between equals
    close(CORE_WAR, ExpertAgent(1.0), "random", references(CORE_WAR).scores.oracle)


def close(env_id, agent, other, expected, games=16):
    """Compare the mean of some games, of other seeds than the constant's, with the constant."""
    scores = np.array(evaluate(agent, env_id, other, games=games, seed=11).task_scores)
    low, high = make(env_id).payoff_range
    # Where all games end alike their spread says nothing; what is rare may have been missed.
    error = max(scores.std(ddof=1), 0.1 * (high - low)) / np.sqrt(len(scores))
    assert abs(scores.mean() - expected) < ERRORS * error
