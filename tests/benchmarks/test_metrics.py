import math

import pytest

from coevo.agents import ExpertAgent, FixedTextAgent, OracleAgent, RandomAgent
from coevo.benchmarks.metrics import METRICS, metric
from coevo.benchmarks.references import references
from coevo.envs import list_envs
from coevo.envs.core.errors import ConfigError, UnknownNameError

KUHN, TICTACTOE, HANABI = "coevo/kuhn_poker-v0", "coevo/tic_tac_toe-v0", "coevo/tiny_hanabi-v0"
OPENSPIEL = "coevo/openspiel-v0"


def test_random_play_scores_0_and_the_oracle_1_in_kuhn():
    kuhn = metric(KUHN, {"prompt_style": "terse"})
    assert (kuhn.name, kuhn.higher_is_better) == ("exploitability", False)
    assert kuhn.measure(RandomAgent(), games=2).normalised == pytest.approx(0, abs=1e-9)
    assert kuhn.measure(OracleAgent(), games=2).normalised == pytest.approx(1, abs=2e-3)


def test_scores_are_not_clipped():
    assert metric(KUHN).normalised(11 / 12) == pytest.approx(-1)


def test_the_oracle_scores_1_in_self_play():
    hanabi = metric(HANABI)
    assert hanabi.name == "return_self_play"
    assert hanabi.measure(OracleAgent(), games=20).normalised == 1


def test_games_and_seed_decide_what_is_played():
    ttt = metric(TICTACTOE)
    first, again = (ttt.measure(RandomAgent(), games=8, seed=s) for s in (1, 1))
    assert first == again
    others = {ttt.measure(RandomAgent(), games=8, seed=s).value for s in range(5)}
    assert len(others) > 1


def test_every_registered_environment_has_a_metric():
    for entry in list_envs():
        found = metric(entry.id)
        assert found.name in METRICS
        if entry.suite_names:
            assert found.references is not None, entry.id
            assert math.isfinite(found.normalised(0.0))


def test_without_references_a_score_is_not_normalised():
    pig = metric(OPENSPIEL)
    assert pig.references is None
    with pytest.raises(ConfigError, match="no reference scores for return_vs_random"):
        pig.normalised(0.0)
    with pytest.raises(ConfigError, match="game=goofspiel"):
        references("coevo/goofspiel-v0", {"game": "goofspiel(num_cards=7)"})


def test_unknown_metrics_and_arguments_are_named():
    with pytest.raises(UnknownNameError, match="did you mean 'exploitability'"):
        metric(KUHN, name="exploitabilty")
    with pytest.raises(ConfigError, match="prompt_style"):
        metric(KUHN, {"prompt_stile": "terse"})


def test_the_oracle_of_other_games_is_their_expert():
    assert metric("coevo/redteam-v0").opponent == "expert:1"
    assert metric(TICTACTOE).opponent == "oracle" and metric(HANABI).opponent is None


def test_agents_without_probabilities_are_told_apart():
    assert RandomAgent().gives_probabilities
    assert not FixedTextAgent("?").gives_probabilities


def test_the_accuracy_of_plays_that_pay_nothing():
    review = metric("coevo/peer_review-v0", {"prompt_style": "terse"})
    assert review.name == "accuracy_self_play"
    assert review.measure(ExpertAgent(1.0), 20).value == review.references.oracle == 1.0
    found = review.measure(RandomAgent(), 150)
    assert found.value == pytest.approx(review.references.random, abs=0.06)
    assert found.interval[0] < found.value < found.interval[1] and not found.exact
    with pytest.raises(ConfigError, match="say nothing of accuracy"):
        metric("coevo/kuhn_poker-v0", name="accuracy_self_play").measure(RandomAgent(), 2)
