"""Several ranks: what they learn together is what one process learns."""

import json
import os
import socket
import subprocess
import sys
from dataclasses import replace

import pytest
from safetensors.torch import load_file

from coevo.envs.core.errors import ConfigError
from coevo.trainers import checkpoint, ranks
from coevo.trainers.loop import train

RANK = """
import sys
import torch
torch.set_num_threads(1)
from pathlib import Path
from coevo.trainers import ranks
from coevo.trainers.loop import train
from coevo.trainers.run_folder import RunFolder
ranks.join()
folder = RunFolder(Path(sys.argv[1]))
train(folder.config(), folder)
ranks.leave()
"""
LORA = {"population": {"name": "adapters", "rank": 2, "targets": ["q_proj", "v_proj"]}}


def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def by_two(forks):
    """Return what trains a run as two ranks: `by_two(config, folder)`."""

    def run(config, made):
        (made.path / "config.yaml").unlink()
        made.create(config)
        common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port()), "WORLD_SIZE": "2"}
        ranks = [{**common, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(2)]
        ends, said = forks(RANK, [made.path], [made.path], variables=ranks)
        assert ends == [0, 0], said

    return run


def weights(folder):
    last = checkpoint.latest(folder.checkpoints)
    return {
        f"{path.parent.name}/{path.name}/{name}": tensor
        for path in sorted(last.rglob("*"))
        if path.suffix in (".safetensors", ".tensors")
        for name, tensor in load_file(path).items()
    }


def losses(folder):
    names = ("loss/policy", "grad_norm", "entropy", "magnet_kl")
    return [
        value
        for m in folder.read_metrics()
        for key, value in m.items()
        if key.rpartition("/")[2] in ("grad_norm", "entropy", "magnet_kl") or key.endswith(names[0])
    ]


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, LORA], ids=["whole", "lora"])
def test_two_ranks_learn_what_one_process_learns(config, folder, changes, by_two):
    more = {"optim.minibatches": 2, "schedules": {}, **changes}
    given = config("mars", more, steps=10, checkpoint_every=5)
    one, two = folder(given, "one"), folder(given, "two")
    train(given, one)
    by_two(given, two)
    assert len(losses(one)) >= 30
    assert losses(two) == pytest.approx(losses(one), abs=1e-5)
    expected, found = weights(one), weights(two)
    assert found.keys() == expected.keys()
    assert max(float((found[n] - expected[n]).abs().max()) for n in expected) < 1e-5
    texts = [path.read_text() for path in (one.episodes, two.episodes)]
    assert len(texts[0].splitlines()) == len(texts[1].splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, LORA], ids=["whole", "lora"])
def test_a_checkpoint_goes_from_two_ranks_to_one_and_back(config, folder, changes, by_two):
    more = {"schedules": {}, **changes}
    given = config("mars", more, steps=6, checkpoint_every=2)
    one, mixed = folder(given, "one"), folder(given, "mixed")
    train(given, one)
    by_two(replace(given, steps=2), mixed)
    train(replace(given, steps=4), mixed)
    by_two(given, mixed)
    assert [m["step"] for m in mixed.read_metrics()] == [1, 2, 3, 4, 5, 6]
    assert losses(mixed) == pytest.approx(losses(one), abs=1e-5)
    expected, found = weights(one), weights(mixed)
    assert max(float((found[n] - expected[n]).abs().max()) for n in expected) < 1e-5


@pytest.mark.slow
def test_the_command_trains_over_ranks_and_the_first_one_speaks(tmp_path, tiny_model_dir):
    out = tmp_path / "run"
    words = (
        "-P -m torch.distributed.run --standalone --nproc-per-node 2 -m coevo train reinforce "
        f"--env coevo/kuhn_poker-v0 --no-eval --model {tiny_model_dir} --steps 2 --device cpu "
        f"--set collect.episodes=8 --threads 1 --max-new-tokens 8 --out {out}"
    )
    quiet = {**os.environ, "OMP_NUM_THREADS": "1", "TRANSFORMERS_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, *words.split()],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=quiet,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("2 updates, ") == 1
    steps = [json.loads(line)["step"] for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert steps == [1, 2]


def test_parts_are_shared_out_evenly_and_padded(monkeypatch):
    monkeypatch.setattr(ranks, "count", lambda: 2)
    shares = []
    for rank in range(2):
        monkeypatch.setattr(ranks, "number", lambda rank=rank: rank)
        shares.append(list(ranks.shared_out(["a", "b", "c"])))
        assert list(ranks.shared_out([])) == []
    assert shares == [[("a", True), ("c", True)], [("b", True), ("a", False)]]


def test_a_step_that_one_process_takes_is_refused(config, folder, monkeypatch):
    monkeypatch.setattr(ranks, "count", lambda: 2)
    given = config(
        "mars", {"cycle": ["inject_text", "collect", "build_batch", "compute_advantages", "update"]}
    )
    with pytest.raises(ConfigError, match=r"2 ranks and cycle step inject_text"):
        train(given, folder(given))


@pytest.mark.parametrize("gone", [RuntimeError("[gloo/pair.cc] reset"), ranks.dist.DistError("?")])
def test_a_rank_that_is_left_alone_says_so(gone):
    with pytest.raises(ranks.RankLostError, match="rank 0 of 1 lost another one"), ranks.together():
        raise gone
    with pytest.raises(RuntimeError, match="of another kind"), ranks.together():
        raise RuntimeError("of another kind")


def test_one_process_is_the_first_of_one():
    assert (ranks.count(), ranks.number()) == (1, 0)
    assert ranks.broadcast_from_first(lambda: 3) == 3
    assert ranks.joined([1, 2]) == [1, 2]
