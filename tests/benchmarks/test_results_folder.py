import json
import math

import numpy as np
import pytest

from coevo.benchmarks.results_folder import ResultsFolder
from coevo.envs.core.errors import ConfigError, DataError


@pytest.fixture
def folder(tmp_path):
    return ResultsFolder(tmp_path / "out", "evaluation")


def test_a_folder_takes_one_set_of_settings(folder):
    folder.begin({"seed": 1, "games": 4})
    folder.begin({"seed": 1, "games": 4})
    with pytest.raises(ConfigError, match="holds an evaluation with seed=1, not 2"):
        folder.begin({"seed": 2, "games": 4})
    with pytest.raises(ConfigError, match="with suite=None, not 'games'"):
        folder.begin({"suite": "games"})


def test_changed_weights_are_another_agent(folder):
    folder.begin({}, {"runs/a": "0123"})
    folder.begin({}, {"runs/a": "0123"})
    with pytest.raises(ConfigError, match="runs/a has other weights"):
        folder.begin({}, {"runs/a": "4567"})


def test_a_manifest_says_where_it_was_written(folder):
    folder.begin({"seed": 1}, facts=lambda: {"metrics": {"x": 1}})
    folder.begin({"seed": 1}, facts=lambda: pytest.fail("only new results need them"))
    found = folder.manifest()
    assert (found["kind"], found["seed"], found["metrics"]) == ("evaluation", 1, {"x": 1})
    assert found["packages"]["coevo"] and found["hardware"]["cores"] >= 1
    assert "commit" in found


def test_something_else_is_left_alone(folder, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").touch()
    with pytest.raises(DataError, match="holds something else"):
        folder.begin({})
    (tmp_path / "out" / "manifest.json").write_text('{"kind": "comparison"}')
    with pytest.raises(DataError, match="no manifest of an evaluation"):
        folder.begin({})
    with pytest.raises(DataError, match="holds no evaluation"):
        ResultsFolder(tmp_path / "nowhere", "evaluation").manifest()


def test_parts_are_computed_once_and_failures_again(folder, tmp_path):
    calls = []

    def compute(**found):
        calls.append(found)
        return found

    assert folder.part("a/b", lambda: compute(x=1)) == folder.part("a/b", compute) == {"x": 1}
    assert folder.part("c", lambda: compute(failed="down")) == {"failed": "down"}
    assert folder.part("c", lambda: compute(x=2)) == {"x": 2}
    assert len(calls) == 3
    (tmp_path / "out" / "parts" / "c.json").write_text("{ torn")
    with pytest.raises(DataError, match=r"c\.json"):
        folder.part("c", compute)
    assert ResultsFolder(None, "evaluation").part("a/b", lambda: {"y": 1}) == {"y": 1}


def test_one_process_at_a_time(folder, tmp_path):
    folder.begin({})
    again = ResultsFolder(tmp_path / "out", "evaluation")
    with folder.alone(), pytest.raises(DataError, match="in use by another process"), again.alone():
        pass
    with again.alone(), pytest.raises(KeyError):
        raise KeyError
    with folder.alone(wait=True):
        pass


def test_what_json_cannot_say_is_null(folder, tmp_path):
    folder.write("x.json", {"a": math.nan, "b": [np.float64(1.5), -math.inf]})
    assert json.loads((tmp_path / "out" / "x.json").read_text()) == {"a": None, "b": [1.5, None]}
