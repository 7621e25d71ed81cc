import pytest

from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status
from coevo.envs.rewards import Higher, Odds, WinRate, reward_modules

CIRCLE = {
    "rock": {"rock": 0.5, "scissors": 0.9, "paper": 0.2},
    "scissors": {"rock": 0.1, "scissors": 0.5, "paper": 1.0},
    "paper": {"rock": 0.8, "scissors": 0.0, "paper": 0.5},
}


def episode(move, paid=0.0, seed=1, stop=StopReason.FINISHED, version=0):
    turn = Turn("a_0", (), f"[{move}]", move, Status.LEGAL, None, version=version)
    turn.pay("payoff", {"a_0": paid})
    return Episode("coevo/some-v0", seed, {}, ("a_0",), turns=[turn], stop=stop)


def rates(module, episodes):
    return [table[0].get("a_0") for table in module.table(episodes)]


def test_win_rates_are_means_over_the_others_of_the_task():
    group = [episode("rock"), episode("paper"), episode("scissors"), episode("rock")]
    found = rates(WinRate(judge=Odds(of=CIRCLE)), group)
    assert found == pytest.approx([(0.2 + 0.9 + 0.5) / 3, 1.6 / 3, (0.1 + 1 + 0.1) / 3, 1.6 / 3])
    assert sum(found) / 4 == pytest.approx(0.5)


def test_an_episode_that_counts_itself_is_nearer_to_a_half():
    """Five replies, as in SPPO: (P - 1/2) is 4/5 of that over the others."""
    group = [episode("x", float(paid)) for paid in range(5)]
    others, itself = rates(WinRate(), group), rates(WinRate(itself=True), group)
    assert others == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert itself == pytest.approx([0.5 + 0.8 * (p - 0.5) for p in others])


def test_higher_payoffs_win_equal_ones_tie_and_tasks_stay_apart():
    group = [episode("x", 1.0), episode("x", 0.0), episode("x", 1.0)]
    alone = episode("x", 9.0, seed=2)
    failed = episode("x", 9.0, stop=StopReason.ERROR)
    assert rates(WinRate(), [*group, alone, failed]) == [0.75, 0.0, 0.75, 0.5, None]


def test_drawn_comparisons_are_decided_once_for_both_and_again_alike():
    module = WinRate(judge=Odds(of=CIRCLE), drawn=True)
    group = [episode(m, version=v) for v in (0,) for m in ("rock", "paper", "scissors") * 3]
    found = rates(module, group)
    assert sum(found) == pytest.approx(4.5) and found == rates(module, group)
    assert all((8 * r) == round(8 * r) for r in found)
    later = rates(module, [episode(t.turns[0].move, version=7) for t in group])
    assert later != found


def test_odds_that_do_not_add_up_are_refused():
    with pytest.raises(ConfigError, match=r"a over b is 0\.7 and b over a is 0\.4"):
        Odds(of={"a": {"a": 0.5, "b": 0.7}, "b": {"a": 0.4, "b": 0.5}})
    with pytest.raises(ConfigError, match="b over a is None"):
        Odds(of={"a": {"b": 0.7}})


def test_a_configuration_names_the_judge():
    (module,) = reward_modules([{"name": "win_rate", "judge": {"name": "odds", "of": CIRCLE}}])
    assert module == WinRate(judge=Odds(of=CIRCLE)) and WinRate().judge == Higher()
