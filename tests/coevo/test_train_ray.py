"""`coevo train --ray`: what is refused before anything starts, and what settings become of it."""

import sys

import pytest

from coevo.__main__ import main
from coevo.commands.run_setup import in_parts
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.remote.cluster import cluster

KUHN = ["train", "mars", "--env", "coevo/kuhn_poker-v0", "--steps", "1", "--no-eval"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rollout-workers", "2", "--ranks", "2"], "--rollout-workers and --ranks need --ray"),
        (["--ray", "local"], "--ray local has nothing to share out"),
        (["--ray", "local", "--ranks", "999"], "--ranks 999 must be at most"),
        (["--ray", "local", "--ranks", "0"], "--ranks"),
        (["--ray", "far", "--ranks", "2"], "auto"),
    ],
)
def test_wrong_shares_are_refused_before_anything_is_written(words, said, tmp_path, capsys):
    assert main([*KUHN, *words, "--out", str(tmp_path / "run")]) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_ray_that_is_not_installed_is_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    words = ["--ray", "local", "--rollout-workers", "1", "--out", str(tmp_path / "run")]
    assert main([*KUHN, *words]) == 2
    assert "pip install 'coevo[ray]'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_cluster_that_is_not_there_is_one_line(monkeypatch, tmp_path):
    ray = pytest.importorskip("ray")

    def nobody(**given):
        raise ConnectionError("no")

    monkeypatch.setattr(ray, "init", nobody)
    for given, said in (
        ("", "none on this machine"),
        ("10.0.0.1:6379", "RAY_ADDRESS=10.0.0.1:6379"),
    ):
        monkeypatch.setenv("RAY_ADDRESS", given)
        with pytest.raises(ValueError, match=said), cluster("auto"):
            pass


def test_a_run_has_parts_for_all_its_workers():
    given = TrainConfig(algorithm=algorithm("mars"), env="coevo/kuhn_poker-v0", steps=1)
    assert in_parts(given, 0) == (given, ())
    for workers, parts in ((1, 2), (2, 2), (5, 5)):
        changed, (said,) = in_parts(given, workers)
        assert changed.rollout_parts == parts and f"rollout_parts={parts}" in said
    assert in_parts(changed, 3) == (changed, ())
