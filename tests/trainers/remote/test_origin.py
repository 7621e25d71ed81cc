"""What processes on other machines must find there, and what they are given."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from coevo.agents.models.folders import STARTER_MODEL
from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.core.registry import ENVS, make
from coevo.trainers.remote import origin as module
from coevo.trainers.remote.origin import Origin


@pytest.fixture
def origin(config, monkeypatch, tmp_path):
    """Return a function that describes another machine than this one."""
    monkeypatch.chdir(tmp_path)

    def of(**changes):
        given = config(**changes)
        monkeypatch.setattr(module, "address", lambda: "10.0.0.1")
        found = Origin.of(given)
        monkeypatch.setattr(module, "address", lambda: "10.0.0.2")
        return given, found

    return of


def test_an_equal_machine_is_joined_with_its_folder_and_variables(origin, monkeypatch, tmp_path):
    monkeypatch.setenv("COEVO_API_TEMPERATURE", "0.5")
    given, found = origin(model="starter")
    monkeypatch.delenv("COEVO_API_TEMPERATURE")
    monkeypatch.chdir("/")
    found.adopt(given)
    assert Path.cwd() == tmp_path and os.environ["COEVO_API_TEMPERATURE"] == "0.5"


def test_environments_of_a_script_are_known_elsewhere(origin, monkeypatch):
    spec = replace(ENVS["coevo/kuhn_poker-v0"], id="mine/kuhn-v0")
    monkeypatch.setitem(ENVS, spec.id, spec)
    given, found = origin(env=spec.id)
    monkeypatch.delitem(ENVS, spec.id)
    found.adopt(given)
    assert make(spec.id).possible_agents == ["player_0", "player_1"]


@pytest.mark.parametrize("package", ["coevo", "torch", "transformers"])
def test_other_code_is_refused_by_its_name(origin, package):
    given, found = origin(model="starter")
    other = replace(found, versions=found.versions | {package: "0.0.1"})
    with pytest.raises(ConfigError, match=rf"machine 10\.0\.0\.2 has {package} .* has 0\.0\.1"):
        other.adopt(given)
    replace(other, address="10.0.0.2").adopt(given)  # on one machine it is one code


def test_a_start_model_that_is_missing_or_another_one_is_refused(origin, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(STARTER_MODEL, model)
    given, found = origin(model=str(model))
    found.adopt(given)
    with (model / "config.json").open("a") as file:
        file.write("\n")
    with pytest.raises(DataError, match=r"model' of machine 10\.0\.0\.2 .* is not that of 10"):
        found.adopt(given)
    shutil.rmtree(model)
    with pytest.raises(DataError, match=r"machine 10\.0\.0\.2: no model folder .* same path"):
        found.adopt(given)
