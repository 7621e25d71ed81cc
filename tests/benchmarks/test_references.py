"""Every reference score that is printed anywhere, computed again."""

import functools
import statistics

import pyspiel
import pytest

from coevo.agents import OracleAgent, RandomAgent
from coevo.agents.strategies.oracle import solve
from coevo.benchmarks.evaluate import evaluate
from coevo.benchmarks.exact import against, exploitability
from coevo.benchmarks.references import FURTHER, default_metric, references
from coevo.envs import list_envs, make, spec
from coevo.envs.core.errors import ConfigError

KUHN, LEDUC = "coevo/kuhn_poker-v0", "coevo/leduc_poker-v0"
HANABI, TICTACTOE = "coevo/tiny_hanabi-v0", "coevo/tic_tac_toe-v0"
GOOFSPIEL, CONNECT = "coevo/goofspiel-v0", "coevo/connect_four-v0"
BLOTTO = "coevo/colonel_blotto-v0"
EXACT = {"return_vs_random": RandomAgent, "return_vs_oracle": OracleAgent}


@pytest.mark.parametrize(("env", "value"), [(KUHN, 11 / 24), (LEDUC, 4.7472222222 / 2)])
def test_exploitability_of_random_play(env, value):
    found = references(env)
    assert found.scores.random == pytest.approx(value)
    assert found.scores.random == pytest.approx(exploitability(RandomAgent(), env).exploitability)
    assert found.scores.oracle == 0
    assert "exactly" in found.source


@pytest.mark.parametrize("env", [KUHN, LEDUC, HANABI, BLOTTO])
@pytest.mark.parametrize("metric", EXACT)
def test_returns_in_small_games(env, metric):
    low, high = references(env, metric=metric).scores
    found = against(env, None, EXACT[metric]())
    assert low == pytest.approx(found.random, abs=2e-4)  # CFR+ is an oracle up to 1e-3
    # against a near-equilibrium a best response gains the oracle's own exploitability
    assert high == pytest.approx(found.oracle, abs=1e-2 if metric == "return_vs_oracle" else 1e-9)


def test_self_play_in_tiny_hanabi():
    low, high = references(HANABI).scores
    values = evaluate(OracleAgent(), HANABI, None, games=20).value
    assert high == values == 10
    assert low == pytest.approx(against(HANABI, None, RandomAgent()).random)


def positions(game: str):
    """Return a function that averages over a game of open turns; equal boards are one."""
    root = pyspiel.load_game(game).new_initial_state()

    def value(choose, player):
        @functools.cache
        def of(key):
            state = states[key]
            if state.is_terminal():
                return state.returns()[player]
            children = []
            for action in state.legal_actions():
                child = state.child(action)
                states[str(child)] = child
                children.append(of(str(child)))
            return choose(state, children)

        states = {str(root): root}
        return of(str(root))

    return value


def test_returns_in_tic_tac_toe():
    value, oracle = positions("tic_tac_toe"), solve("tic_tac_toe")

    def random_against_oracle(player):
        def choose(state, children):
            if state.current_player() == player:
                return statistics.fmean(children)
            odds = oracle.odds({"history": state.history()})
            return sum(p * v for p, v in zip(odds, children, strict=True))

        return choose

    def best_against_random(player):
        return lambda state, children: (
            max if state.current_player() == player else statistics.fmean
        )(children)

    lost = [value(random_against_oracle(p), p) for p in range(2)]
    low, high = references(TICTACTOE).scores
    assert low == pytest.approx(statistics.fmean(lost))
    assert high == 0
    assert solve("tic_tac_toe").value(pyspiel.load_game("tic_tac_toe").new_initial_state()) == 0
    won = [value(best_against_random(p), p) for p in range(2)]
    assert references(TICTACTOE, metric="return_vs_random").scores.oracle == pytest.approx(
        statistics.fmean(won)
    )


def test_random_play_in_connect_four_by_simulation():
    played = evaluate(RandomAgent(), CONNECT, "oracle", games=6, seed=1)
    assert played.value == pytest.approx(references(CONNECT).scores.random, abs=0.34)


def best_bids(cards: int) -> float:
    """Return the win-or-lose value of a best response to random bids in Goofspiel."""
    deck = tuple(range(1, cards + 1))

    @functools.cache
    def value(mine, theirs, left, lead):
        if len(mine) == 1:
            lead += left[0] * ((mine > theirs) - (mine < theirs))
            return (lead > 0) - (lead < 0)
        total = 0.0
        for prize in left:
            rest = tuple(p for p in left if p != prize)
            hands = [tuple(c for c in theirs if c != t) for t in theirs]
            total += max(
                sum(
                    value(own, hand, rest, lead + prize * ((m > t) - (m < t)))
                    for t, hand in zip(theirs, hands, strict=True)
                )
                for m in mine
                for own in [tuple(c for c in mine if c != m)]
            ) / len(theirs)
        return total / len(left)

    return value(deck, deck, deck, 0)


@pytest.mark.parametrize("cards", [3, 4, 5])
def test_best_bids_against_random_ones(cards):
    options = {"game": f"goofspiel(num_cards={cards})"}
    assert references(GOOFSPIEL, options).scores == pytest.approx((0, best_bids(cards)))


def test_the_count_of_best_bids_agrees_with_openspiel():
    found = against(GOOFSPIEL, {"game": "goofspiel(num_cards=3)"}, RandomAgent())
    assert found == pytest.approx((0, best_bids(3)))


@pytest.mark.slow
def test_best_bids_with_six_cards():
    assert references(GOOFSPIEL).scores == pytest.approx((0, best_bids(6)))


def test_every_constant_is_tested_here():
    games = {str(make(env).task.game): env for env in (KUHN, LEDUC, HANABI, TICTACTOE, BLOTTO)}
    bids = [f"goofspiel(num_cards={n})" for n in (3, 4, 5)]
    assert {game for game, _ in FURTHER} == {*games, *bids}
    primary = {e.id for e in list_envs() if e.refs}
    # Those of rooms without OpenSpiel's rules are computed again by the tests of the room.
    rooms = {e.id for e in list_envs() if ".games." not in e.module}
    # test_game_references has the games that are not here.
    assert primary - rooms >= {KUHN, LEDUC, HANABI, TICTACTOE, GOOFSPIEL, CONNECT}
    for env in primary:
        assert spec(env).refs_source
        assert spec(env).refs["random"] != spec(env).refs["oracle"]


def test_what_changes_a_task_takes_its_references_away():
    assert references(KUHN, {"prompt_style": "terse", "illegal": "random"}) == references(KUHN)
    assert references(KUHN, {"game": "kuhn_poker"}) == references(KUHN)
    assert references(KUHN, {"openings": 2}) == references(KUHN)  # exact: the whole game is seen
    with pytest.raises(ConfigError, match="openings=2"):
        references(TICTACTOE, {"openings": 2})
    with pytest.raises(ConfigError, match="max_cycles=3"):
        references(TICTACTOE, {"max_cycles": 3})
    with pytest.raises(ConfigError, match="return_vs_oracle"):
        references(GOOFSPIEL, metric="return_vs_oracle")


def test_the_metric_of_an_environment_without_one_goes_by_its_kind():
    openspiel = "coevo/openspiel-v0"
    assert default_metric(openspiel, {"game": "tic_tac_toe"}) == "return_vs_random"
    assert default_metric(openspiel, {"game": "matrix_pd"}) == "return_self_play"
    shared = references(openspiel, {"game": "kuhn_poker"}).scores
    assert shared == references(KUHN, metric="return_vs_random").scores
