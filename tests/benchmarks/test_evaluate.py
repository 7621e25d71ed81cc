import json

import pytest

from coevo.agents import FirstLegalAgent, FixedTextAgent, OracleAgent, RandomAgent, TutorAgent
from coevo.agents.agent import Agent
from coevo.benchmarks import evaluate as module
from coevo.benchmarks.evaluate import evaluate, standard_table
from coevo.benchmarks.exploitability import exploitability
from coevo.envs.core.episode import Stop
from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.trainers.rollout import play

KUHN, OPENSPIEL = "coevo/kuhn_poker-v0", "coevo/openspiel-v0"


def test_both_seats_get_the_same_deals():
    found = evaluate(FirstLegalAgent(), KUHN, FirstLegalAgent(), games=20, samples=20)
    pairs = list(zip(found.samples[::2], found.samples[1::2], strict=True))
    assert all(a.seed == b.seed for a, b in pairs)
    assert [t.player for t in found.samples[0].turns] == ["agent", "opponent"]
    assert [t.player for t in found.samples[1].turns] == ["opponent", "agent"]
    # two equal deterministic players: what one wins in one seat it loses in the other
    assert found.total.mean_return == 0
    assert found.total.interval == (0, 0)
    assert found.total.win_rate == found.total.loss_rate == 0.5


def test_mean_returns_agree_with_exact_values():
    found = evaluate(RandomAgent(), KUHN, RandomAgent(), games=2000)
    exact = exploitability(RandomAgent(), KUHN).on_policy_value
    for seat, value in (("player_0", exact), ("player_1", -exact)):
        low, high = found.seats[seat].interval
        margin = (high - low) / 2
        assert abs(found.seats[seat].mean_return - value) < 2 * margin
    low, high = found.total.interval
    assert low < found.total.mean_return < high
    assert found.total.plays == 2000


def test_equal_seeds_give_equal_results():
    runs = [evaluate(TutorAgent(), KUHN, games=40, seed=s).to_dict() for s in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_odd_numbers_of_games_are_rounded_up_to_whole_deals():
    assert evaluate(RandomAgent(), KUHN, games=3).total.plays == 4


def test_many_games_are_played_in_bounded_batches(monkeypatch):
    sizes = []

    def counted(env_id, matches, players, env_options=None):
        sizes.append(len(matches))
        return play(env_id, matches, players, env_options)

    monkeypatch.setattr(module, "play", counted)
    evaluate(FirstLegalAgent(), KUHN, games=600)
    assert sizes == [256, 256, 88]


def test_the_optimal_player_never_loses():
    found = evaluate(OracleAgent(), OPENSPIEL, games=40, env_options={"game": "tic_tac_toe"})
    assert found.total.loss_rate == 0
    assert found.total.win_rate + found.total.draw_rate == 1
    assert 5 <= found.mean_turns <= 9


def test_forfeits_are_losses_and_counted():
    found = evaluate(FixedTextAgent("I refuse"), KUHN, games=20)
    assert found.total.forfeit_rate == found.total.illegal_rate == found.total.loss_rate == 1
    assert found.total.mean_return == -2
    other = evaluate(RandomAgent(), KUHN, FixedTextAgent("I refuse"), games=20)
    assert other.total.forfeit_rate == 0
    assert other.total.win_rate == 1


def test_replaced_moves_are_illegal_but_not_forfeited():
    found = evaluate(FixedTextAgent("?"), KUHN, games=20, env_options={"illegal": "penalty"})
    assert found.total.forfeit_rate == 0
    assert found.total.illegal_rate == 1
    assert found.total.mean_return == pytest.approx(round(found.total.mean_return * 20) / 20)


def test_cooperation_has_returns_but_no_wins():
    options = {"game": "tiny_hanabi"}
    alone = evaluate(OracleAgent(), OPENSPIEL, None, games=10, env_options=options)
    assert alone.opponent is None
    assert alone.total.mean_return == 10
    assert alone.total.win_rate is None
    assert alone.total.plays == 20
    partner = evaluate(RandomAgent(), OPENSPIEL, "oracle", games=100, env_options=options)
    assert partner.total.mean_return < 10


def test_truncated_plays_are_counted():
    found = evaluate(RandomAgent(), KUHN, games=4, env_options={"max_cycles": 1})
    assert found.truncated_rate == 1
    assert found.total.draw_rate == 1


def test_plays_that_failed_for_outside_reasons_are_left_out(monkeypatch):
    def flaky(env_id, matches, players, env_options=None):
        episodes = play(env_id, matches, players, env_options)
        episodes[0].stop, episodes[0].note = Stop.ERROR, "server down"
        return episodes

    monkeypatch.setattr(module, "play", flaky)
    found = evaluate(RandomAgent(), KUHN, games=10)
    assert found.errors == 1
    assert found.total.plays == 9
    with pytest.raises(ConfigError, match="server down"):
        evaluate(RandomAgent(), KUHN, None, games=1)


def test_results_are_json():
    table = evaluate(RandomAgent(), KUHN, games=2).to_dict()
    assert json.loads(json.dumps(table))["seats"].keys() == {"player_0", "player_1"}
    assert "samples" not in table


def test_wrong_arguments_are_named():
    with pytest.raises(ConfigError, match="games=0"):
        evaluate(RandomAgent(), KUHN, games=0)
    with pytest.raises(UnknownNameError, match="did you mean 'oracle'"):
        evaluate(RandomAgent(), KUHN, "oracel")


def test_the_table_of_a_contest():
    table = standard_table(TutorAgent(1), KUHN, seed_agent=RandomAgent(), games=200)
    assert json.loads(json.dumps(table)) == table
    assert table["exploitability"] < 1e-3
    assert table["win_rate_vs_random"] == table["win_rate_vs_seed"]
    assert 0.4 < table["win_rate_vs_seed"] < 0.7
    assert table["return_vs_oracle"] == pytest.approx(0, abs=0.4)
    assert table["oracle"].startswith("CFR+")
    assert table["return_self_play"] is None
    assert table["forfeit_rate"] == 0


def test_the_table_leaves_out_what_does_not_exist():
    class Silent(Agent):
        def act(self, requests):
            return RandomAgent().act(requests)

    table = standard_table(Silent(), KUHN, games=10)
    assert table["exploitability"] is None
    assert table["win_rate_vs_seed"] is None
    no_oracle = standard_table(Silent(), OPENSPIEL, games=4, env_options={"game": "matrix_pd"})
    assert no_oracle["return_vs_oracle"] is no_oracle["oracle"] is None
    assert no_oracle["win_rate_vs_random"] is None
    assert no_oracle["return_self_play"] is not None


def test_the_table_of_a_cooperative_task():
    table = standard_table(OracleAgent(), OPENSPIEL, games=10, env_options={"game": "tiny_hanabi"})
    assert table["return_self_play"] == table["return_vs_oracle"] == 10
    assert table["exploitability"] is None
