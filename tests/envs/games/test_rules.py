"""Legality and payoffs are OpenSpiel's, whatever the skin calls them."""

import copy

import pytest

from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status, answer

WORDS = ["check", "bet", "fold", "call", "raise", "left", "middle", "right", "pass", "(x)", "x"]
VOCABULARY = WORDS + [str(n) for n in range(-1, 15)]


def test_exactly_the_listed_moves_are_accepted(skin, walks):
    def try_everything(env, agent):
        player = env.possible_agents.index(agent)
        legal = env.infos[agent]["legal_actions"]
        assert len(legal) == len(env.task.state.legal_actions(player))
        for word in VOCABULARY:
            fork = copy.deepcopy(env)
            fork.step(answer(word))
            accepted = fork.episode.turns[-1].status is Status.LEGAL
            assert accepted == (word in legal), (word, legal)

    walks.random_play(walks.make(skin), 5, try_everything)
    assert len(set(VOCABULARY)) == len(VOCABULARY)


@pytest.mark.parametrize("seed", range(12))
def test_payoffs_are_those_of_openspiel(skin, seed, walks):
    env = walks.make(skin)
    episode = walks.random_play(env, seed)
    totals = [episode.total(a) for a in env.possible_agents]
    assert env.task.state.is_terminal()
    assert totals == env.task.state.returns()
    assert [episode.outcome[f"return/{a}"] for a in env.possible_agents] == totals
    assert env.zero_sum == (skin != "coevo/tiny_hanabi-v0")
    assert sum(totals) == 0 or not env.zero_sum
    low, high = env.payoff_range
    assert all(low <= t <= high for t in totals)


def play(env, *moves):
    for move in moves:
        env.step(answer(move))
    return env


def test_a_seat_stakes_the_chips_it_has_put_in(walks):
    env = walks.make("coevo/leduc_poker-v0", illegal="marshal")
    env.reset(seed=1)
    play(env, "check", "raise", "raise", "call", "raise")
    assert [env.task.at_risk(a) for a in env.possible_agents] == [9.0, 5.0]
    env.step("I give up")
    assert env.episode.total("player_1") == -5.0 - 10.0

    kuhn = walks.make("coevo/kuhn_poker-v0")
    kuhn.reset(seed=1)
    play(kuhn, "check", "bet")
    assert [kuhn.task.at_risk(a) for a in kuhn.possible_agents] == [1.0, 2.0]


def test_stakes_of_the_other_games(walks):
    for name, stake in [("tic_tac_toe", 1.0), ("goofspiel", 1.0), ("tiny_hanabi", 0.0)]:
        env = walks.make(f"coevo/{name}-v0")
        env.reset(seed=1)
        assert env.task.at_risk("player_0") == stake


def test_leduc_bets_two_and_four_chips(walks):
    env = walks.make("coevo/leduc_poker-v0")
    env.reset(seed=1)
    play(env, "raise", "raise", "call", "raise", "raise", "call")
    assert {abs(env.episode.total(a)) for a in env.possible_agents} <= {0.0, 13.0}
    assert "Stakes: 13 and 13 chips." in env.task.draw()


def test_leduc_values_of_random_play_are_those_of_the_plain_game(walks):
    from open_spiel.python import policy
    from open_spiel.python.algorithms import expected_game_score

    game = walks.make("coevo/leduc_poker-v0").task.game
    uniform = policy.UniformRandomPolicy(game)
    value = expected_game_score.policy_value(game.new_initial_state(), [uniform, uniform])
    # -0.078125 = the value that the plain game, with suits, has for player_0.
    assert value == pytest.approx([-0.078125, 0.078125], abs=1e-12)


def test_reference_scores_of_tiny_hanabi(walks):
    import coevo.envs

    game = walks.make("coevo/tiny_hanabi-v0").task.game
    returns = []
    for state in walks.decision_states(game.new_initial_state()):
        if state.current_player() == 1:
            returns += [state.child(a).returns()[0] for a in state.legal_actions()]
    refs = coevo.envs.spec("coevo/tiny_hanabi-v0").refs
    assert refs["random"] == pytest.approx(sum(returns) / len(returns), abs=1e-4)
    assert refs["oracle"] == max(returns)


def test_board_size_of_connect_four(walks):
    env = walks.make("coevo/connect_four-v0", game="connect_four(rows=4,columns=5)")
    env.reset(seed=0)
    assert env.infos["player_0"]["legal_actions"] == ["1", "2", "3", "4", "5"]
    assert env.task.draw() == "1 2 3 4 5\n" + "\n".join([". . . . ."] * 4)
    play(env, "1", "1", "1", "1")
    assert env.infos["player_0"]["legal_actions"] == ["2", "3", "4", "5"]
    assert "4 rows and 5 columns" in env.chat("player_0")[0]["content"]
    assert env.episode.options["game"] == "connect_four(rows=4,columns=5)"


def test_goofspiel_keeps_its_own_settings_where_none_are_given(walks):
    env = walks.make("coevo/goofspiel-v0", game="goofspiel(points_order=descending)")
    env.reset(seed=0)
    assert env.infos["player_0"]["legal_actions"] == list("123456")
    assert "Prize: 6." in env.chat("player_0")[-1]["content"]


def test_goofspiel_with_margins_pays_half_the_difference(walks):
    game = "goofspiel(num_cards=3,points_order=descending,returns_type=point_difference)"
    env = walks.make("coevo/goofspiel-v0", game=game)
    env.reset(seed=0)
    play(env, "3", "1", "2", "3")
    # Prizes 3, 2 and 1; player_0 takes 3, player_1 takes 2 and the last one: 3 to 3.
    assert [env.episode.total(a) for a in env.possible_agents] == [0.0, 0.0]
    assert env.task.draw().splitlines()[2] == "prize 1: player_0 bids 1, player_1 bids 2"


@pytest.mark.parametrize(
    ("name", "game", "reason"),
    [
        ("kuhn_poker", "kuhn_poker(players=3)", "players cannot be set"),
        ("leduc_poker", "leduc_poker(suit_isomorphism=False)", "suit_isomorphism cannot be set"),
        ("tic_tac_toe", "connect_four", "plays tic_tac_toe"),
        ("tic_tac_toe", "", "plays tic_tac_toe"),
        ("connect_four", "connect_four(rows=0)", "rows takes 1 to 20"),
        ("connect_four", "connect_four(rows=six)", "rows takes 1 to 20"),
        ("connect_four", "connect_four(rows=", "cannot read"),
        ("connect_four", "connect_four(egocentric_obs_tensor=True)", "cannot be set"),
        ("goofspiel", "goofspiel(players=3)", "players cannot be set"),
        ("goofspiel", "goofspiel(points_order=up)", "takes random or descending or ascending"),
    ],
)
def test_a_skin_refuses_a_game_that_it_has_no_words_for(name, game, reason, walks):
    with pytest.raises(ConfigError, match=reason):
        walks.make(f"coevo/{name}-v0", game=game)
