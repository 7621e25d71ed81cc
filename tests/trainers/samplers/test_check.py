"""The sampler slots of a record are checked before anything is played."""

import pytest

from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.trainers.estimators import defaults, option
from coevo.trainers.samplers import ALLOCATE, REPLAY, SELECT, check_samplers

USUAL = (option("uniform"), option("all"), option("none"))


@pytest.mark.parametrize(
    ("slot", "name"),
    [(i, name) for i, table in enumerate((ALLOCATE, SELECT, REPLAY)) for name in table],
)
def test_every_option_passes_with_its_defaults(slot, name):
    chosen = list(USUAL)
    chosen[slot] = option(name)
    check_samplers(*chosen)


def test_published_values_are_the_defaults():
    assert defaults(option("knapsack"), ALLOCATE).items() >= {"n_min": 2, "n_max": 128}.items()
    assert defaults(option("dynamic"), SELECT) == {"low": 0.0, "high": 1.0, "tries": 10}
    assert defaults(option("remix"), REPLAY) == {"share": 0.4, "last": 2, "until": 50}
    assert defaults(option("spear"), REPLAY) == {
        "capacity": 2048,
        "baseline": 10240,
        "older": 5,
        "coef": 1.0,
        "horizon": 200,
        "scale": False,
    }


@pytest.mark.parametrize(
    ("chosen", "error", "message"),
    [
        ((option("knapsak"), *USUAL[1:]), UnknownNameError, "did you mean 'knapsack'"),
        ((option("knapsack", nmin=3), *USUAL[1:]), ConfigError, "did you mean 'n_min'"),
        ((option("knapsack", n_min=200), *USUAL[1:]), ConfigError, "n_min=200 and n_max=128"),
        ((option("knapsack", estimate="first"), *USUAL[1:]), ConfigError, "'last', 'all'"),
        ((option("vade", lam_g=2.0), *USUAL[1:]), ConfigError, "lam_g=2.0"),
        ((USUAL[0], option("dynamic", low=1.0), USUAL[2]), ConfigError, "low=1.0"),
        ((USUAL[0], option("dynamic", tries=1.5), USUAL[2]), ConfigError, "must be of type int"),
        ((*USUAL[:2], option("remix", until=0)), ConfigError, "until=0"),
        ((*USUAL[:2], option("spear", capacity=0)), ConfigError, "capacity=0"),
        ((*USUAL[:2], option("spear", size=9)), ConfigError, "no parameter 'size'"),
    ],
)
def test_what_is_wrong_is_named(chosen, error, message):
    with pytest.raises(error, match=message):
        check_samplers(*chosen)
