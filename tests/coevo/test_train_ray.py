"""`coevo train --ray`: what is refused before anything starts, and what settings become of it."""

import socket
import sys

import pytest

from coevo.__main__ import main
from coevo.commands.run_setup import in_parts
from coevo.envs.core.errors import ConfigError
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.remote import cluster as module
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
    assert "pip install -c constraints.txt -e '.[ray]'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.fixture
def refusing(monkeypatch):
    """Return a function that lets Ray refuse to connect with an error."""
    ray = pytest.importorskip("ray")

    def refuse(error, address=""):
        def init(**given):
            raise error

        monkeypatch.setattr(ray, "init", init)
        monkeypatch.setenv("RAY_ADDRESS", address)

    return refuse


def test_a_cluster_that_is_not_there_is_one_line(refusing):
    refusing(ConnectionError("no"))
    with pytest.raises(ConfigError, match="none on this machine"), cluster("auto"):
        pass
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        given = f"127.0.0.1:{closed.getsockname()[1]}"
        refusing(AssertionError("not asked"), given)
        with pytest.raises(ConfigError, match=f"RAY_ADDRESS={given} does not"), cluster("auto"):
            pass


def test_a_machine_beside_the_cluster_is_told_to_join(refusing, monkeypatch):
    monkeypatch.setattr(module, "_text", lambda path: "python")
    with socket.create_server(("127.0.0.1", 0)) as there:
        given = f"127.0.0.1:{there.getsockname()[1]}"
        refusing(AssertionError("not asked"), given)
        with pytest.raises(ConfigError, match=f"run `ray start --address={given}`"):
            cluster("auto").__enter__()


def test_why_a_cluster_refuses_is_said(refusing):
    refusing(RuntimeError("Version mismatch: The cluster was started with:\n Python: 3.12.1"))
    with pytest.raises(ConfigError, match=r"mismatch: The cluster .* with: Python: 3\.12\.1"):
        cluster("auto").__enter__()
    refusing(ray_error("AuthenticationError"))
    with pytest.raises(ConfigError, match="wants its token: set RAY_AUTH_MODE=token"):
        cluster("auto").__enter__()


def ray_error(name):
    return type(name, (Exception,), {})("InvalidAuthToken")


def test_a_run_has_parts_for_all_its_workers():
    given = TrainConfig(algorithm=algorithm("mars"), env="coevo/kuhn_poker-v0", steps=1)
    assert in_parts(given, 0) == (given, ())
    for workers, parts in ((1, 2), (2, 2), (5, 5)):
        changed, (said,) = in_parts(given, workers)
        assert changed.rollout_parts == parts and f"rollout_parts={parts}" in said
    assert in_parts(changed, 3) == (changed, ())
