import gymnasium
import numpy as np
import pyspiel
import pytest

import coevo.agents  # adds the opponents
from coevo.agents import OracleAgent
from coevo.agents.agent import Request, request_of
from coevo.agents.strategies.game_tree import game_tree
from coevo.agents.strategies.oracle import solve
from coevo.envs import make
from coevo.envs.core.errors import ConfigError
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

OPENSPIEL = "coevo/openspiel-v0"


def request_after(game, moves):
    env = make(OPENSPIEL, game=game)
    env.reset(seed=0)
    for action in moves:
        names = {
            a: m
            for m, a in env.task.legal_moves(
                env.task.state, env.task.state.current_player()
            ).items()
        }
        env.step(f"[{names[action]}]")
    seat = env.agent_selection
    return Request(seat, env.chat(seat), env.infos[seat], np.random.default_rng(0))


def odds(agent, game, moves):
    asked = request_after(game, moves)
    return dict(zip(asked.info["legal_actions"], agent.probabilities([asked])[0], strict=True))


def test_tic_tac_toe_is_solved_over_all_boards():
    solution = solve("tic_tac_toe")
    assert solution.exact
    assert solution.value(pyspiel.load_game("tic_tac_toe").new_initial_state()) == 0
    ends = 958  # of the 5478 reachable boards, those where play is over
    assert len(solution._values) == 5478 - ends


def test_minimax_spreads_evenly_over_the_best_moves():
    opening = list(odds(OracleAgent(), "tic_tac_toe", []).values())
    assert opening == pytest.approx([1 / 9] * 9)
    must_block = list(odds(OracleAgent(), "tic_tac_toe", [0, 4, 1]).values())
    assert must_block == [1.0, 0, 0, 0, 0, 0]  # cell 2 is the first of six free cells


@pytest.mark.parametrize("misere", [False, True])
@pytest.mark.parametrize("piles", [(3, 4, 5), (1, 3, 5), (1, 1, 2), (1, 1), (2, 2), (1, 2, 3)])
def test_nim_values_follow_the_closed_form(piles, misere):
    game = f"nim(pile_sizes={';'.join(map(str, piles))},is_misere={misere})"
    wins = bool(np.bitwise_xor.reduce(piles))
    if misere and max(piles) == 1:
        wins = piles.count(1) % 2 == 0
    value = solve(game).value(pyspiel.load_game(game).new_initial_state())
    assert value == (1 if wins else -1)


@pytest.mark.parametrize(
    ("game", "value", "bound"),
    [("kuhn_poker", -1 / 18, 1e-3), ("leduc_poker", -0.085606424078, 0.02)],
)
def test_poker_policies_are_near_equilibrium(game, value, bound):
    solution, loaded = solve(game), pyspiel.load_game(game)
    assert solution.exact
    assert solution.exploitability < bound
    policy = {
        d.key: list(zip(d.state.legal_actions(d.player), solution._odds[d.key], strict=True))
        for d in game_tree(game).decisions
    }
    root = loaded.new_initial_state()
    got = pyspiel.expected_returns(root, pyspiel.TabularPolicy(policy), -1, True)
    assert got[0] == pytest.approx(value, abs=bound)


def test_kuhn_odds_are_an_equilibrium_of_kuhns_family():
    policy = solve("kuhn_poker")._odds
    bluff = policy["0"][1]
    assert 0 <= bluff <= 1 / 3 + 0.02
    assert policy["2"][1] == pytest.approx(3 * bluff, abs=0.03)
    assert policy["1pb"][1] == pytest.approx(bluff + 1 / 3, abs=0.03)
    assert policy["1b"][1] == pytest.approx(1 / 3, abs=0.03)
    assert policy["0p"][1] == pytest.approx(1 / 3, abs=0.03)


@pytest.mark.parametrize("game", ["goofspiel(num_cards=3)", "matrix_rps", "matrix_mp"])
def test_simultaneous_zero_sum_games_are_solved(game):
    solution = solve(game)
    assert solution.exploitability < 1e-3
    env = make(OPENSPIEL, game=game)
    env.reset(seed=0)
    agent = OracleAgent()
    for seat in env.awaiting:
        asked = Request(seat, env.chat(seat), env.infos[seat], np.random.default_rng(0))
        p = agent.probabilities([asked])[0]
        assert len(p) == len(env.infos[seat]["legal_actions"])
        assert p.sum() == pytest.approx(1)


def test_matching_pennies_is_played_evenly():
    for p in solve("matrix_mp")._odds.values():
        assert p.tolist() == pytest.approx([0.5, 0.5], abs=1e-2)


@pytest.mark.parametrize(("game", "best"), [("tiny_hanabi", 10), ("lewis_signaling", 1)])
def test_cooperative_pairs_reach_the_optimum_in_every_deal(game, best):
    matches = [EpisodeSpec(seed, {"player_0": "o", "player_1": "o"}) for seed in range(12)]
    episodes = rollout(OPENSPIEL, matches, {"o": OracleAgent()}, {"game": game})
    assert {e.total(seat, "payoff") for e in episodes for seat in e.agents} == {best}


def test_two_optimal_players_draw_tic_tac_toe():
    matches = [EpisodeSpec(seed, {"player_0": "o", "player_1": "o"}) for seed in range(10)]
    episodes = rollout(OPENSPIEL, matches, {"o": OracleAgent()}, {"game": "tic_tac_toe"})
    assert all(e.total("player_0") == 0 for e in episodes)
    assert len({tuple(t.move for t in e.turns) for e in episodes}) > 1  # ties are broken at random


def test_connect_four_is_searched_and_says_so():
    agent = OracleAgent(simulations=200)
    assert agent.exact
    threat = odds(agent, "connect_four", [3, 0, 3, 0, 3])
    assert list(threat.values()) == [0, 0, 0, 1, 0, 0, 0]
    assert not agent.exact
    assert "200 simulations" in solve("connect_four", 200).label
    assert odds(agent, "connect_four", []) == odds(OracleAgent(200), "connect_four", [])


@pytest.mark.parametrize(
    ("game", "reason"),
    [
        ("matrix_pd", "pays its players differently"),
        ("kuhn_poker(players=3)", "has 3 players"),
        ("hanabi", "no information states"),
    ],
)
def test_other_games_name_the_kinds_that_have_an_oracle(game, reason):
    with pytest.raises(ConfigError, match=reason) as caught:
        solve(game)
    assert "zero-sum" in str(caught.value)


def test_an_environment_without_openspiel_rules_has_no_oracle():
    asked = Request("a", (), {"legal_actions": ["x"]}, np.random.default_rng(0))
    with pytest.raises(ConfigError, match="no OpenSpiel game"):
        OracleAgent().act([asked])


def test_where_any_text_is_legal_it_is_the_expert_at_its_best():
    env = make("coevo/debate-v0")
    env.reset(seed=0)
    while env.awaiting:
        seat = env.agent_selection
        asked = request_of(env, seat, np.random.default_rng(0), inside=True)
        env.step(OracleAgent().act([asked])[0].text)
    assert all(turn.verified for turn in env.episode.turns)
    nobody = Request("a", (), {"legal_actions": None}, np.random.default_rng(0))
    with pytest.raises(ConfigError, match="there is no expert"):
        OracleAgent().act([nobody])


@pytest.mark.parametrize("name", ["oracle", "expert"])
@pytest.mark.parametrize("seat", [0, 1])
def test_gymnasium_takes_our_players_as_opponents(name, seat):
    env = gymnasium.make("coevo/kuhn_poker-v0", opponents=name, seat=seat)
    for seed in range(5):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            _, reward, over, _, info = env.step(f"[{info['legal_actions'][0]}]")
        assert abs(reward) in (1, 2)
    assert coevo.agents.OracleAgent().name == "oracle"
