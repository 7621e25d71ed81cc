"""The designer's pay: best antagonist minus mean protagonist, never below 0, and its variants."""

import pytest

from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status
from coevo.envs.rewards import Regret

SEATS = ("designer_0", "protagonist_0", "protagonist_1", "antagonist_0", "antagonist_1")


def episode(scores, seats=SEATS):
    turns = [Turn(seat, (), "1", "1", Status.LEGAL, None) for seat in seats]
    turns[-1].pay("payoff", dict(zip(seats[1:], scores, strict=True)))
    return Episode("coevo/some-v0", 0, {}, seats, turns=turns)


@pytest.mark.parametrize(
    ("of", "scores", "paid"),
    [
        ("regret", (0.0, 0.5, 1.0, 0.0), 0.75),
        ("regret", (1.0, 1.0, 0.0, 0.5), 0.0),
        ("mean", (0.0, 0.5, 1.0, 0.0), 0.25),
        ("minimax", (0.0, 0.5, 1.0, 0.0), -0.5),
    ],
)
def test_the_designer_alone_is_paid(of, scores, paid):
    (table,) = Regret(of=of).table([episode(scores)])
    assert table == [{"designer_0": pytest.approx(paid)}, {}, {}, {}, {}]


def test_an_episode_that_failed_pays_nothing():
    broken = episode((0.0, 0.0, 1.0, 1.0))
    broken.stop = StopReason.ERROR
    assert Regret().table([broken]) == [[{}] * 5]


def test_a_role_that_nobody_has_is_named():
    with pytest.raises(ConfigError, match="needs seats of the role 'antagonist'") as caught:
        Regret().table([episode((1.0, 1.0), SEATS[:3])])
    assert "\n" not in str(caught.value)


def test_without_a_designer_nobody_is_paid():
    assert Regret().table([episode((1.0, 1.0), SEATS[1:4])]) == [[{}] * 3]
