import numpy as np
import pytest

from coevo.benchmarks.reproductions.claims import recurring_bandit as it
from coevo.envs import make


@pytest.mark.parametrize(
    ("pulls", "greedy", "best"),
    [(1, 0.5, 0.5), (2, 13 / 12, 13 / 12), (5, 2.885, 2.889), (20, 12.365, 12.431)],
)
def test_the_values_of_players_who_count(pulls, greedy, best):
    """Two pulls by hand: 1/2, then 2/3 after a gain, and the other arm's 1/2 after a loss."""
    assert it.value(it.myopic, pulls) == pytest.approx(greedy, abs=5e-4)
    assert it.value(it.optimal, pulls) == pytest.approx(best, abs=5e-4)
    assert it.value(lambda counts, worth: 0.3, pulls) == pytest.approx(pulls / 2)


@pytest.mark.parametrize(("options", "better"), [({}, True), ({"recurring": False}, False)])
def test_a_loss_tells_something_where_arms_recur(options, better):
    """Changing the arm after a loss, and keeping it after a gain, pays only there."""
    earned = []
    for seed in range(400):
        env = make(it.RecurringBandit.env_id, prompt_style="terse", **options)
        env.reset(seed=seed)
        arm, before = 0, 0.0
        while env.awaiting:
            env.step(f"[{arm}]")
            total = env.episode.total("player_0", "payoff")
            arm, before = (arm if total > before else 1 - arm), total
        earned.append(before)
    gain = (np.mean(earned) - it.PULLS / 2) / (np.std(earned) / 20)
    assert (gain > 3) == better


def test_what_is_not_remembered_is_not_shown():
    for memory, shown in ((True, "1 of 1|0 of 1|0 of 0"), (False, "Pull")):
        env = make(it.RecurringBandit.env_id, prompt_style="terse", memory=memory)
        env.reset(seed=0)
        env.step("[0]")
        (message,) = env.chat("player_0")
        assert any(word in message["content"] for word in shown.split("|"))
        assert ("of" in message["content"]) == memory


def test_a_short_run_learns_to_change_after_a_loss():
    one = it.CLAIM.run([0], 6, "greedy: tries").figures[0]
    assert one.mean > 0.1
