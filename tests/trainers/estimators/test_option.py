import json
import pickle
from typing import Literal

import pytest

from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.trainers.estimators import (
    AdvantageSpec,
    LossSpec,
    Option,
    check,
    defaults,
    option,
)


def rule(data, *, gamma: float = 1.0, steps: int = 3, level: Literal["turn", "row"] = "row"):
    return data, gamma, steps, level


TABLE = {"rule": rule}


def test_an_option_survives_json_and_pickle_and_hashes_by_content():
    given = option("gae", level="turn", gamma=0.9)
    assert Option.from_dict(json.loads(json.dumps(given.to_dict()))) == given
    assert pickle.loads(pickle.dumps(given)) == given
    assert hash(option("gae", gamma=0.9, level="turn")) == hash(given)
    assert given != option("gae", level="turn", gamma=0.8)


def test_an_option_keeps_a_private_copy_of_its_parameters():
    params = {"gamma": 1.0}
    given = Option("to_go", params)
    params["gamma"] = 0.5
    assert given.params["gamma"] == 1.0


def test_from_dict_refuses_other_keys():
    with pytest.raises(ConfigError, match="name and params"):
        Option.from_dict({"name": "a", "parms": {}})


def test_a_parameter_must_be_a_scalar():
    with pytest.raises(ConfigError, match="'bounds' of 'clip' is a list"):
        Option("clip", {"bounds": [1, 2]})


def test_defaults_are_overridden_by_the_option():
    assert defaults(option("rule", gamma=1), TABLE) == {"gamma": 1, "steps": 3, "level": "row"}


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (option("rul"), UnknownNameError, "unknown credit option 'rul'; did you mean 'rule'"),
        (option("rule", gama=1.0), ConfigError, "credit 'rule' has no parameter 'gama'.*'gamma'"),
        (option("rule", gamma="1"), ConfigError, "gamma='1' must be of type float"),
        (option("rule", gamma=True), ConfigError, "gamma=True must be of type float"),
        (option("rule", steps=1.5), ConfigError, "steps=1.5 must be of type int"),
        (option("rule", level="token"), ConfigError, "level='token' must be one of 'turn', 'row'"),
    ],
)
def test_a_wrong_option_names_the_slot_and_the_nearest_choice(given, error, words):
    with pytest.raises(error, match=words):
        check(given, TABLE, "credit")


def test_specs_check_every_slot_when_they_are_built():
    with pytest.raises(UnknownNameError, match="unknown center option 'grup'"):
        AdvantageSpec(center=option("grup"))
    with pytest.raises(ConfigError, match="modify 'clip'"):
        AdvantageSpec(modify=(option("none"), option("clip", bond=1.0)))
    with pytest.raises(UnknownNameError, match="weights 'tokens'"):
        AdvantageSpec(weights="tokens")
    with pytest.raises(ConfigError, match="must not be negative"):
        AdvantageSpec(eps=float("nan"))
    with pytest.raises(ConfigError, match="kind='k4' must be one of"):
        LossSpec(regularise=(option("kl", kind="k4"),))
    with pytest.raises(UnknownNameError, match="unknown aggregate option 'mean'"):
        LossSpec(aggregate=option("mean"))
