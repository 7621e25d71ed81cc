"""Promise: killing training at any moment and resuming gives the weights of an undisturbed run."""

import pytest

from tests.trainers.run_content import content

KILLS = """
import os, random, signal, sys, time
from pathlib import Path
import torch
torch.set_num_threads(1)
from coevo.trainers import checkpoint, run_state
from coevo.trainers.loop import train
from coevo.trainers.run_folder import RunFolder

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def at_write(k):
    "Kill this process at its k-th call that brings a checkpoint closer to the disk."
    calls = [0]
    def wrapped(inner):
        def call(*args, **kwargs):
            calls[0] += 1
            if calls[0] == k:
                die()
            return inner(*args, **kwargs)
        return call
    for name in ("_sync", "remove", "_hash"):
        setattr(checkpoint, name, wrapped(getattr(checkpoint, name)))
    run_state.save_file = wrapped(run_state.save_file)

def attempt(folder, write, seconds):
    pid = os.fork()
    if pid == 0:
        if write:
            at_write(write)
        train(folder.config(), folder)
        os._exit(0)
    if seconds:
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]

calm, folder = (RunFolder(Path(path)) for path in sys.argv[1:3])
assert attempt(calm, 0, 0) == 0
rng, killed = random.Random(int(sys.argv[3])), 0
for n in range(7):
    write, seconds = (rng.randint(1, 60), 0) if n % 2 else (0, rng.uniform(0.1, 0.6))
    killed += os.WIFSIGNALED(attempt(folder, write, seconds))
assert attempt(folder, 0, 0) == 0
Path(sys.argv[4]).write_text(str(killed))
"""


def train_twice(forks, calm, killed, seed):
    """Train one run undisturbed and kill the other until it is done; give the number of kills."""
    kills = killed.path.parent / "kills"
    status, said = forks(KILLS, (calm.path, killed.path, seed, kills))
    assert status == [0], said
    return int(kills.read_text())


AHEAD = {"collect.staleness": 2, "loss.is_correction": {"name": "token_tis"}}


@pytest.mark.parametrize("name", ["mars", "league", "adapters", "ahead"])
def test_a_run_killed_again_and_again_ends_with_the_same_bits(forks, config, folder, name):
    changes = (
        {"population": {"name": "adapters", "rank": 2, "targets": ["q_proj"]}}
        if name == "adapters"
        else (AHEAD if name == "ahead" else {})
    )
    known = "league" if name == "league" else "mars"
    given = config(known, changes, steps=24, checkpoint_every=2, seed=3)
    calm, killed = folder(given, "calm"), folder(given, "killed")
    assert train_twice(forks, calm, killed, seed=len(name)) >= 3
    tensors, progress, metrics = content(calm)
    assert content(killed) == (tensors, progress, metrics)
    assert progress["step"] == 24 and [m["step"] for m in metrics] == list(range(1, 25))
    kinds = {n.rpartition(".")[2] for n in tensors} & {"safetensors", "tensors", "snapshot"}
    assert kinds == {"safetensors", "tensors"} | ({"snapshot"} if name == "league" else set())
    assert {p.name for p in killed.checkpoints.iterdir()} == {
        p.name for p in calm.checkpoints.iterdir()
    }
