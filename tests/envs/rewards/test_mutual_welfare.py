import pytest

from coevo.envs import make
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import DataError
from coevo.envs.core.parsing import Status
from coevo.envs.rewards import MutualWelfare
from coevo.envs.rewards.mutual_welfare import WELFARE


def ended(user, model, stop=StopReason.FINISHED):
    turns = [Turn("a_0", (), "[ask]", "ask", Status.LEGAL, None) for _ in range(2)]
    outcome = {k: v for k, v in zip(WELFARE, (user, model), strict=True) if v is not None}
    return Episode("coevo/some-v0", 1, {}, ("a_0",), turns=turns, stop=stop, outcome=outcome)


@pytest.mark.parametrize(
    ("user", "model", "geometric", "arithmetic"),
    [(0.5, 0.5, 0.5, 0.5), (1.0, 0.1, 0.3162, 0.55), (1.0, 0.0, 0.0, 0.5), (1.0, None, 0.0, 0.5)],
)
def test_both_means_on_the_last_reply(user, model, geometric, arithmetic):
    for mean, value in (("geometric", geometric), ("arithmetic", arithmetic)):
        first, last = MutualWelfare(mean=mean).table([ended(user, model)])[0]
        assert first == {} and last == {"a_0": pytest.approx(value, abs=1e-4)}


def test_what_failed_is_not_scored_and_a_loss_is_no_welfare():
    assert MutualWelfare().table([ended(1, 1, StopReason.ERROR)]) == [[{}, {}]]
    with pytest.raises(DataError, match="at least 0"):
        MutualWelfare().table([ended(-1.0, 1.0)])


def test_a_world_says_what_both_get():
    env = make("coevo/clarify-v0", rewards=[{"name": "mutual_welfare"}], vague=0.0)
    env.reset(seed=1)
    env.step(f"[answer {env.unwrapped.task.minutes[env.unwrapped.task.meant]}]")
    assert env.episode.total("assistant_0", "mutual_welfare") == pytest.approx(0.8**0.5)
