"""The components of what is collected are checked before anything is played."""

import pytest

from coevo.envs.core.config import plain, read
from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.trainers.algorithm import CollectConfig
from coevo.trainers.samplers.allocate import Knapsack
from coevo.trainers.samplers.replay import RemixReplay, SpearReplay
from coevo.trainers.samplers.selection import KeepDynamic


def test_published_values_are_the_defaults():
    assert plain(Knapsack()).items() >= {"n_min": 2, "n_max": 128}.items()
    assert plain(KeepDynamic()) == {"name": "keep_dynamic", "low": 0.0, "high": 1.0, "tries": 10}
    assert plain(RemixReplay()) == {"name": "remix_replay", "share": 0.4, "last": 2, "until": 50}
    assert plain(SpearReplay()) == {
        "name": "spear_replay",
        "capacity": 2048,
        "baseline": 10240,
        "older": 5,
        "coef": 1.0,
        "scale": False,
    }


@pytest.mark.parametrize(
    ("slot", "tree", "error", "message"),
    [
        ("allocate", {"name": "knapsak"}, UnknownNameError, "did you mean 'knapsack'"),
        ("allocate", {"name": "knapsack", "nmin": 3}, UnknownNameError, "did you mean 'n_min'"),
        ("allocate", {"name": "knapsack", "n_min": 200}, ConfigError, "above n_max=128"),
        ("allocate", {"name": "knapsack", "estimate": "first"}, ConfigError, "'last' or 'all'"),
        ("allocate", {"name": "vade", "lam_g": 2.0}, ConfigError, "lam_g=2.0"),
        ("select", {"name": "keep_dynamic", "low": 1.0}, ConfigError, "low=1.0"),
        ("select", {"name": "keep_dynamic", "tries": 1.5}, ConfigError, "must be a valid integer"),
        ("replay", {"name": "remix_replay", "until": 0}, ConfigError, "until=0"),
        ("replay", {"name": "spear_replay", "capacity": 0}, ConfigError, "capacity=0"),
        ("replay", {"name": "spear_replay", "size": 9}, UnknownNameError, "'size'"),
        ("task_buffer", {"name": "kept_tasks", "threshold": 2.0}, ConfigError, "threshold=2.0"),
    ],
)
def test_what_is_wrong_is_named(slot, tree, error, message):
    with pytest.raises(error, match=message):
        read(CollectConfig, {"tasks": 8, slot: tree})
