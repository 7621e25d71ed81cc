import json

import pytest

from coevo.agents import ExpertAgent, FirstLegalAgent, FixedTextAgent, OracleAgent, RandomAgent
from coevo.agents.agent import Agent, NoReplyError
from coevo.benchmarks import rollouts as module
from coevo.benchmarks.evaluate import evaluate, standard_table
from coevo.benchmarks.exact import exploitability
from coevo.envs.core.episode import StopReason
from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.trainers.collect.rollout import rollout

KUHN, OPENSPIEL = "coevo/kuhn_poker-v0", "coevo/openspiel-v0"


def test_both_seats_get_the_same_starts(monkeypatch):
    played = []

    def kept(*args):
        played.extend(rollout(*args))
        return played

    monkeypatch.setattr(module, "rollout", kept)
    found = evaluate(FirstLegalAgent(), KUHN, FirstLegalAgent(), games=20)
    assert all(a.seed == b.seed for a, b in zip(played[::2], played[1::2], strict=True))
    assert [t.player for t in played[0].turns] == ["agent", "opponent"]
    assert [t.player for t in played[1].turns] == ["opponent", "agent"]
    # two equal deterministic players: what one wins in one seat it loses in the other
    assert found.value == 0
    assert found.interval == (0, 0)
    assert found.win_rate == found.loss_rate == 0.5


def test_mean_returns_agree_with_exact_values():
    found = evaluate(RandomAgent(), KUHN, RandomAgent(), games=2000)
    exact = exploitability(RandomAgent(), KUHN).on_policy_values[0]
    for seat, value in (("player_0", exact), ("player_1", -exact)):
        low, high = found.seats[seat].interval
        margin = (high - low) / 2
        assert abs(found.seats[seat].value - value) < 2 * margin
    low, high = found.interval
    assert low < found.value < high
    assert found.episodes == 2000


def test_equal_seeds_give_equal_results():
    runs = [evaluate(ExpertAgent(), KUHN, games=40, seed=s).to_dict() for s in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_odd_numbers_of_games_are_rounded_up_to_whole_deals():
    assert evaluate(RandomAgent(), KUHN, games=3).episodes == 4


def test_many_games_are_played_in_bounded_batches(monkeypatch):
    sizes = []

    def counted(env_id, matches, players, env_options=None):
        sizes.append(len(matches))
        return rollout(env_id, matches, players, env_options)

    monkeypatch.setattr(module, "rollout", counted)
    evaluate(FirstLegalAgent(), KUHN, games=600)
    assert sizes == [256, 256, 88]


def test_the_optimal_player_never_loses():
    found = evaluate(OracleAgent(), OPENSPIEL, games=40, env_options={"game": "tic_tac_toe"})
    assert found.loss_rate == 0
    assert found.win_rate + found.draw_rate == 1
    assert 5 <= found.mean_turns <= 9


def test_forfeits_are_losses_and_counted():
    found = evaluate(FixedTextAgent("I refuse"), KUHN, games=20)
    assert found.forfeit_rate == found.illegal_rate == found.loss_rate == 1
    assert found.value == -2
    other = evaluate(RandomAgent(), KUHN, FixedTextAgent("I refuse"), games=20)
    assert other.forfeit_rate == 0
    assert other.win_rate == 1


def test_replaced_moves_are_illegal_but_not_forfeited():
    found = evaluate(FixedTextAgent("?"), KUHN, games=20, env_options={"illegal": "penalty"})
    assert found.forfeit_rate == 0
    assert found.illegal_rate == 1
    assert found.value == pytest.approx(round(found.value * 20) / 20)


def test_cooperation_has_returns_but_no_wins():
    options = {"game": "tiny_hanabi"}
    alone = evaluate(OracleAgent(), OPENSPIEL, None, games=10, env_options=options)
    assert alone.opponent is None
    assert alone.value == 10
    assert alone.win_rate is None
    assert alone.episodes == 20
    partner = evaluate(RandomAgent(), OPENSPIEL, "oracle", games=100, env_options=options)
    assert partner.value < 10


def test_truncated_plays_are_counted():
    found = evaluate(RandomAgent(), KUHN, games=4, env_options={"max_cycles": 1})
    assert found.truncated_rate == 1
    assert found.draw_rate == 1


def test_plays_that_failed_for_outside_reasons_are_left_out(monkeypatch):
    def flaky(env_id, matches, players, env_options=None):
        episodes = rollout(env_id, matches, players, env_options)
        episodes[0].stop, episodes[0].note = StopReason.ERROR, "server down"
        return episodes

    monkeypatch.setattr(module, "rollout", flaky)
    found = evaluate(RandomAgent(), KUHN, games=10)
    assert found.errors == 1
    assert found.episodes == 9
    with pytest.raises(NoReplyError, match="server down"):
        evaluate(RandomAgent(), KUHN, None, games=1)


def test_results_are_json():
    table = evaluate(RandomAgent(), KUHN, games=2).to_dict()
    assert json.loads(json.dumps(table, allow_nan=False)) == table
    assert table["seats"].keys() == {"player_0", "player_1"}


def test_wrong_arguments_are_named():
    with pytest.raises(ConfigError, match="games=0"):
        evaluate(RandomAgent(), KUHN, games=0)
    with pytest.raises(UnknownNameError, match="did you mean 'oracle'"):
        evaluate(RandomAgent(), KUHN, "oracel")


def test_the_table_of_a_contest():
    table = standard_table(ExpertAgent(1), KUHN, start_agent=RandomAgent(), games=200)
    assert json.loads(json.dumps(table)) == table
    assert table["exploitability"] < 1e-3
    assert table["win_rate_vs_random"] == table["win_rate_vs_start"]
    assert 0.4 < table["win_rate_vs_start"] < 0.7
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
    assert table["win_rate_vs_start"] is None
    no_oracle = standard_table(Silent(), OPENSPIEL, games=4, env_options={"game": "matrix_pd"})
    assert no_oracle["return_vs_oracle"] is no_oracle["oracle"] is None
    assert no_oracle["win_rate_vs_random"] is None
    assert no_oracle["return_self_play"] is not None


def test_the_table_of_a_cooperative_task():
    table = standard_table(OracleAgent(), OPENSPIEL, games=10, env_options={"game": "tiny_hanabi"})
    assert table["return_self_play"] == table["return_vs_oracle"] == 10
    assert table["exploitability"] is None
