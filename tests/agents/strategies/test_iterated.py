"""Scripted players of repeated dilemmas, judged by the stationary chain of two vectors."""

import gymnasium
import numpy as np
import pytest

import coevo.agents
from coevo.agents import SCRIPTED
from coevo.agents.agent import Request
from coevo.agents.load import load_agent
from coevo.agents.strategies.iterated import (
    MEMORY_ONE,
    RULES,
    STRATEGIES,
    MemoryOne,
    generosity,
    linear_relation,
)
from coevo.agents.strategies.split import SPLIT_STRATEGIES, other_hand
from coevo.benchmarks.evaluate import evaluate
from coevo.envs import make
from coevo.envs.core.errors import ConfigError
from coevo.envs.dilemmas.catalogue import matrix_game
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

ITERATED, SPLIT = "coevo/iterated_game-v0", "coevo/trust_and_split-v0"
R, S, T, P = 3.0, 0.0, 5.0, 1.0
PAYOFFS = matrix_game("prisoners_dilemma").payoffs


def rule_of(name, player=0):
    return STRATEGIES[name]().rule(PAYOFFS, player)


def meet(first, second, seeds=1, **options):
    """Mean of each metric over plays."""
    matches = [EpisodeSpec(seed, {"player_0": "a", "player_1": "b"}) for seed in range(seeds)]
    players = {"a": SCRIPTED[first](), "b": SCRIPTED[second]()}
    episodes = rollout(ITERATED, matches, players, {"prompt_style": "terse"} | options)
    return {k: np.mean([e.outcome[k] for e in episodes]) for k in episodes[0].outcome}


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 0.75, 0.9])
def test_random_players_cooperate_as_often_as_their_name_says(share):
    name = f"random_c{round(100 * share)}"
    for own, other in (((), ()), ((0,), (1,)), ((1, 1), (0, 1))):
        assert rule_of(name)(own, other) == pytest.approx(share)
    found = meet(name, "always_c", seeds=10, rounds=100)
    assert found["cooperation/player_0"] == pytest.approx(share, abs=0.05)
    assert found["cooperation/player_1"] == 1


# ---- The stationary chain ---------------------------------------------------------------------


def long_run(first, second):
    """Mean payoffs per round of two memory-one vectors, from the chain over CC, CD, DC, DD."""
    p = np.clip(first, 1e-9, 1 - 1e-9)
    q = np.clip(
        np.asarray(second)[[0, 2, 1, 3]], 1e-9, 1 - 1e-9
    )  # CD and DC as the other sees them
    chain = np.stack([p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q)], axis=1)
    system = np.vstack([chain.T - np.eye(4), np.ones(4)])
    share = np.linalg.lstsq(system, np.array([0, 0, 0, 0, 1.0]), rcond=None)[0]
    return share @ [R, S, T, P], share @ [R, T, S, P]


def vector_of(name):
    return STRATEGIES[name]().vector(R, S, T, P)


def test_scores_of_extortion_by_markov_chains():
    assert long_run(vector_of("extort2"), vector_of("always_c")) == pytest.approx((3.5, 2.25))
    assert long_run(vector_of("extort2"), vector_of("random_c50")) == pytest.approx(
        (2.471, 1.735), abs=1e-3
    )


@pytest.mark.parametrize(("name", "factor"), [("extort2", 2), ("extort3", 3), ("extort4", 4)])
def test_extortion_enforces_its_factor_on_everybody(name, factor):
    rng = np.random.default_rng(0)
    for other in [*rng.uniform(0.05, 0.95, size=(20, 4)), vector_of("always_c"), vector_of("wsls")]:
        mine, theirs = long_run(vector_of(name), other)
        assert mine - P == pytest.approx(factor * (theirs - P), abs=1e-5)
        assert mine >= theirs - 1e-6


def test_generosity_enforces_its_line_from_the_other_side():
    rng = np.random.default_rng(1)
    for other in rng.uniform(0.05, 0.95, size=(20, 4)):
        mine, theirs = long_run(vector_of("zd_gtft2"), other)
        assert R - mine == pytest.approx(2 * (R - theirs), abs=1e-6)


@pytest.mark.parametrize("other", ["always_c", "random_c50", "gtft"])
@pytest.mark.parametrize("seat", [0, 1])
def test_long_plays_approach_the_chain_from_either_seat(other, seat):
    pair = ("extort2", other) if seat == 0 else (other, "extort2")
    found = meet(*pair, seeds=10, rounds=100)
    wanted = long_run(vector_of("extort2"), vector_of(other))
    assert found[f"mean_payoff/player_{seat}"] == pytest.approx(wanted[0], abs=0.15)
    assert found[f"mean_payoff/player_{1 - seat}"] == pytest.approx(wanted[1], abs=0.15)


@pytest.mark.parametrize("pair", [("tft", "tft"), ("wsls", "grim"), ("tft", "wsls")])
def test_noisy_plays_approach_the_chain_of_noisy_vectors(pair):
    noise = 0.2
    noisy = [(1 - 2 * noise) * np.array(vector_of(name)) + noise for name in pair]
    found = meet(*pair, seeds=4, rounds=80, noise=noise)
    for seat, wanted in enumerate(long_run(*noisy)):
        assert found[f"mean_payoff/player_{seat}"] == pytest.approx(wanted, abs=0.15)


def test_generosity_depends_on_the_game():
    assert generosity(R, S, T, P) == pytest.approx(1 / 3)
    assert generosity(1, -1, 2, 0) == pytest.approx(0.5)
    with pytest.raises(ConfigError, match="prisoner's dilemma"):
        generosity(4, 3, 2, 1)


def test_an_impossible_line_is_an_error():
    with pytest.raises(ConfigError, match=r"leave 0\.\.1"):
        linear_relation(0.5, 2.0)(R, S, T, P)


# ---- In the environment -----------------------------------------------------------------------


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_finds_its_way_to_the_table(name):
    for agent in (SCRIPTED[name](), load_agent(name)):
        assert agent.name == name
        found = evaluate(agent, ITERATED, opponent=name, games=4)
        assert found.illegal_rate == 0
        assert 5 <= found.value <= 35
    talking = evaluate(SCRIPTED[name](), ITERATED, "tft", 2, env_options={"messages": True})
    assert talking.illegal_rate == 0


@pytest.mark.parametrize("name", SPLIT_STRATEGIES)
def test_every_split_strategy_finds_its_way_to_the_table(name):
    found = evaluate(SCRIPTED[name](), SPLIT, opponent=name, games=4)
    assert found.illegal_rate == 0
    wanted = {"greedy": 275.0, "welfare_max": 500.0}[name]
    assert found.value == pytest.approx(wanted)


def test_greed_exploits_those_who_share():
    found = evaluate(SCRIPTED["greedy"](), SPLIT, opponent="welfare_max", games=60)
    assert found.value > 300
    poor = evaluate(SCRIPTED["welfare_max"](), SPLIT, opponent="greedy", games=60)
    assert poor.value == pytest.approx(250, abs=45)  # half of the coins when upper


def test_whoever_does_not_hear_a_hand_asks_for_half():
    facts = {"player": 0, "hand": "rock", "coins": 10}
    assert other_hand(facts | {"messages": {"player_1": "I have PAPER!"}}) == "paper"
    assert other_hand(facts | {"messages": {"player_1": "rock beats scissors"}}) == "scissors"
    assert other_hand(facts | {"messages": {"player_1": "paper or scissors"}}) is None
    assert other_hand(facts | {"messages": {"player_0": "I have paper"}}) is None
    assert other_hand(facts | {"messages": {}, "hands": ["rock", "paper"]}) == "paper"
    found = evaluate(SCRIPTED["welfare_max"](), SPLIT, None, 20, env_options={"messages": False})
    assert found.value == pytest.approx(275)


def test_one_defector_is_enough_in_a_crowd():
    options = {"game": "n_player_prisoners_dilemma", "rounds": 4}
    seats = {"player_0": "a", "player_1": "b", "player_2": "c"}
    players = {
        "a": SCRIPTED["tft"](),
        "b": SCRIPTED["always_c"](),
        "c": SCRIPTED["defect_once"](),
    }
    episode = rollout(ITERATED, [EpisodeSpec(0, seats)], players, options | {"rounds": 6})[0]
    moves = [t.move for t in episode.turns if t.agent == "player_0"]
    assert moves == ["A", "A", "A", "A", "B", "A"]


@pytest.mark.parametrize("name", [*STRATEGIES, *SPLIT_STRATEGIES])
def test_elsewhere_there_is_one_clear_error(name):
    with pytest.raises(ConfigError, match=rf"{name} plays coevo/\w+-v0 only, not coevo/kuhn"):
        evaluate(SCRIPTED[name](), "coevo/kuhn_poker-v0", games=2)
    bare = Request("a", (), {"legal_actions": None}, np.random.default_rng(0))
    with pytest.raises(ConfigError, match="only"):
        SCRIPTED[name]().act([bare])
    with pytest.raises(ConfigError, match="only, not this"):
        SCRIPTED[name]().probabilities([Request("a", (), {"legal_actions": ["x"]}, bare.rng)])


@pytest.mark.parametrize(
    ("game", "name", "message"),
    [
        ("rock_paper_scissors", "tft", "two actions each, not 3 x 3"),
        ("volunteers_dilemma", "extort2", "for two players, not 3"),
        ("harmony", "gtft", "prisoner's dilemma"),
        ("battle_of_sexes", "extort2", r"leave 0\.\.1"),
    ],
)
def test_games_that_a_strategy_cannot_play_are_named(game, name, message):
    with pytest.raises(ConfigError, match=message):
        evaluate(SCRIPTED[name](), ITERATED, games=2, env_options={"game": game})


def test_they_sit_in_gymnasiums_other_seats():
    env = gymnasium.make(ITERATED, opponents="tft", rounds=3)
    env.reset(seed=1)
    paid = [env.step(f"[{move}]")[1] for move in "BAA"]
    assert paid == [5, 0, 3]


def test_the_table_is_complete():
    assert set(STRATEGIES) == {*MEMORY_ONE, *RULES}
    assert set(STRATEGIES) | set(SPLIT_STRATEGIES) <= set(coevo.agents.SCRIPTED)
    assert all(isinstance(STRATEGIES[name](), MemoryOne) for name in MEMORY_ONE)
    assert make(ITERATED).payoff_range == (0, 50)
