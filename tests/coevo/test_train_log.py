"""`coevo train --log`: the same numbers in TensorBoard as in the run's own file."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from coevo.trainers.trackers import scalars

KUHN = "coevo/kuhn_poker-v0"
TINY = ("--set", "collect.episodes=8", "--set", "probe_every=1", "--max-new-tokens", "3")


def held(run: Path) -> dict[int, dict[str, float]]:
    """Read back what TensorBoard was given: step -> name -> value."""
    events = EventAccumulator(str(run / "tensorboard"), {"scalars": 0}).Reload()
    found: dict[int, dict[str, float]] = {}
    for name in events.Tags()["scalars"]:
        for point in events.Scalars(name):
            assert name not in found.setdefault(point.step, {}), "a point was written twice"
            found[point.step][name] = point.value
    return found


def logged(run: Path) -> dict[int, dict[str, float]]:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return {line["step"]: pytest.approx(scalars(line), rel=1e-6) for line in lines}


@pytest.fixture(scope="module")
def followed(tiny_model_dir, tmp_path_factory) -> Path:
    """Return a run of two updates that was followed in TensorBoard; do not change it."""
    from coevo.__main__ import main

    path = tmp_path_factory.mktemp("runs") / "followed"
    words = ["train", "mars", "--env", KUHN, "--model", str(tiny_model_dir), "--steps", "2"]
    words += ["--out", str(path), "--no-eval", "--log", "tensorboard", *TINY]
    assert main(words) == 0
    return path


def test_a_run_is_followed(followed):
    assert sorted(held(followed)) == [1, 2]
    assert held(followed) == logged(followed)
    assert "return/player_0" in held(followed)[1]
    plays = EventAccumulator(str(followed / "tensorboard")).Reload().Tensors("play")
    assert [p.step for p in plays] == [1, 2]
    assert b"player_0 reads: Kuhn poker" in plays[0].tensor_proto.string_val[0]


def test_a_resumed_run_is_followed_on_without_being_asked(cli, followed, tmp_path):
    run = Path(shutil.copytree(followed, tmp_path / "run"))
    done = cli("train", "--resume", run, "--steps", "3", "--no-eval")
    assert done.status == 0, done.err
    assert f"tensorboard --logdir {run / 'tensorboard'}" in done.out
    assert sorted(held(run)) == [1, 2, 3]
    assert held(run) == logged(run)
    assert "log" not in (run / "config.yaml").read_text().split()


def test_following_ends_where_it_is_turned_off(cli, followed, tmp_path):
    run = Path(shutil.copytree(followed, tmp_path / "run"))
    assert cli("train", "--resume", run, "--steps", "3", "--no-eval", "--log", "none").status == 0
    assert sorted(held(run)) == [1, 2]
    done = cli("train", "--resume", run, "--steps", "4", "--no-eval")
    assert "tensorboard" not in done.out
    assert cli("train", "--resume", run, "--steps", "5", "--no-eval", "--log", "tensorboard")
    assert held(run) == logged(run)
    assert sorted(held(run)) == [1, 2, 3, 4, 5]


def test_a_repeated_run_may_be_followed_too(cli, followed, here):
    words = ("train", "--config", followed / "config.yaml", "--no-eval", "--out", "again")
    assert cli(*words, "--log", "tensorboard").status == 0
    assert sorted(held(here / "again")) == [1, 2]


@pytest.mark.parametrize("name", ["wandb", "trackio"])
def test_a_missing_tracker_is_named_before_anything_is_done(
    cli, here, tiny_model_dir, name, monkeypatch
):
    monkeypatch.setitem(sys.modules, name, None)
    words = ("train", "mars", "--env", KUHN, "--model", tiny_model_dir, "--steps", "1")
    line = cli(*words, "--log", f"tensorboard,{name}", "--out", "new").error_line()
    assert line.endswith(f"'{name}', which is not installed: pip install {name}")
    assert not (here / "new").exists()


def test_a_mistyped_logger_gets_the_near_ones(cli, here):
    words = ("train", "mars", "--env", KUHN, "--steps", "1", "--out", "new")
    line = cli(*words, "--log", "tensorbord").error_line()
    assert "did you mean 'tensorboard'" in line
    assert cli(*words, "--log", "wandb,tensorbord").status == 2
    assert not (here / "new").exists()
